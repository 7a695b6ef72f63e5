"""What a server's events say, in words that all dialects share.

Knows: nothing but these words. Must not know: JSON, sockets, HTTP framing, stamps.

A piece is *generated* when text, reasoning or a tool call is non-empty: a role-only chunk, an empty or null
`content`, and a usage chunk are not.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class ProtocolError(Exception):
    """Bytes that this dialect cannot be; the text is a sentence for `message`."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error the server told: its class and its own sentence."""

    failure_class: str
    message: str


class Usage(NamedTuple):
    """Token counts the server told; None where it did not."""

    output_tokens: int | None = None
    prompt_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    def then(self, later: "Usage | None") -> "Usage":
        """The last word on each count: servers tell them in one event, in each, or one here and one there."""
        if later is None:
            return self
        if self == NOT_TOLD:
            return later
        return Usage(*(new if new is not None else old for old, new in zip(self, later, strict=True)))


NOT_TOLD = Usage()


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
    so_far: str | None = None
    """The whole answer up to now, of servers that say it all again with each token; `text` is then empty."""

    @property
    def generated(self) -> bool:
        """Whether the event holds a non-empty generated piece."""
        return bool(self.text or self.reasoning or self.tool_piece)


def new_text(known: str, so_far: str) -> str:
    """What is new in an answer that is said all again; a piece that was taken back is not taken from the text."""
    return so_far[len(os.path.commonprefix([known, so_far])) :]  # noqa: RUF071  characters, not folders


@dataclass(frozen=True, slots=True)
class Sampling:
    """What every request asks for, beside its own `max_tokens`."""

    model: str
    temperature: float | None = None
    ignore_eos: bool = False
    extra_body: Mapping[str, Any] | None = None
    include_usage: bool = True
    """Ask for token counts; some servers refuse to be asked."""
