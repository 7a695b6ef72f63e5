"""Times of one stream's tokens, from the stamps of its events.

Knows: the formulas of `record.py`. Must not know: sockets, HTTP, JSON; it reads no clock, stamps are given.

Events that share one read are one moment: they make no gap. Memory: one number a read, one count a second.
"""

import math
import operator
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from loadband.record import BUFFERED_EVENTS, spread

BURSTY_SHARE = 0.10
"""Above this share of reads with several events, gaps between reads are no gaps between chunks."""

BUFFERED_SPAN, BUFFERED_PACE_S = 0.05, 0.0002
"""All events within this share of E2E and faster than this, each: the answer came at once, in however many reads."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What the clock knows of a stream; seconds since request start, None where there is nothing to know."""

    ttft_s: float | None
    ttfa_s: float | None
    e2e_s: float | None
    itl_p50_s: float | None
    itl_p99_s: float | None
    itl_max_s: float | None
    events: int
    bursty: bool
    buffered: bool
    """Held back on its way, or not streamed at all: the times of its tokens are not those of their making."""


class TokenClock:
    """Fed with the stamp of each generated event, in order."""

    __slots__ = (
        "_crowded",
        "_crowded_now",
        "_first_answer",
        "_ordered",
        "_start",
        "_wall_offset",
        "events",
        "first",
        "gaps",
        "last",
        "seconds",
    )

    def __init__(self, start: float, wall_offset: float = 0.0) -> None:
        """`start`: stamp of the request's start. `wall_offset`: Unix seconds on the master's clock minus stamp."""
        self._start = start
        self._wall_offset = wall_offset
        self.first: float | None = None
        self.last: float | None = None
        self._first_answer: float | None = None
        self._crowded = 0
        self._crowded_now = False
        self.events = 0
        self.gaps = array("d")
        """Seconds between reads that brought generated events."""
        self._ordered: Sequence[float] = ()
        self.seconds: dict[int, int] = {}
        """Unix second -> generated events that arrived in it."""

    def generated(self, stamp: float, *, answer: bool) -> None:
        """One generated event; `answer`: it holds visible answer text."""
        self.events += 1
        if self.last is None:
            self.first = stamp
        elif stamp != self.last:
            self.gaps.append(stamp - self.last)
            self._crowded_now = False
        elif not self._crowded_now:
            self._crowded_now = True
            self._crowded += 1
        if answer and self._first_answer is None:
            self._first_answer = stamp
        self.last = stamp
        second = self._second(stamp)
        self.seconds[second] = self.seconds.get(second, 0) + 1

    def generated_apart(self, stamps: Sequence[float], *, answer: bool) -> None:
        """Generated events of so many reads, one each, in order: as `generated` of each one, and faster."""
        if self.last is None or len(stamps) == 1:
            self.generated(stamps[0], answer=answer)
            stamps = stamps[1:]
        gaps = list(map(operator.sub, stamps, chain((self.last,), stamps)))
        if 0.0 in gaps or not gaps:
            for stamp in stamps:
                self.generated(stamp, answer=answer)
            return
        self.gaps.extend(gaps)
        self._crowded_now = False
        if answer and self._first_answer is None:
            self._first_answer = stamps[0]
        self.events += len(gaps)
        self.last = stamps[-1]
        at = 0
        while at < len(stamps):
            second = self._second(stamps[at])
            after = bisect_right(stamps, second, at, key=self._second)
            self.seconds[second] = self.seconds.get(second, 0) + after - at
            at = after

    def _second(self, stamp: float) -> int:
        """The Unix second that a stamp lies in."""
        return math.floor(stamp + self._wall_offset)

    def ended(self, stamp: float) -> None:
        """The end of an answer in one piece: nobody knows when its tokens were generated."""
        self.last = stamp

    def timing(self) -> Timing:
        """The stream's times so far."""
        gaps = self.ordered_gaps()
        return Timing(
            ttft_s=self._since_start(self.first),
            ttfa_s=self._since_start(self._first_answer),
            e2e_s=self._since_start(self.last),
            itl_p50_s=nearest_rank(gaps, 50),
            itl_p99_s=nearest_rank(gaps, 99),
            itl_max_s=gaps[-1] if gaps else None,
            events=self.events,
            bursty=self._crowded > BURSTY_SHARE * (len(gaps) + 1),
            buffered=self.buffered,
        )

    def ordered_gaps(self) -> Sequence[float]:
        """The gaps so far, rising."""
        if len(self._ordered) != len(self.gaps):
            self._ordered = sorted(self.gaps)
        return self._ordered

    @property
    def buffered(self) -> bool:
        """Whether so many events came together that their times are not those of their making."""
        if self.events < BUFFERED_EVENTS or self.first is None or self.last is None:
            return False
        span = self.last - self.first
        at_once = span <= min(BUFFERED_SPAN * (self.last - self._start), BUFFERED_PACE_S * (self.events - 1))
        return at_once or self.events >= BUFFERED_EVENTS * (len(self.gaps) + 1)

    def tpot(self, output_tokens: int | None) -> float | None:
        """(last - first) / (tokens - 1); absent below 2 tokens, and where all came at one moment."""
        if self.first is None or self.last is None or output_tokens is None or output_tokens < 2:
            return None
        if self.first == self.last:
            return None
        return (self.last - self.first) / (output_tokens - 1)

    def spread(self, tokens: int) -> dict[int, int]:
        """Unix second -> tokens: the stream's tokens dealt over its events' seconds."""
        return spread(tokens, self.seconds)

    def _since_start(self, stamp: float | None) -> float | None:
        return None if stamp is None else stamp - self._start


def nearest_rank(ordered: Sequence[float], percent: float) -> float | None:
    """The value at or below which `percent` % of the rising values lie; None of nothing."""
    if not ordered:
        return None
    return ordered[max(1, math.ceil(len(ordered) * percent / 100.0 - 1e-9)) - 1]
