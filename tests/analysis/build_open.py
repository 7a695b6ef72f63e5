"""A synthetic run of an open loop: arrivals on a schedule against a server of known capacity, first come first served.

`slots` requests are served at once, each for `service_s`: the capacity is slots / service_s requests per second. TTFT
is the wait plus a tenth of the service.
"""

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadband.histogram import Histogram
from loadband.load.ledger import COUNTERS
from loadband.record import Record
from loadband.rundir import HISTOGRAMS, REQUESTS, SECONDS, STEPS, WORKERS, RunDirectory
from tests.analysis.build_run import EPOCH

TOKENS = 50
SETTLE_S = 10.0


@dataclass(frozen=True)
class Open:
    """What is offered, to which server."""

    rates: tuple[float, ...]
    hold_s: tuple[float, ...]
    """Of each level."""
    slots: int = 4
    service_s: float = 1.0
    arrival: str = "poisson"
    seed: int = 1
    slo: str | None = None
    lag_s: float = 0.001
    """How late each request was sent."""
    sent: float = 1.0
    """Share of the schedule that was sent at all."""
    waited: bool = False


def build_open(path: Path, made: Open) -> list[Record]:
    """Write the run directory."""
    lengths = [SETTLE_S + hold for hold in made.hold_s]
    begins = [EPOCH + sum(lengths[:place]) for place in range(len(lengths))]
    records = _serve(made, begins, lengths)
    directory = RunDirectory.create(path)
    for place, (rate, begin, length) in enumerate(zip(made.rates, begins, lengths, strict=True), start=1):
        directory.appender(STEPS).append(
            [place, 1, None, rate, begin, begin + 1, begin + SETTLE_S, begin + length, "hold"]
        )
    for record in records:
        directory.appender(REQUESTS).append(record.values())
    _write_seconds(directory, records, int(begins[-1] + lengths[-1]))
    directory.write_run(
        {
            "started": EPOCH, "ended": begins[-1] + lengths[-1] + 60, "how": "plan", "host": "http://gpu1:8000",
            "model": "m", "scenarios": ["open_loop"], "slo": made.slo, "findings": [],
            "plan": {"levels": [], "rates": list(made.rates), "arrival": made.arrival, "hold": "auto"},
            "timeouts": {"connect_s": 10.0, "first_token_s": 1200.0, "idle_s": 60.0, "total_s": 6000.0},
        }
    )  # fmt: skip
    directory.close()
    return records


def _serve(made: Open, begins: Sequence[float], lengths: Sequence[float]) -> list[Record]:
    source = random.Random(made.seed)
    free = [0.0] * made.slots
    records: list[Record] = []
    for step, (rate, begin, length) in enumerate(zip(made.rates, begins, lengths, strict=True), start=1):
        at = begin
        while True:
            at += 1 / rate if made.arrival == "constant" else source.expovariate(rate)
            if at >= begin + length:
                break
            if source.random() >= made.sent:
                continue
            asked = at + made.lag_s
            served = max(asked, heapq.heappop(free))
            done = served + made.service_s
            heapq.heappush(free, done)
            records.append(_record(len(records), step, (asked, served, done), made))
    return records


def _record(number: int, step: int, moments: tuple[float, float, float], made: Open) -> Record:
    asked, served, done = moments
    ttft, e2e = served - asked + made.service_s / 10, done - asked
    return Record(
        id=f"w1-{number}", worker="w1", scenario="open_loop", kind="chat", step=step, step_end=step, repeat=1,
        user=number, conversation=None, turn=None, started_at=asked, status="ok", ttft_s=ttft, ttfa_s=ttft,
        tpot_s=(e2e - ttft) / (TOKENS - 1), e2e_s=e2e, felt_s=e2e, duration_s=e2e, events=TOKENS, output_tokens=TOKENS,
        max_tokens=TOKENS, prompt_tokens=100, token_source="usage", finish_reason="length", schedule_lag_s=made.lag_s,
        attempts=1, flags="waited" if made.waited else None,
    )  # fmt: skip


def _write_seconds(directory: RunDirectory, records: list[Record], end: int) -> None:
    counters: dict[int, Counter[str]] = defaultdict(Counter)
    open_time: dict[int, float] = defaultdict(float)
    for record in records:
        begin, until = record.started_at, record.started_at + (record.e2e_s or 0.0)
        counters[int(begin)]["started"] += 1
        counters[int(until)]["ok"] += 1
        first = begin + (record.ttft_s or 0.0)
        for token in range(TOKENS):
            counters[int(first + token * (until - first) / (TOKENS - 1))]["output_tokens_ok"] += 1
        for second in range(int(begin), int(until) + 1):
            open_time[second] += max(min(second + 1, until) - max(second, begin), 0.0)
    lags = Histogram([0.0005] * 50)
    cells: list[Any] = [lags.count, lags.total, lags.minimum, lags.maximum, lags.encode()]
    for second in range(int(EPOCH), end):
        directory.appender(SECONDS).append([second, "", None, open_time[second], *[0] * len(COUNTERS)])
        directory.appender(SECONDS).append(
            [second, "open_loop", None, None, *(counters[second][name] for name in COUNTERS)]
        )
        directory.appender(HISTOGRAMS).append([1, second, second, "", "lag", *cells, "w1"])
        directory.appender(WORKERS).append([second, "w1", None, open_time[second], 0.0005, 0.0005, 0.2, "running"])
