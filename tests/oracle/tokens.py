"""A stream of tokens in one line: time to the first, gap between them, how many.

Knows: what a chat, completion or non-streaming answer of n tokens looks like, and when each token is due.
Must not know: sockets, clocks, how an answer is chosen.

The k-th generated event is due at `ttft_ms + k * itl_ms`, counted from one start, so lateness never adds up.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from tests.oracle import wire
from tests.oracle.answers import JSON, End, Framing, Headers, Reply, Write

_WORD = re.compile(r"[，。、；：？！（“《—…]?[^\s，。、；：？！（“《—…]+|[，。、；：？！（“《—…]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens(Reply):
    """An answer of equally spaced tokens; `tokens()` explains the fields."""

    ttft_ms: float = 20.0
    itl_ms: float = 5.0
    n: int | None = None
    eos_after: int | None = None
    per_event: int = 1
    text: str = " tok"
    role_ms: float | None = None
    usage: Literal["asked", "always", "never"] = "asked"
    tail_ms: float = 0.0
    overhead: int = 0
    context_limit: int | None = None

    def length(self, body: Mapping[str, Any]) -> tuple[int, str]:
        """How many tokens this request gets, and the finish reason."""
        asked = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
        if self.n is not None:
            return self.n, "stop" if self.n < asked else "length"
        if self.eos_after is not None and self.eos_after < asked and not body.get("ignore_eos"):
            return self.eos_after, "stop"
        return asked, "length"

    def writes(self, body: Mapping[str, Any], path: str, extra_headers: Headers = ()) -> Iterator[Write]:
        """The answer to this request as timed writes."""
        n, _ = self.length(body)
        prompt = prompt_words(body) + self.overhead
        if self.context_limit is not None and prompt + n > self.context_limit:
            yield from self._refusal(prompt, n, extra_headers)
        elif body.get("stream"):
            yield from self._stream(body, path, prompt, extra_headers)
        else:
            yield from self._whole(body, path, prompt, extra_headers)

    def _stream(self, body: Mapping[str, Any], path: str, prompt: int, extra: Headers) -> Iterator[Write]:
        n, reason = self.length(body)
        completions = path == "/v1/completions"
        opening, piece, done = _frames(self, completions)
        yield Write(self.head_ms, "head", self.head(0, extra))
        if not completions and n:
            yield Write(self.ttft_ms if self.role_ms is None else self.role_ms, "extra", opening)
        events = -(-n // self.per_event)
        tail = self._tail(body, completions, reason, prompt, n) + done
        if self.framing == "chunked":
            tail += wire.LAST_CHUNK
        glue = not self.tail_ms  # the last token and the end in one write, as when a server is quick
        due = self.ttft_ms
        for k in range(events):
            due = self.ttft_ms + k * self.itl_ms
            last = k == events - 1
            count = n - k * self.per_event if last else self.per_event
            yield Write(due, "piece", piece + tail if last and glue else piece, count)
        if not (glue and events):
            due += self.tail_ms
            yield Write(due, "extra", tail)
        yield from self.afterwards(due)

    def _tail(self, body: Mapping[str, Any], completions: bool, reason: str, prompt: int, n: int) -> bytes:
        end = wire.completion_piece("", reason) if completions else wire.finish(reason)
        asked = (body.get("stream_options") or {}).get("include_usage")
        if self.usage == "never" or (self.usage == "asked" and not asked):
            return self.framed(end)
        return self.framed(end) + self.framed(wire.usage(prompt, n))

    def _whole(self, body: Mapping[str, Any], path: str, prompt: int, extra: Headers) -> Iterator[Write]:
        n, reason = self.length(body)
        text = self.text * n
        said = {"text": text} if path == "/v1/completions" else {"message": {"role": "assistant", "content": text}}
        payload: dict[str, Any] = {"id": "c1", "object": "chat.completion", "model": "oracle"}
        payload["choices"] = [{"index": 0, **said, "finish_reason": reason}]
        if self.usage != "never":
            payload["usage"] = {"prompt_tokens": prompt, "completion_tokens": n, "total_tokens": prompt + n}
        yield from self._json(self.status, payload, self.ttft_ms + max(0, n - 1) * self.itl_ms, n, extra)

    def _refusal(self, prompt: int, n: int, extra: Headers) -> Iterator[Write]:
        sentence = (
            f"This model's maximum context length is {self.context_limit} tokens. However, you requested {prompt + n} "
            f"tokens ({prompt} in the messages, {n} in the completion)."
        )
        payload = {"object": "error", "message": sentence, "type": "BadRequestError", "param": None, "code": 400}
        yield from self._json(400, payload, self.head_ms, 0, extra)

    def _json(self, status: int, payload: object, due: float, n: int, extra: Headers) -> Iterator[Write]:
        content = wire.dumps(payload)
        whole = replace(self, status=status, content_type=JSON, framing="length")
        yield Write(due, "piece", whole.head(len(content), extra) + content, n)
        yield from whole.afterwards(due)


@lru_cache(maxsize=64)
def _frames(reply: Tokens, completions: bool) -> tuple[bytes, bytes, bytes]:
    text = reply.text * reply.per_event
    piece = wire.completion_piece(text) if completions else wire.content(text)
    return reply.framed(wire.role()), reply.framed(piece), reply.framed(wire.done())


def prompt_words(body: Mapping[str, Any]) -> int:
    """Words of all messages, or of the prompt: the oracle's idea of prompt tokens."""
    said = [str(message.get("content", "")) for message in body.get("messages") or ()]
    return sum(len(words(text)) for text in said or [str(body.get("prompt", ""))])


def words(text: str) -> list[str]:
    """What stands between spaces; Chinese has none, there a word begins with each mark of punctuation."""
    return _WORD.findall(text)


def tokens(
    *,
    ttft_ms: float = 20.0,
    itl_ms: float = 5.0,
    n: int | None = None,
    eos_after: int | None = None,
    per_event: int = 1,
    text: str = " tok",
    role_ms: float | None = None,
    usage: Literal["asked", "always", "never"] = "asked",
    tail_ms: float = 0.0,
    overhead: int = 0,
    context_limit: int | None = None,
    framing: Framing = "chunked",
    eol: str = "\n",
    headers: tuple[tuple[str, str], ...] = (),
    end: End = "keep",
    end_after_ms: float = 0.0,
) -> Tokens:
    """A token stream; with `stream: false` in the request one JSON body at the time of the last token.

    Args:
        ttft_ms: From the request (or its slot) to the first token.
        itl_ms: Between events.
        n: Exactly so many tokens, whatever was asked; without it as many as the request's `max_tokens` (else 16).
        eos_after: The model's own end: fewer tokens and "stop", unless the request says `ignore_eos`.
        per_event: Tokens in one event (its text is repeated as often).
        text: The text of one token.
        role_ms: When the role chunk goes out; without it together with the first token.
        usage: The usage chunk: when the request asks for it, always, never.
        tail_ms: From the last token to finish reason, usage and `[DONE]`; 0 puts them in one write with it.
        overhead: Prompt tokens that the server counts beyond the words of the prompt.
        context_limit: Refuse with 400 when prompt + asked tokens are more.
        framing: How the body ends.
        eol: The line end of the events.
        headers: Additional response headers.
        end: What becomes of the connection.
        end_after_ms: How long after the last byte.
    """
    return Tokens(
        ttft_ms=ttft_ms, itl_ms=itl_ms, n=n, eos_after=eos_after, per_event=per_event, text=text, role_ms=role_ms,
        usage=usage, tail_ms=tail_ms, overhead=overhead, context_limit=context_limit, framing=framing, eol=eol,
        headers=headers, end=end, end_after_ms=end_after_ms,
    )  # fmt: skip
