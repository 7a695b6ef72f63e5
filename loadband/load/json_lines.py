"""JSON objects parted by line ends or NUL, whatever the cuts: the event streams of Ollama and vLLM's demo server.

Knows: where one ends. Must not know: sockets, clocks, what an object says.
"""

import re

from loadband.load.sse import LONGEST_EVENT, Event, too_long

_END = re.compile(rb"[\r\n\0]+")


class LineParser:
    """Events of one stream, fed read by read; the counterpart of `EventParser`. Memory: the open line only."""

    __slots__ = ("_held", "_parts", "_stamp")

    def __init__(self) -> None:
        self._held = 0
        self._parts: list[bytes] = []
        self._stamp = 0.0

    @property
    def idle(self) -> bool:
        """Between two lines: what was fed before has no say in what comes."""
        return not self._parts

    def feed(self, stamp: float, data: bytes) -> list[Event]:
        """The lines that these bytes end. Raises ProtocolError of a line that does not end."""
        self._stamp = stamp
        if not _END.search(data):
            if data:
                self._held += len(data)
                self._parts.append(data)
            if self._held > LONGEST_EVENT:
                raise too_long()
            return []
        *lines, rest = _END.split(b"".join([*self._parts, data]))
        self._parts, self._held = [rest] if rest else [], len(rest)
        return [Event(stamp, b"", line) for line in lines if line.strip()]

    def finish(self) -> list[Event]:
        """What the end of the stream ends: a line without its end."""
        line = b"".join(self._parts).strip()
        self._parts = []
        return [Event(self._stamp, b"", line)] if line else []
