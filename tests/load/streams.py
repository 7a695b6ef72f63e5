"""Bytes of chat streams for tests, and an answer fed with them by the millisecond.

Knows: how servers write chunks and frame them. Must not know: sockets, any test.
"""

import json
from collections.abc import Iterable
from typing import Any

from loadband.load.answer import Answer
from loadband.load.dialects.dialect import Dialect
from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.reads import reads_of
from loadband.load.token_clock import TokenClock

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
LAST_CHUNK = b"0\r\n\r\n"


def event(body: Any) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def delta(finish_reason: str | None = None, **parts: Any) -> bytes:
    """One event of a chat stream whose delta holds these parts."""
    choice = {"index": 0, "delta": parts, "finish_reason": finish_reason}
    return event({"id": "s1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def text(content: str) -> bytes:
    return delta(content=content)


def finish(reason: str = "stop") -> bytes:
    return delta(finish_reason=reason)


def usage(prompt: int, output: int, **more: Any) -> bytes:
    return event({"id": "s1", "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": output, **more}})


ROLE = delta(role="assistant", content="")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(*events: bytes) -> bytes:
    """A complete chunked answer, one HTTP chunk an event."""
    return CHUNKED + b"".join(chunk(each) for each in events) + LAST_CHUNK


def plain(status: str, body: bytes, kind: str = "application/json") -> bytes:
    """A complete answer that is no stream."""
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        status.encode(),
        kind.encode(),
        len(body),
        body,
    )


class Fed:
    """An answer and its clock, request start at 0."""

    def __init__(self, dialect: Dialect | None = None, echo: str = "") -> None:
        self._dialect, self._echo = dialect, echo
        self.clock = TokenClock(0.0)
        self.answer = Answer(dialect or OpenAIChat(), self.clock, echo)

    def feed(self, reads: Iterable[tuple[float, bytes]]) -> "Fed":
        """Reads as (milliseconds, bytes), then the end; no further than the answer's own end.

        All at once they must say the same as one by one.
        """
        at_once = [(at / 1000, data) for at, data in reads]
        for stamp, data in at_once:
            if self.answer.complete:
                break
            self.answer.feed(stamp, data)
        self.answer.finish()
        together = Fed(self._dialect, self._echo)
        together.answer.feed_all(reads_of([stamp for stamp, _ in at_once], [data for _, data in at_once]))
        together.answer.finish()
        assert together.outcome() == self.outcome()
        assert together.answer.text == self.answer.text
        assert together.answer.thoughts == self.answer.thoughts
        assert together.clock.timing() == self.clock.timing()
        assert together.clock.seconds == self.clock.seconds
        return self

    @property
    def text(self) -> str:
        return "".join(self.answer.text)

    def outcome(self, lost: OSError | None = None) -> tuple[Any, ...]:
        """All that must not depend on how the bytes were cut."""
        failure, answer = self.answer.failure(lost), self.answer
        told = None if failure is None else failure.failure_class
        return (
            told, answer.http_status, answer.complete, self.text, self.clock.events, answer.usage,
            answer.finish_reason, answer.done, answer.model, answer.tool_calls,
        )  # fmt: skip


def fed(*reads: tuple[float, bytes]) -> Fed:
    return Fed().feed(reads)


def streamed(*writes: tuple[float, bytes], end: bytes = LAST_CHUNK) -> Fed:
    """A chunked answer: the head at 0, one HTTP chunk and one read a write."""
    return fed((0, CHUNKED), *((at, chunk(data)) for at, data in writes), (writes[-1][0], end))
