"""An answer that is no stream of events: what its body says of why.

Knows: the shapes in which servers refuse. Must not know: sockets, stamps, how a stream is read.
"""

from typing import Any

from loadband.load.says import ServerError
from loadband.load.server_json import as_json, error_of, is_context_length, parsed
from loadband.record import FailureClass, http_class

BODY_BYTES = 65536
"""How much of an answer that is no stream is kept for its sentence."""

WHOLE_BYTES = 16_777_216
"""How much is kept of an answer that was asked for in one piece."""

STREAM_BEGINNINGS = (b"data:", b"event:", b"retry:", b"id:", b":")
"""A body that begins so is a stream of events, whatever its content type says."""


def begins_as_events(body: bytes) -> bool | None:
    """Whether a body's beginning is that of server-sent events; None while it is too short to tell."""
    head = body.removeprefix(b"\xef\xbb\xbf").lstrip()[:6]
    if head.startswith(STREAM_BEGINNINGS):
        return True
    return None if any(beginning.startswith(head) for beginning in STREAM_BEGINNINGS) else False


class Body:
    """A body that is no stream of events, as far as it is kept."""

    __slots__ = ("_data", "full", "last")

    def __init__(self) -> None:
        self._data = bytearray()
        self.full = False
        """All that is kept has come: reading on is of no use."""
        self.last = 0.0
        """Stamp of the newest piece."""

    def keep(self, stamp: float, piece: bytes, *, whole: bool) -> bool:
        """Add a piece; `whole`: all of the body is wanted. Whether it is wanted and has become too much."""
        if self.full:
            return False
        self._data += piece
        self.last = stamp
        self.full = len(self._data) >= (WHOLE_BYTES if whole else BODY_BYTES)
        return whole and self.full

    def data(self) -> bytes:
        """What was kept."""
        return bytes(self._data)


def refusal(status: int, body: bytes, reason: str | None) -> ServerError:
    """Of an answer whose status is no 2xx; `reason`: the words beside the status."""
    sentence = _sentence(body, parsed(body)) or reason or f"HTTP {status}"
    if status in (400, 413, 422) and is_context_length(sentence):
        return ServerError(FailureClass.CONTEXT_LENGTH, sentence)
    return ServerError(http_class(status), sentence)


def no_stream(body: bytes, content_type: str) -> ServerError:
    """Of a 2xx that holds no events though a stream was asked for."""
    told = parsed(body)
    if told is not None and (error := error_of(told)):
        return error
    if told is not None and told.get("choices"):
        return ServerError(FailureClass.NOT_A_STREAM, "the server answered in one piece though a stream was asked for")
    if not body.strip():
        return ServerError(FailureClass.EMPTY, "the answer has no body")
    kind = content_type or "no content type"
    return ServerError(
        FailureClass.NOT_A_STREAM, f"the answer is no stream of events ({kind}): {_sentence(body, told)}"
    )


def missing(body: bytes, *, whole: bool, tokens: bool) -> ServerError | None:
    """Of a 2xx that was asked for in one piece: what it lacks, None when nothing. `tokens`: it holds some."""
    if not whole:
        return ServerError(FailureClass.TRUNCATED, "the answer ended before its announced length")
    if not body.strip():
        return ServerError(FailureClass.EMPTY, "the answer has no body")
    return None if tokens else ServerError(FailureClass.EMPTY, "the answer is whole but holds no token")


def _sentence(body: bytes, told: dict[str, Any] | None) -> str:
    if told is None:
        return body[:300].decode("utf-8", errors="replace")
    if error := error_of(told):
        return error.message
    detail = told.get("detail") or told.get("message") or told
    return detail if isinstance(detail, str) else as_json(detail)
