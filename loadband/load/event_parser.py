"""How a dialect's stream is parted into events.

Knows: which parser reads which dialect. Must not know: sockets, stamps, HTTP framing.
"""

from loadband.load.dialects.dialect import Dialect
from loadband.load.json_lines import LineParser
from loadband.load.says import Chunk, ProtocolError
from loadband.load.sse import EventParser


def event_parser(dialect: Dialect) -> EventParser | LineParser:
    """A parser for one stream."""
    return LineParser() if dialect.json_lines else EventParser()


def only_event(dialect: Dialect, piece: bytes) -> Chunk | None:
    """What a piece of a stream says that is one whole event; None of any other."""
    events = event_parser(dialect).feed(0.0, piece)
    try:
        return dialect.read(events[0].name, events[0].data) if len(events) == 1 else None
    except ProtocolError:
        return None
