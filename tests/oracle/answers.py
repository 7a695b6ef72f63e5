"""Answers told step by step, and the timed writes they become.

Knows: the words of an answer and HTTP's framing. Must not know: sockets, clocks, how an answer is chosen.

Times are milliseconds after the request was read in full and, where the server has slots, after one was free.
Every builder returns a list of steps, so that they can be strung together:

    answer(at(100, role()), at(300, content("A")), at(350, content("B"), finish(), usage(5, 2), done()))

`at` sends each event as a write (and HTTP chunk) of its own, `glued` sends them as one, `raw` sends bytes with no
framing, `cut` splits bytes at any positions; `close`, `reset` and `hang` end the answer unfinished.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, NamedTuple

from tests.oracle import wire

Framing = Literal["chunked", "length", "close", "raw"]
"""How the body ends: last chunk, Content-Length, end of connection; `raw` sends no head either."""

End = Literal["keep", "announced", "quiet", "reset", "hang"]
"""After the whole answer: keep the connection, close it as announced, close it unannounced, reset it, or leave it open
even where its end would end the body. By then the answer is `done`, whatever the client does next."""

Deed = Literal["end", "close", "reset", "hang"]

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"
AUTHORIZATION = b"@AUTHORIZATION@"
"""In an answer with `echo=True` this becomes the request's Authorization header."""

Headers = Iterable[tuple[str, str]]


class Step(NamedTuple):
    """One thing to do at one time."""

    at_ms: float
    kind: Literal["piece", "raw", "close", "reset", "hang"]
    data: bytes = b""


class Write(NamedTuple):
    """One write of an answer, framed and ready, or the deed that ends it. Only a `piece` is stamped."""

    at_ms: float
    kind: Literal["head", "piece", "extra"] | Deed
    data: bytes = b""
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What scripted answers and token streams have in common."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = SSE
    framing: Framing = "chunked"
    eol: str = "\n"
    head_ms: float = 0.0
    end: End = "keep"
    end_after_ms: float = 0.0

    def head(self, length: int, extra: Headers = ()) -> bytes:
        """The status line and headers for a body of `length` bytes."""
        lines = [f"HTTP/1.1 {self.status} {phrase(self.status)}", f"Content-Type: {self.content_type}"]
        if self.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        elif self.framing == "length":
            lines.append(f"Content-Length: {length}")
        if self.framing == "close" or self.end == "announced":
            lines.append("Connection: close")
        lines += [f"{name}: {value}" for name, value in (*self.headers, *extra)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def framed(self, payload: bytes) -> bytes:
        """A piece of the body as it goes over the wire."""
        payload = wire.with_line_ends(payload, self.eol)
        return wire.chunk(payload) if self.framing == "chunked" else payload

    def ending(self, at_ms: float) -> Iterator[Write]:
        """The last chunk of an answer that ran to its end, and what becomes of the connection."""
        if self.framing == "chunked":
            yield Write(at_ms, "extra", wire.LAST_CHUNK)
        yield from self.afterwards(at_ms)

    def afterwards(self, at_ms: float) -> Iterator[Write]:
        """The answer is over at `at_ms`; the connection may be ended then or later."""
        yield Write(at_ms, "end")
        if self.end == "reset":
            yield Write(at_ms + self.end_after_ms, "reset")
        elif self.end in {"announced", "quiet"} or (self.end == "keep" and self.framing == "close"):
            yield Write(at_ms + self.end_after_ms, "close")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Reply):
    """An answer told step by step; with `echo`, `AUTHORIZATION` in its bytes is filled in."""

    steps: tuple[Step, ...] = ()
    echo: bool = False

    def writes(self, extra_headers: Headers = (), authorization: str = "") -> Iterator[Write]:
        """The answer as timed writes; a step that ends the connection ends the answer there."""
        parts = [(step, self._bytes(step, authorization.encode("latin-1"))) for step in self.steps]
        if self.framing != "raw":
            yield Write(self.head_ms, "head", self.head(sum(len(payload) for _, payload in parts), extra_headers))
        for step, payload in parts:
            if step.kind == "close" or step.kind == "reset" or step.kind == "hang":  # noqa: PLR1714  mypy narrows this
                yield Write(step.at_ms, step.kind)
                return
            yield Write(step.at_ms, "piece", payload)
        yield from self.ending(max((step.at_ms for step in self.steps), default=self.head_ms))

    def _bytes(self, step: Step, authorization: bytes) -> bytes:
        payload = step.data.replace(AUTHORIZATION, authorization) if self.echo else step.data
        return self.framed(payload) if step.kind == "piece" else payload


def phrase(status: int) -> str:
    """The reason phrase, also for codes HTTP does not know (529)."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def at(ms: float, *events: bytes) -> list[Step]:
    """Each event in a write and HTTP chunk of its own."""
    return [Step(ms, "piece", event) for event in events]


def glued(ms: float, *events: bytes) -> list[Step]:
    """All events in one write and one HTTP chunk."""
    return [Step(ms, "piece", b"".join(events))]


def raw(ms: float, *payloads: bytes) -> list[Step]:
    """Bytes that go out as they are, whatever the framing."""
    return [Step(ms, "raw", payload) for payload in payloads]


def cut(ms: float, payload: bytes, positions: Sequence[int], every_ms: float, *, framed: bool = True) -> list[Step]:
    """`payload` cut before the bytes at `positions`, the parts `every_ms` apart; not `framed`: as raw bytes."""
    edges = [0, *sorted(positions), len(payload)]
    parts = [payload[a:b] for a, b in itertools.pairwise(edges) if b > a]
    return [Step(ms + i * every_ms, "piece" if framed else "raw", part) for i, part in enumerate(parts)]


def close(ms: float) -> list[Step]:
    """FIN, with the body unfinished."""
    return [Step(ms, "close")]


def reset(ms: float) -> list[Step]:
    """RST (a close with SO_LINGER 0)."""
    return [Step(ms, "reset")]


def hang(ms: float) -> list[Step]:
    """Silence until the client gives up."""
    return [Step(ms, "hang")]


def answer(
    *parts: list[Step],
    status: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    content_type: str = SSE,
    framing: Framing = "chunked",
    eol: str = "\n",
    head_ms: float = 0.0,
    end: End = "keep",
    end_after_ms: float = 0.0,
    echo: bool = False,
) -> Answer:
    """An answer from strings of steps; see `Reply` for the options."""
    return Answer(
        steps=tuple(step for part in parts for step in part), status=status, headers=tuple(headers),
        content_type=content_type, framing=framing, eol=eol, head_ms=head_ms, end=end, end_after_ms=end_after_ms,
        echo=echo,
    )  # fmt: skip


def whole_wire(reply: Answer) -> bytes:
    """Every byte the answer sends, in order; a request with an `X-Request-Id` gets that header back besides."""
    return b"".join(write.data for write in reply.writes())


def recut(reply: Answer, positions: Sequence[int], every_ms: float, at_ms: float = 0.0) -> Answer:
    """The same bytes, head included, cut at any positions of the wire: for readers that must not care."""
    ends: dict[str, End] = {"close": "quiet", "reset": "reset", "hang": "hang"}
    end = ends.get(list(reply.writes())[-1].kind, "keep")
    steps = cut(at_ms, whole_wire(reply), positions, every_ms, framed=False)
    return answer(steps, framing="raw", end=end, end_after_ms=reply.end_after_ms)
