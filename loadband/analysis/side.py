"""One side of a comparison: a verdict, the conditions behind it, how noisy each of its levels is.

Knows: what of a run directory a comparison needs. Must not know: the other side.

A table or another tool's result has a verdict and no conditions of its own; what of them its numbers give away (tokens
of an answer, think time) stands in `traces`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from loadband.analysis import windows
from loadband.analysis.analyse import Analysis, analyse_files
from loadband.analysis.conditions import Conditions, conditions_of
from loadband.analysis.curve import throughput
from loadband.analysis.hold_noise import blocks_of
from loadband.analysis.level import Level
from loadband.analysis.measure import HoldData
from loadband.analysis.run_files import RunFiles, read_run_files
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Verdict
from loadband.analysis.windows import steps_of

LATENCIES: tuple[tuple[str, str, float | None], ...] = (
    ("ttft_p50_s", "ttft_s", 50.0),
    ("ttft_p95_s", "ttft_s", 95.0),
    ("tpot_p50_s", "tpot_s", 50.0),
    ("e2e_mean_s", "e2e_s", None),
    ("e2e_p95_s", "e2e_s", 95.0),
)
"""Column of the step table, column of `requests.csv`, percentile or None for the mean."""
RATES = ("output_tok_s", "req_s")
FEWEST_REQUESTS = 20
"""For the noise of a latency."""
COMPARED = (*RATES, *(column for column, _, _ in LATENCIES), "error_rate")
"""What is compared at each level, in the order of every output."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative standard error of one number, and its degrees of freedom."""

    error: float
    degrees: float


@dataclass(frozen=True, slots=True)
class Side:
    """A run, or somebody's table."""

    name: str
    verdict: Verdict
    conditions: Conditions | None = None
    noise: Mapping[int, Mapping[str, Noise]] = field(default_factory=dict)
    """Place of a level in the verdict -> column -> noise within the run."""
    traces: Mapping[str, float] = field(default_factory=dict)
    """Of a table: what its own numbers tell of the conditions."""

    def levels_at(self, users: float) -> list[tuple[int, Level]]:
        """Valid levels of that many users, with their places."""
        return [
            (place, level)
            for place, level in enumerate(self.verdict.levels)
            if level.grade.valid and level.users == users
        ]

    def tested(self) -> list[float]:
        """Users of the valid levels, rising."""
        return sorted({level.users for level in self.verdict.levels if level.grade.valid and level.users})


def value_of(level: Level, metric: str) -> float | None:
    """A compared number of a level; requests/s count only successes."""
    return throughput(level, metric) if metric == "req_s" else level.numbers.get(metric)


def side_of_run(path: Path, name: str, limits: Thresholds) -> Side:
    """Read a run directory. Raises UsageError."""
    files = read_run_files(path)
    verdict = analyse_files(files, None, limits).verdict
    return Side(name, verdict, conditions_of(files.run, files.requests), _noise(files, verdict))


def side_of_results(analysis: Analysis, name: str) -> Side:
    """A side without conditions."""
    return Side(name, analysis.verdict, traces=traces_of(analysis.verdict))


def traces_of(verdict: Verdict) -> dict[str, float]:
    """Medians over the valid levels: tokens of a prompt and of an answer, seconds of think time."""
    found: dict[str, list[float]] = {"prompt_length": [], "answer_length": [], "think_time": []}
    for level in verdict.levels:
        numbers, served = level.numbers, level.numbers.served_req_s
        if not level.grade.valid or not served:
            continue
        for name, rate in (("prompt_length", numbers.prompt_tok_s), ("answer_length", numbers.output_tok_s)):
            if rate:
                found[name].append(rate / served)
        if numbers.e2e_mean_s and level.users:
            found["think_time"].append(max(level.users / served - numbers.e2e_mean_s, 0.0))
    return {name: float(np.median(values)) for name, values in found.items() if values}


def _noise(files: RunFiles, verdict: Verdict) -> dict[int, dict[str, Noise]]:
    """Of every valid level whose hold is long enough to be trusted."""
    requests, seconds = windows.with_end(files.requests), windows.by_second(files.seconds)
    last = float(seconds["second"].max()) + 1 if len(seconds) else None
    holds = {step.step: step.hold for step in steps_of(files.steps, last)}
    noise = {}
    for place, level in enumerate(verdict.levels):
        hold = holds.get(level.numbers.step or 0)
        if not level.grade.valid or hold is None or level.noise is None:
            continue
        if level.noise.rounds >= verdict.thresholds.noise_e2e:
            inside = windows.seconds_inside(seconds, hold)
            data = HoldData(hold=hold, ended=windows.ended_inside(requests, hold), seconds=inside, itl={})
            noise[place] = _level_noise(level, data, verdict.thresholds)
    return noise


def _level_noise(level: Level, data: HoldData, limits: Thresholds) -> dict[str, Noise]:
    """Replicates are as wide as a t interval already; nine degrees more are for the tails of several levels."""
    blocks = blocks_of(data, level.numbers.e2e_mean_s, limits, level.numbers.step or 0)
    if blocks is None or level.noise is None:
        return {}
    drawn = {rate: level.noise.x[rate] for rate in RATES}
    ok = data.ok
    for name, column, percent in LATENCIES:
        known = ok[ok[column].notna()]
        values, at = windows.numbers(known, column), blocks.places(known)
        if values.size >= FEWEST_REQUESTS:
            drawn[name] = blocks.mean(values, at) if percent is None else blocks.percentile(values, at, percent)
    return {
        name: Noise(max(float(each.std()), limits.noise_floor), limits.noise_blocks - 1) for name, each in drawn.items()
    }
