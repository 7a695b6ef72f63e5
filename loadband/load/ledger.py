"""What one process has seen since its last report: records, counters by second, histograms, requests in flight.

Knows: how finished requests are counted. Must not know: Locust, files, other processes.

Everything in a report adds up: reports of several workers, and of one worker over time, are summed by the master.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from loadband.histogram import Histogram
from loadband.load.token_clock import TokenClock
from loadband.record import Record, Status

COUNTERS = (
    "started", "ok", "failed", "cut", "events",
    "output_tokens_ok", "output_tokens_failed", "output_tokens_cut", "prompt_tokens", "abandoned",
)  # fmt: skip
"""Counters of one second and scenario, in the column order of `seconds.csv`."""

_AT = {name: index for index, name in enumerate(COUNTERS)}


class Open(NamedTuple):
    """A request in flight, as far as the master must know it should this worker die."""

    id: str
    scenario: str
    kind: str
    step: int
    repeat: int
    user: int
    conversation: int | None
    turn: int | None
    started_at: float

    def lost(self, worker: str) -> Record:
        """The record of this request when its worker died: nobody knows how it ended."""
        return Record(
            id=self.id, worker=worker, scenario=self.scenario, kind=self.kind, step=self.step, step_end=None,
            repeat=self.repeat, user=self.user, conversation=self.conversation, turn=self.turn,
            started_at=self.started_at, status=Status.LOST,
        )  # fmt: skip


class Ledger:
    """Counts and records of this process. `wall` gives Unix seconds on the master's clock."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._counters: dict[tuple[int, str], list[int]] = {}
        self._histograms: dict[tuple[int, int, str, str], Histogram] = {}
        self._records: list[Record] = []
        self._texts: list[list[Any]] = []
        """Id, start, text, and its events by second, of answers that nobody has counted."""
        self._open: dict[str, Open] = {}
        self.in_flight = 0
        """Requests open now."""
        self._since = wall()
        self._changed = self._since
        self._open_seconds: dict[int, float] = {}
        """Request-seconds, by the second they lie in."""

    def begin(self, opened: Open) -> None:
        """A request starts now."""
        self._count(math.floor(self._wall()), opened.scenario, "started")
        self._change(+1)
        self._open[opened.id] = opened

    def end(self, record: Record, tokens: TokenClock, text: str | None = None) -> None:
        """A request ended now, as its record says; `text`: what is to be counted after the run."""
        self._change(-1)
        self._open.pop(record.id, None)
        now = math.floor(self._wall())
        scenario = record.scenario
        if record.status in (Status.OK, Status.FAILED, Status.CUT, Status.ABANDONED):
            self._count(now, scenario, record.status)
            self._deal(tokens, record, scenario, now)
        if record.status == Status.OK and not tokens.buffered:
            self.observe("itl", tokens.ordered_gaps(), record.step_end or 0, now, scenario)
        self._records.append(record)
        if text is not None:
            self._texts.append([record.id, record.started_at, text, list(tokens.seconds.items())])

    def observe(self, metric: str, values: Iterable[float], step: int, second: int, scenario: str = "") -> None:
        """Add values to the histogram of a metric, step, second and scenario."""
        ordered = sorted(values)
        if not ordered:
            return
        key = (step, second, scenario, metric)
        if key not in self._histograms:
            self._histograms[key] = Histogram()
        self._histograms[key].add_sorted(ordered)

    def take(self) -> dict[str, Any]:
        """All that came since the last take, as plain values; the ledger is empty afterwards."""
        self._change(0)
        now = self._changed
        elapsed = now - self._since
        report = {
            "counters": [[second, scenario, *counts] for (second, scenario), counts in self._counters.items()],
            "histograms": [
                [*key, h.count, h.total, h.minimum, h.maximum, h.encode()] for key, h in self._histograms.items()
            ],
            "records": [record.values() for record in self._records],
            "texts": self._texts,
            "in_flight": sum(self._open_seconds.values()) / elapsed if elapsed > 0 else float(self.in_flight),
            "open_seconds": [list(area) for area in self._open_seconds.items()],
            "in_flight_now": self.in_flight,
            "open": [list(opened) for opened in self._open.values()],
        }
        self._counters, self._histograms, self._records, self._texts = {}, {}, [], []
        self._since, self._open_seconds = now, {}
        return report

    def _deal(self, tokens: TokenClock, record: Record, scenario: str, now: int) -> None:
        """Book events and tokens into the seconds in which they arrived."""
        for second, events in tokens.seconds.items():
            self._count(second, scenario, "events", events)
        if record.output_tokens:
            column = Status.CUT if record.status == Status.ABANDONED else record.status
            dealt = tokens.spread(record.output_tokens) or {now: record.output_tokens}
            for second, share in dealt.items():
                self._count(second, scenario, f"output_tokens_{column}", share)
        if record.prompt_tokens:
            self._count(min(tokens.seconds, default=now), scenario, "prompt_tokens", record.prompt_tokens)

    def _count(self, second: int, scenario: str, counter: str, by: int = 1) -> None:
        counts = self._counters.get((second, scenario))
        if counts is None:
            counts = self._counters[second, scenario] = [0] * len(COUNTERS)
        counts[_AT[counter]] += by

    def _change(self, by: int) -> None:
        """Book the time since the last change, in request-seconds, into the seconds that it lies in."""
        now = self._wall()
        begin, second = self._changed, math.floor(self._changed)
        while second <= now:
            end = min(second + 1, now)
            self._open_seconds[second] = self._open_seconds.get(second, 0.0) + self.in_flight * (end - begin)
            begin, second = end, second + 1
        self._changed = now
        self.in_flight += by
