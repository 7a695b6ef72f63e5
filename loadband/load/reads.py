"""What a reader hands over, and when it does.

Knows: nothing but these words. Must not know: sockets, HTTP, tokens.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

READ_BYTES = 65536
"""One read brings no more."""

WAITING_BYTES = 262144
"""Reading pauses while this many bytes wait to be parsed."""

ENDINGS = (b"0\r\n\r\n", b"[DONE]\n\n", b"[DONE]\n\n\r\n", b"[DONE]\r\n\r\n", b"[DONE]\r\n\r\n\r\n")
"""What the end of a stream looks like. A hint: the same bytes stand in headers (llama.cpp's `max=100`)."""


class Reads(NamedTuple):
    """Reads of one connection, oldest first; their bytes in one piece, so that a read costs no object of its own."""

    stamps: Sequence[float]
    """Monotonic stamp of the moment each read returned."""
    sizes: "array[int]"
    """Bytes that each read brought, never 0; of type `I`."""
    data: bytes
    """All of them."""


def reads_of(stamps: Sequence[float], pieces: Sequence[bytes]) -> Reads:
    """Of what each read brought."""
    return Reads(stamps, array("I", map(len, pieces)), b"".join(pieces))


def looks_ended(data: bytes) -> bool:
    """Whether a read looks like the last one: by the last word, the end of the message, or that of its trailers."""
    if data.endswith(ENDINGS) or b"[DONE]" in data:
        return True
    return data.endswith(b"\r\n\r\n") and (data.startswith(b"0\r\n") or b"\n0\r\n" in data)
