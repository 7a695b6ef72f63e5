"""Answers that ended before they were whole: what is said of them.

Knows: how connections break, which finish reasons are no end. Must not know: sockets, bytes, stamps.
"""

from loadband.load.says import ServerError
from loadband.record import FailureClass

GIVEN_UP = {
    "abort": FailureClass.TRUNCATED,
    "aborted": FailureClass.TRUNCATED,
    "cancelled": FailureClass.TRUNCATED,
    "error": FailureClass.STREAM_ERROR,
}
"""Finish reasons of answers that are not whole, and the class of each."""


def given_up(finish_reason: str | None) -> ServerError | None:
    """Of an answer that ended in order but whose server says that it did not finish it."""
    kind = GIVEN_UP.get((finish_reason or "").lower())
    return ServerError(kind, f"the server gave the answer up (finish reason {finish_reason})") if kind else None


def how_lost(lost: OSError | None, when: str) -> str:
    """The sentence about a connection that ended too early; `lost`: how it broke, None when it was closed."""
    if lost is None:
        return f"the server closed the connection {when}"
    return f"the connection broke {when} ({lost.strerror or lost})"
