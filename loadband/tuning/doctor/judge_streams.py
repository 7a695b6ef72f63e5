"""Does it really stream, or does something in between hold the answer back?

Pure. Knows: events, reads and times of one answer. Must not know: sockets, servers.

A model that generates n tokens one after the other takes about as long for each as for the next, so an answer of n
events spreads over most of the time from the request to its end. Held back as a whole, all events come at once at the
end: `spread / (ttft - floor + spread)` is near 0. Held back in a buffer of some kilobytes, as a proxy does, they
come in lumps: many events a read. A client that is kept from the processor reads in lumps, too; therefore it counts
how often its event loop came round meanwhile. Answers that are too short, and lumps that may be the client's own, stay
undecided.
"""

from typing import Any

from loadband.record import FailureClass
from loadband.tuning.doctor.check import Check, bad, good, unknown, warn
from loadband.tuning.doctor.seen import Seen
from loadband.tuning.doctor.words import counted, milliseconds

FEWEST_EVENTS = 8
AT_ONCE_SHARE = 0.10
"""Below this share of the answer's time the events came all at once."""

LUMP = 6.0
"""Events a read above which something collects them."""

CROWD = 1.5
"""Events a read above which gaps between reads are not gaps between events."""

AWAKE = 4.0
"""A client that came round less often than this for each read may itself have made the lumps."""

CURE = "look for a proxy between here and the server (nginx: proxy_buffering off), or ask the server directly"
LATER = "look at the ITL of the run, or ask again from a quieter machine"


def judge_streams(seen: Seen, floor_s: float | None) -> Check:
    """From one answer of some length; `floor_s`: the link's smallest round trip."""
    if seen.failure_class == FailureClass.NOT_A_STREAM:
        return bad("streams", f"no stream: {seen.message}", "TTFT and TPOT cannot be measured; let the server stream")
    if seen.failure_class is not None:
        said = f"a longer answer failed ({seen.failure_class}: {seen.message})"
        return bad("streams", said, "look at the server's log")
    if seen.ttft_s is None or seen.events < FEWEST_EVENTS:
        return unknown("streams", f"an answer of {counted(seen.events, 'event')} is too short to tell", LATER)
    return _judge_arrivals(seen, seen.ttft_s, max(seen.ttft_s - (floor_s or 0.0), 0.0) + seen.spread_s)


def _judge_arrivals(seen: Seen, ttft_s: float, whole_s: float) -> Check:
    """`whole_s`: from the request to the last event, the link apart."""
    values: dict[str, Any] = {
        "events": seen.events, "reads": seen.reads, "ttft_s": ttft_s, "spread_s": seen.spread_s,
        "client_ticks": seen.client_ticks, "events_a_read": seen.events / seen.reads,
        "spread_share": seen.spread_s / whole_s if whole_s > 0 else None,
    }  # fmt: skip
    came = f"{counted(seen.events, 'event')} in {counted(seen.reads, 'read')} over {milliseconds(seen.spread_s)}"
    ttft = f"TTFT {milliseconds(ttft_s)}"
    held_back, lumps = seen.spread_s < AT_ONCE_SHARE * whole_s, seen.events >= LUMP * seen.reads
    if (held_back or lumps) and seen.client_ticks is not None and seen.client_ticks < AWAKE * seen.reads:
        said = f"{came}, {ttft}: in lumps, but this client was too busy to know whose they are"
        return unknown("streams", said, LATER, **values)
    if held_back:
        return bad("streams", f"held back: {came}; {ttft} is the whole answer's time", CURE, **values)
    if lumps:
        return bad("streams", f"comes in lumps: {came}; {ttft} and ITL are a buffer's", CURE, **values)
    if seen.events >= CROWD * seen.reads:
        step = "ITL will be the gap between reads; TPOT holds"
        return warn("streams", f"{came}, {ttft}: several events share a read", step, **values)
    return good("streams", f"{came}, {ttft}", **values)
