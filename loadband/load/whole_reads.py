"""Reads that are whole events, told apart by their bytes alone: neither HTTP nor JSON is parsed for them.

Knows: when the parsers need not see a read. Must not know: sockets, stamps, what an event means.

As a rule a server writes each token as one chunk, and a client reads it as one read. The parsers are at rest between
two chunks and between two events; that they are there shows when a read was whole chunks of the pieces they made of
it. A read that is then one chunk of the template's shape, or several, leaves them at rest, so they need not see it.
What its chunk header says, and the bytes around its text, are compared byte by byte; what does not fit is parsed.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from loadband.load.found_texts import NativeTexts, Shape, Texts, texts_of
from loadband.load.reads import Reads
from loadband.load.template import EventTemplate


class Heard(NamedTuple):
    """The texts of some reads that are nothing else."""

    texts: list[str]
    counts: Sequence[int]
    """How many each read brought."""


NOTHING = Heard([], ())


def chunk(piece: bytes) -> bytes:
    """The piece in HTTP's framing, as most servers write it."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


class WholeReads:
    """Of one stream."""

    __slots__ = ("_shape", "_template", "_texts", "resting")

    def __init__(self, template: EventTemplate) -> None:
        self._template = template
        self._shape: Shape | None = None
        self._texts: NativeTexts | Texts | None = None
        self.resting = False
        """The parsers are at rest, and the next read may be taken here."""

    def settle(self, read: bytes, pieces: Sequence[bytes], *, chunked: bool) -> None:
        """The parsers made these pieces of the body out of this read, and are between two events.

        `chunked`: the body comes in chunks; else as it is, and only the connection's end is its end.
        """
        before, after = self._template.around
        self.resting = bool(before) and read == b"".join(map(chunk, pieces) if chunked else pieces)
        if self.resting and (shape := Shape(before, after, chunked)) != self._shape:
            self._shape, self._texts = shape, texts_of(shape)

    def hear(self, reads: Reads, at: int, begin: int) -> Heard:
        """The texts of the reads from number `at` on, whose bytes begin at `begin`, up to the first that is another."""
        if not self.resting or self._texts is None:
            return NOTHING
        lines, counts = self._texts.find(reads, at, begin)
        texts = self._template.read_all(lines) if counts else []
        if len(texts) == sum(counts):
            return Heard(texts, counts)
        whole = sum(total <= len(texts) for total in accumulate(counts))
        return Heard(texts[: sum(counts[:whole])], counts[:whole])
