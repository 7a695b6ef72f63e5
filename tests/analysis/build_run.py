"""A synthetic run directory: closed-loop users against a server whose saturation point is known.

The server has `slots`: up to that many users each answer takes TTFT + tokens x TPOT; beyond it users wait until the
mean cycle is users / slots x that time, so that throughput is flat from `slots` on. Written through the same code
that a real run uses.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadband.histogram import Histogram
from loadband.record import Record
from loadband.rundir import HISTOGRAMS, REQUESTS, SECONDS, STEPS, WORKERS, RunDirectory

EPOCH = 1_790_000_000.0
COUNTERS = (
    "started", "ok", "failed", "cut", "events",
    "output_tokens_ok", "output_tokens_failed", "output_tokens_cut", "prompt_tokens", "abandoned",
)  # fmt: skip


@dataclass(frozen=True)
class Server:
    slots: int = 16
    ttft_s: float = 0.1
    tpot_s: float = 0.02
    tokens: tuple[int, int] = (20, 100)
    think_s: float = 0.0

    @property
    def mean_tokens(self) -> float:
        return sum(self.tokens) / 2

    @property
    def service_s(self) -> float:
        return self.ttft_s + (self.mean_tokens - 1) * self.tpot_s

    def throughput(self, users: int) -> float:
        """Output tokens per second, exactly, without think time."""
        return min(users, self.slots) * self.mean_tokens / self.service_s


@dataclass
class Build:
    """What a test may change of a healthy run."""

    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    server: Server = Server()
    hold_s: float = 40.0
    settle_s: float = 6.0
    repeats: int = 1
    seed: int = 1
    slo: str | None = None
    run: dict[str, Any] = field(default_factory=dict)
    """Replaces keys of `run.json`; a value of None removes one."""
    fail_share: Mapping[int, float] = field(default_factory=dict)
    """Level -> share of its requests that fail fast."""
    failure_class: str = "http_500"
    lag_s: float = 0.0005
    read_lag_s: float | None = None
    cpu: float = 0.2
    users_shown: Mapping[int, int] = field(default_factory=dict)
    """Level -> users that seconds.csv shows instead."""
    change: Callable[[Record], Record | None] = lambda record: record
    """Each record before it is written; None drops it (its tokens too)."""
    scenario: Callable[[random.Random, int], str] = lambda _random, _level: "interactive"


@dataclass
class Built:
    path: Path
    holds: list[tuple[int, int, float, float]]
    """Level, repeat, hold_from, hold_to."""
    records: list[Record]


def build_run(path: Path, build: Build | None = None, **changes: Any) -> Built:
    """Write a run directory and say what is in it."""
    build = replace(build or Build(), **changes)
    climb = [(level, repeat) for repeat in range(1, build.repeats + 1) for level in build.levels]
    length = build.settle_s + build.hold_s
    steps = [(n + 1, repeat, level, EPOCH + n * length) for n, (level, repeat) in enumerate(climb)]
    end = EPOCH + len(steps) * length
    records = [changed for record in _simulate(build, steps, end) if (changed := build.change(record)) is not None]
    directory = RunDirectory.create(path)
    holds = [(level, repeat, at + build.settle_s, at + length) for _, repeat, level, at in steps]
    for (step, repeat, level, at), (_, _, begin, until) in zip(steps, holds, strict=True):
        directory.appender(STEPS).append([step, repeat, level, None, at, at + 1.0, begin, until, "hold"])
    for record in records:
        directory.appender(REQUESTS).append(record.values())
    _write_seconds(directory, build, steps, records, end)
    _write_health(directory, build, steps, records, end)
    run = {
        "tool": "0.1.0", "started": EPOCH, "ended": end + 10, "how": "plan", "host": "http://gpu1:8000", "model": "m",
        "scenarios": ["interactive"], "slo": build.slo, "findings": [],
        "plan": {"levels": list(build.levels), "hold": f"{build.hold_s:g}s", "settle_s": None, "max_hold_s": 600.0},
        "timeouts": {"connect_s": 10.0, "first_token_s": 120.0, "idle_s": 60.0, "total_s": 600.0},
    } | build.run  # fmt: skip
    directory.write_run({key: value for key, value in run.items() if value is not None})
    directory.close()
    return Built(path, holds, records)


def _simulate(build: Build, steps: list[tuple[int, int, int, float]], end: float) -> list[Record]:
    rng = random.Random(build.seed)
    server = build.server
    records: list[Record] = []
    for user in range(max(build.levels)):
        now = EPOCH + rng.random() * server.service_s
        while now < end:
            step, repeat, level, _ = next(s for s in reversed(steps) if s[3] <= now)
            if user >= level:
                later = [s[3] for s in steps if s[3] > now and s[2] > user]
                if not later:
                    break
                now = later[0] + rng.random() * server.service_s
                continue
            record = _request(build, rng, user, now, (step, repeat, level))
            records.append(replace(record, id=f"w1-{len(records)}"))
            now += (record.duration_s or 0.0) + (rng.expovariate(1 / server.think_s) if server.think_s else 0.0)
    return sorted(records, key=lambda record: record.started_at + (record.duration_s or 0.0))


def _request(build: Build, rng: random.Random, user: int, now: float, place: tuple[int, int, int]) -> Record:
    server, (step, repeat, level) = build.server, place
    blank = Record(
        id="", worker="w1", scenario=build.scenario(rng, level), kind=None, step=step, step_end=step, repeat=repeat,
        user=user, conversation=None, turn=None, started_at=now, status="ok", attempts=1,
        think_s=server.think_s or None,
    )  # fmt: skip
    if rng.random() < build.fail_share.get(level, 0.0):
        return replace(
            blank, status="failed", failure_class=build.failure_class, http_status=500, message="boom", duration_s=0.05
        )
    tokens = rng.randint(*server.tokens)
    wait = server.service_s * max(level / server.slots - 1, 0.0) * rng.uniform(0.9, 1.1)
    ttft = server.ttft_s * rng.uniform(0.8, 1.2) + wait
    e2e = ttft + (tokens - 1) * server.tpot_s
    return replace(
        blank, http_status=200, ttft_s=ttft, ttfa_s=ttft, tpot_s=server.tpot_s, e2e_s=e2e, felt_s=e2e,
        duration_s=e2e, itl_p50_s=server.tpot_s, itl_p99_s=server.tpot_s, itl_max_s=server.tpot_s, events=tokens,
        output_tokens=tokens, max_tokens=tokens, prompt_tokens=100, token_source="usage", finish_reason="length",
    )  # fmt: skip


def _write_seconds(
    directory: RunDirectory, build: Build, steps: list[tuple[int, int, int, float]], records: list[Record], end: float
) -> None:
    counters: dict[tuple[int, str], dict[str, float]] = defaultdict(lambda: dict.fromkeys(COUNTERS, 0.0))
    open_time: dict[int, float] = defaultdict(float)
    for record in records:
        begin, until = record.started_at, record.started_at + (record.duration_s or 0.0)
        counters[int(begin), record.scenario]["started"] += 1
        if record.status in ("ok", "failed", "cut"):
            counters[int(until), record.scenario][record.status] += 1
        for second in range(int(begin), int(until) + 1):
            open_time[second] += max(min(second + 1, until) - max(second, begin), 0.0)
        if not record.output_tokens or record.ttft_s is None:
            continue
        counters[int(begin + record.ttft_s), record.scenario]["prompt_tokens"] += record.prompt_tokens or 0
        gap = (until - begin - record.ttft_s) / max(record.output_tokens - 1, 1)
        for token in range(record.output_tokens):
            second = int(begin + record.ttft_s + token * gap)
            counters[second, record.scenario][f"output_tokens_{record.status}"] += 1
    appender = directory.appender(SECONDS)
    rows: dict[int, list[tuple[str, dict[str, float]]]] = defaultdict(list)
    for (second, scenario), values in counters.items():
        rows[second].append((scenario, values))
    for second in range(int(EPOCH), int(end)):
        level = next(s[2] for s in reversed(steps) if s[3] <= second)
        shown = build.users_shown.get(level, level)
        appender.append([second, "", shown, open_time[second], *[0] * len(COUNTERS)])
        for scenario, values in rows.get(second, []):
            appender.append([second, scenario, None, None, *[int(values[name]) for name in COUNTERS]])


def _write_health(
    directory: RunDirectory, build: Build, steps: list[tuple[int, int, int, float]], records: list[Record], end: float
) -> None:
    gaps: dict[tuple[int, str], Histogram] = defaultdict(Histogram)
    for record in records:
        if record.status == "ok" and record.itl_p50_s and record.events and record.events > 1:
            until = int(record.started_at + (record.duration_s or 0.0))
            gaps[until, record.scenario].add(record.itl_p50_s, record.events - 1)
    table, workers = directory.appender(HISTOGRAMS), directory.appender(WORKERS)
    for (second, scenario), histogram in sorted(gaps.items()):
        table.append([1, second, second, scenario, "itl", *_cells(histogram), "w1"])
    for second in range(int(EPOCH), int(end)):
        level = next(s[2] for s in reversed(steps) if s[3] <= second)
        lags = Histogram([build.lag_s] * 50)
        table.append([1, second, second, "", "lag", *_cells(lags), "w1"])
        if build.read_lag_s is not None:
            table.append([1, second, second, "", "read_lag", *_cells(Histogram([build.read_lag_s] * 50)), "w1"])
        workers.append([second, "w1", level, float(level), build.lag_s, build.lag_s, build.cpu, "running"])


def _cells(histogram: Histogram) -> list[Any]:
    return [histogram.count, histogram.total, histogram.minimum, histogram.maximum, histogram.encode()]
