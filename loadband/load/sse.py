r"""Server-sent events from bytes, whatever the cuts.

Knows: the event stream format (WHATWG HTML, section 9.2.6). Must not know: sockets, clocks, JSON, what an event says.

Lines end with `\n`, `\r\n` or `\r`; `data:` may be followed by one space or none; comments and unknown fields are
skipped; several `data:` lines are joined by `\n`; the last event needs no blank line. Any split of the bytes gives
the same events. The stamp of an event is the stamp of the read that completed it.
"""

import re
from typing import NamedTuple

from loadband.load.says import ProtocolError

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"

LONGEST_EVENT = 16_777_216
"""Bytes. A body without a line end, or without a blank line, must not fill the memory."""


def too_long() -> ProtocolError:
    """An event that does not end."""
    return ProtocolError(f"an event is longer than {LONGEST_EVENT >> 20} MB, or the stream has no line ends")


class Event(NamedTuple):
    """One event: stamp of its completion, its name (empty: `message`), its data."""

    stamp: float
    name: bytes
    data: bytes


class EventParser:
    """Events of one stream, fed read by read. Memory: the open event only."""

    __slots__ = ("_data", "_held", "_name", "_parts", "_skip_newline", "_stamp", "_started", "comments")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._data: list[bytes] | None = None
        self._held = 0
        self._name = b""
        self._skip_newline = False
        self._started = False
        self._stamp = 0.0
        self.comments = 0
        """Comment lines seen: the server is alive but says nothing."""

    @property
    def idle(self) -> bool:
        """Between two events: what was fed before has no say in what comes."""
        return self._started and self._data is None and not (self._parts or self._skip_newline or self._name)

    def feed(self, stamp: float, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises ProtocolError of an event that does not end."""
        if not data:
            return []
        self._stamp = stamp
        if self._skip_newline:
            self._skip_newline = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\n" not in data and b"\r" not in data:
            self._hold(data)
            self._parts.append(data)
            return []
        if self._parts:
            self._parts.append(data)
            data = b"".join(self._parts)
            self._parts.clear()
        if b"\r" in data:
            self._skip_newline = data.endswith(b"\r")
            lines = _LINE_END.split(data)
        else:
            lines = data.split(b"\n")
        rest = lines.pop()
        if rest:
            self._parts.append(rest)
        events: list[Event] = []
        for line in lines:
            if line:
                self._field(line)
            elif self._data is not None or self._name:
                self._dispatch(stamp, events)
        return events

    def finish(self) -> list[Event]:
        """What the end of the stream completes: an event without its blank line."""
        events: list[Event] = []
        if self._parts:
            line = b"".join(self._parts)
            self._parts.clear()
            self._field(line)
        self._dispatch(self._stamp, events)
        return events

    def _field(self, line: bytes) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if line.startswith(b"data:"):
            value = line[6:] if line[5:6] == b" " else line[5:]
            if self._data is None:
                self._data = [value]
            else:
                self._hold(value)
                self._data.append(value)
        elif line.startswith(b":"):
            self.comments += 1
        elif line.startswith(b"event:"):
            self._name = line[6:].removeprefix(b" ")
        elif line == b"data":
            self._data = [*(self._data or []), b""]

    def _hold(self, data: bytes) -> None:
        self._held += len(data)
        if self._held > LONGEST_EVENT:
            raise too_long()

    def _dispatch(self, stamp: float, events: list[Event]) -> None:
        if self._data is not None:
            events.append(Event(stamp, self._name, b"\n".join(self._data)))
        self._data = None
        self._held = 0
        self._name = b""
