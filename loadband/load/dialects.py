"""What a server's events say, and how a server is asked: the OpenAI chat dialect.

Knows: request and answer JSON. Must not know: sockets, HTTP framing, stamps.

A piece is *generated* when text, reasoning or a tool call is non-empty: a role-only chunk, an empty or null
`content`, and a usage chunk are not.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from loadband.record import FailureClass, http_class

MOST_TOKENS = 1_000_000_000
"""A count above this is no count: no server has told so many tokens of one request."""

_CONTEXT_LENGTH = re.compile(
    r"context[ _-]?(length|size|window|limit)|(maximum|max) model length|max_model_len"
    r"|must have less than \d+ tokens|max_new_tokens\W* must be <="
)
"""How vLLM, SGLang, llama.cpp, TGI and OpenAI say that a prompt is too long. `context deadline exceeded` is not it."""


class ProtocolError(Exception):
    """Bytes that this dialect cannot be; the text is a sentence for `message`."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error the server told: its class and its own sentence."""

    failure_class: str
    message: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts the server told; None where it did not."""

    output_tokens: int | None = None
    prompt_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class Chunk(NamedTuple):
    """What one event says."""

    text: str = ""
    reasoning: str = ""
    tool_piece: bool = False
    tool_calls: int = 0
    """Tool calls that begin in this event."""
    finish_reason: str | None = None
    usage: Usage | None = None
    error: ServerError | None = None
    model: str | None = None
    done: bool = False

    @property
    def generated(self) -> bool:
        """Whether the event holds a non-empty generated piece."""
        return bool(self.text or self.reasoning or self.tool_piece)


@dataclass(frozen=True, slots=True)
class Sampling:
    """What every request asks for, beside its own `max_tokens`."""

    model: str
    temperature: float | None = None
    ignore_eos: bool = False
    extra_body: Mapping[str, Any] | None = None


NAMES = (b"", b"message")
"""Names of events that must hold JSON; what others hold (`event: ping`) is theirs."""


class OpenAIChat:
    """`/v1/chat/completions`, streaming."""

    name = "openai-chat"
    path = "/v1/chat/completions"

    def body(self, sampling: Sampling, messages: Sequence[Mapping[str, str]], max_tokens: int) -> bytes:
        """The request's JSON."""
        asked: dict[str, Any] = {
            "model": sampling.model,
            "messages": list(messages),
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if sampling.temperature is not None:
            asked["temperature"] = sampling.temperature
        if sampling.ignore_eos:
            asked["ignore_eos"] = True
        if sampling.extra_body:
            asked.update(sampling.extra_body)
        try:
            return orjson.dumps(asked)
        except orjson.JSONEncodeError:  # an answer in the history: servers cut characters in two
            text = json.dumps(asked, ensure_ascii=False, separators=(",", ":"))
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""
        data = data.strip()
        if data == b"[DONE]":
            return Chunk(done=True)
        event = _parsed(data)
        if event is None:
            return _not_an_object(name, data)
        if told := error_of(event, named_error=name == b"error"):
            return Chunk(error=told)
        return _chunk(event)


def _parsed(data: bytes) -> dict[str, Any] | None:
    """The JSON object that these bytes are, or None."""
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        event = _parsed_leniently(data)
    return event if isinstance(event, dict) else None


def _parsed_leniently(data: bytes) -> Any:
    """What servers also send: half a surrogate pair, NaN."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _not_an_object(name: bytes, data: bytes) -> Chunk:
    """A heartbeat says nothing, an error may be plain text; anything else is of another dialect."""
    if name == b"error":
        sentence = data.decode("utf-8", errors="replace") or "the server sent an error event without a word"
        return Chunk(error=ServerError(_class_of(None, "", sentence), sentence))
    if not data or name not in NAMES:
        return Chunk()
    raise ProtocolError(f"an event is not a JSON object ({_shown(data)})")


def _chunk(event: dict[str, Any]) -> Chunk:
    text = reasoning = ""
    tool_piece, tool_calls, finish_reason = False, 0, None
    for choice in _list(event.get("choices")):
        if not isinstance(choice, dict):
            continue
        finish_reason = choice.get("finish_reason") or finish_reason
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            continue
        text += _text(delta.get("content"))
        reasoning += (
            _text(delta.get("reasoning_content"))
            or _text(delta.get("reasoning"))
            or _text(delta.get("reasoning_details"))
        )
        for call in _list(delta.get("tool_calls")):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and (function.get("name") or function.get("arguments")):
                tool_piece = True
                tool_calls += bool(function.get("name"))
    return Chunk(
        text=text,
        reasoning=reasoning,
        tool_piece=tool_piece,
        tool_calls=tool_calls,
        finish_reason=str(finish_reason) if finish_reason else None,
        usage=usage_of(event.get("usage")),
        model=event["model"] if isinstance(event.get("model"), str) and event["model"] else None,
    )


def error_of(body: Mapping[str, Any], *, named_error: bool = False) -> ServerError | None:
    """The error that a body or an event tells, in any of the shapes that servers use; None when it tells none."""
    error = body.get("error")
    told = error if isinstance(error, dict) else body
    if not (error or named_error or body.get("object") == "error"):
        return None
    message = error if isinstance(error, str) else told.get("message")
    sentence = message if isinstance(message, str) and message else as_json(message or told)
    return ServerError(_class_of(told.get("code"), _str(told.get("type")), sentence), sentence)


def _class_of(code: Any, kind: str, sentence: str) -> str:
    if any(is_context_length(words) for words in (sentence, kind, _str(code))):
        return FailureClass.CONTEXT_LENGTH
    number = code
    if isinstance(code, str) and re.fullmatch("[0-9]{3}", code):
        number = int(code)
    if isinstance(number, int) and http_class(number) == FailureClass.THROTTLED:
        return FailureClass.THROTTLED
    return FailureClass.STREAM_ERROR


def is_context_length(sentence: str) -> bool:
    """Whether a refusal is about a prompt too long for the model."""
    return _CONTEXT_LENGTH.search(sentence.lower()) is not None


def as_json(value: Any) -> str:
    """What a server told, as text."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to show)"


def usage_of(usage: Any) -> Usage | None:
    """Token counts of a `usage` object; None when there is none."""
    if not isinstance(usage, dict):
        return None
    counts = Usage(
        output_tokens=_count(usage.get("completion_tokens")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        reasoning_tokens=_count(
            _dict(usage.get("completion_tokens_details")).get("reasoning_tokens", usage.get("reasoning_tokens"))
        ),
        cached_tokens=_count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )
    return None if counts.output_tokens is None and counts.prompt_tokens is None else counts


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in _list(content) if isinstance(part, dict))
    return "".join(part for part in parts if isinstance(part, str))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(data: bytes) -> str:
    return data[:80].decode("utf-8", errors="replace")
