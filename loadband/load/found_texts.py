"""Finds the texts in reads that are nothing but whole events of one known shape; neither HTTP nor JSON is parsed.

Knows: how HTTP frames a chunk, the bytes around an event's text. Must not know: sockets, stamps, what an event means.

In C where it was built (`native/texts.c`), in Python elsewhere. They find the same.
"""

import ctypes
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from loadband.load import native
from loadband.load.reads import Reads

Frame = tuple[bytes, bytes]
"""What a read of one size must begin and end with; its text lies between."""

LONGEST_HEADER = 9
"""Bytes of a chunk's header, with its line end: a size has seven digits at most."""


class Shape(NamedTuple):
    """Of the events of one stream."""

    before: bytes
    after: bytes
    chunked: bool
    """Each event is a chunk of its own; else a read of its own."""


class Found(NamedTuple):
    """Texts of the first reads that are nothing else."""

    lines: bytes
    """As they stand there, each followed by a line end."""
    counts: Sequence[int]
    """Texts of each of these reads."""


def texts_of(shape: Shape) -> "NativeTexts | Texts":
    """What finds texts of this shape."""
    library = native.library()
    return Texts(shape) if library is None else NativeTexts(shape, library)


class Texts:
    """Finds them in Python."""

    __slots__ = ("_frames", "_shape")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._frames: dict[int, Frame | None] = {}

    def find(self, reads: Reads, at: int, begin: int) -> Found:
        """In the reads from number `at` on, the bytes of which begin at `begin`."""
        data, lines, counts = reads.data, [], []
        for size in reads.sizes[at:]:
            frame = self._frame(size)
            if frame is not None and data.startswith(frame[0], begin) and data.endswith(frame[1], begin, begin + size):
                texts = [data[begin + len(frame[0]) : begin + size - len(frame[1])]]
            else:
                texts = self._several(data, begin, begin + size)
            if not texts or any(b"\n" in text for text in texts):
                break
            lines += texts
            counts.append(len(texts))
            begin += size
        lines.append(b"")
        return Found(b"\n".join(lines), counts)

    def _several(self, data: bytes, at: int, end: int) -> list[bytes]:
        """The texts of a read that is several chunks, one behind the other; none of any other read."""
        texts: list[bytes] = []
        while at < end:
            size = _chunk_size(data, at) if self._shape.chunked else 0
            frame = self._frame(size)
            if frame is None or at + size > end:
                return []
            before, after = frame
            if not (data.startswith(before, at) and data.endswith(after, at, at + size)):
                return []
            texts.append(data[at + len(before) : at + size - len(after)])
            at += size
        return texts

    def _frame(self, size: int) -> Frame | None:
        """None of a size that no such read has."""
        try:
            return self._frames[size]
        except KeyError:
            frame = self._frames[size] = self._new_frame(size)
            return frame

    def _new_frame(self, size: int) -> Frame | None:
        before, after, chunked = self._shape
        if chunked:
            for digits in range(1, len(f"{size:x}") + 1):
                inner = size - digits - len(b"\r\n\r\n")
                if inner > 0 and len(f"{inner:x}") == digits:
                    before, after = b"%x\r\n%b" % (inner, before), after + b"\r\n"
                    break
            else:
                return None
        return (before, after) if size > len(before) + len(after) else None


def _chunk_size(data: bytes, at: int) -> int:
    """Bytes of the chunk that begins there, by what its header says; 0 of none."""
    try:
        header = data[at : data.index(b"\r\n", at, at + LONGEST_HEADER)]
        return len(header) + int(header, 16) + len(b"\r\n\r\n")
    except ValueError:
        return 0


class _Shape(ctypes.Structure):
    """As in the C source."""

    _fields_ = (
        ("before", ctypes.c_char_p),
        ("before_size", ctypes.c_size_t),
        ("after", ctypes.c_char_p),
        ("after_size", ctypes.c_size_t),
        ("chunked", ctypes.c_int),
    )


class NativeTexts:
    """Finds them in C."""

    __slots__ = ("_library", "_shape")

    def __init__(self, shape: Shape, library: ctypes.PyDLL) -> None:
        self._library = library
        self._shape = _Shape(shape.before, len(shape.before), shape.after, len(shape.after), shape.chunked)

    def find(self, reads: Reads, at: int, begin: int) -> Found:
        """As in Python."""
        count, size = len(reads.sizes) - at, len(reads.data) - begin
        counts = array("I", bytes(4 * count))
        lines, filled = ctypes.create_string_buffer(size), ctypes.c_size_t()
        sizes_at = reads.sizes.buffer_info()[0] + reads.sizes.itemsize * at
        found = self._library.texts_find(
            ctypes.byref(self._shape), reads.data, begin, sizes_at, count, lines,
            counts.buffer_info()[0], ctypes.byref(filled),
        )  # fmt: skip
        return Found(ctypes.string_at(lines, filled.value), counts[:found])
