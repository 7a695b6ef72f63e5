"""Reads that are one whole event each, told apart by their bytes alone: neither HTTP nor JSON is parsed for them.

Knows: how HTTP frames a chunk, the bytes around an event's text. Must not know: sockets, stamps, what an event means.

As a rule a server writes each token as one chunk, and a client reads it as one read. The parsers are at rest between
two chunks and between two events; that they are there shows when a read was whole chunks of the pieces they made of
it. A read that is then one chunk of the template's shape leaves them at rest, so they need not see it. Its size alone
says what its chunk header must be and where its text lies; both are compared byte by byte, and what does not fit is
parsed.
"""

from collections.abc import Sequence
from itertools import islice

from loadband.load.template import EventTemplate

Frame = tuple[bytes, bytes]
"""What a read of one size must begin and end with; its text lies between."""

LONGEST_HEADER = 8
"""Bytes, with its line end: a read is not that long."""


def chunk(piece: bytes) -> bytes:
    """The piece in HTTP's framing, as most servers write it."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


class WholeReads:
    """Of one stream."""

    __slots__ = ("_around", "_chunked", "_frames", "_template", "resting")

    def __init__(self, template: EventTemplate) -> None:
        self._template = template
        self._around: Frame = (b"", b"")
        self._chunked = True
        self._frames: dict[int, Frame | None] = {}
        self.resting = False
        """The parsers are at rest, and the next read may be taken here."""

    def settle(self, read: bytes, pieces: Sequence[bytes], *, chunked: bool) -> None:
        """The parsers made these pieces of the body out of this read, and are between two events.

        `chunked`: the body comes in chunks; else as it is, and only the connection's end is its end.
        """
        if (self._around, self._chunked) != (self._template.around, chunked):
            self._around, self._chunked = self._template.around, chunked
            self._frames.clear()
        self.resting = bool(self._around[0]) and read == b"".join(map(chunk, pieces) if chunked else pieces)

    def texts(self, reads: Sequence[bytes], at: int) -> list[str]:
        """The texts of the reads from `at` on, up to the first that is something else."""
        literals: list[bytes] = []
        for read in islice(reads, at, None):
            size = len(read)
            frame = self._frame(size)
            if frame is None:
                break
            before, after = frame
            if not (read.startswith(before) and read.endswith(after)):
                break
            literals.append(read[len(before) : -len(after)])
        return self._template.read_all(literals)

    def texts_in(self, read: bytes) -> list[str]:
        """The texts of a read that is several such chunks, one behind the other; none of any other read."""
        literals: list[bytes] = []
        at = 0
        while at < len(read):
            size = _chunk_size(read, at) if self._chunked else 0
            frame = self._frame(size)
            if frame is None or at + size > len(read):
                return []
            before, after = frame
            if not (read.startswith(before, at) and read.endswith(after, at, at + size)):
                return []
            literals.append(read[at + len(before) : at + size - len(after)])
            at += size
        texts = self._template.read_all(literals)
        return texts if len(texts) == len(literals) else []

    def _frame(self, size: int) -> Frame | None:
        """None of a size that no such read has."""
        try:
            return self._frames[size]
        except KeyError:
            frame = self._frames[size] = self._new_frame(size)
            return frame

    def _new_frame(self, size: int) -> Frame | None:
        """None of a size that no such read has."""
        before, after = self._around
        if self._chunked:
            for digits in range(1, len(f"{size:x}") + 1):
                inner = size - digits - len(b"\r\n\r\n")
                if inner > 0 and len(f"{inner:x}") == digits:
                    before, after = b"%x\r\n%b" % (inner, before), after + b"\r\n"
                    break
            else:
                return None
        return (before, after) if size > len(before) + len(after) else None


def _chunk_size(read: bytes, at: int) -> int:
    """Bytes of the chunk that begins there, by what its header says; 0 of none."""
    try:
        header = read[at : read.index(b"\r\n", at, at + LONGEST_HEADER)]
        return len(header) + int(header, 16) + len(b"\r\n\r\n")
    except ValueError:
        return 0
