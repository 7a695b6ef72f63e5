"""One level held k times: within what does the next hold lie, and is this a place to measure in?

Model. The values of the holds are independent draws of one normal law of unknown mean and deviation. The next one then
lies, with 95 %, within mean +- t s sqrt(1 + 1/k), s being the standard deviation of the k (divided by k - 1) and t the
97.5 % quantile with k - 1 degrees: +- 4.97 s for three. It is an interval for one value, not for the mean: what a run
after a change must leave to count, and what a gate can be set by.

Fails when holds are not alike for a reason that goes on (a machine that warms up): s then holds the trend, the interval
is wide, and the next hold lies at its edge. Two holds give +- 15.6 s: right, and of little use.
Reference: G. J. Hahn, W. Q. Meeker, Statistical Intervals (1991), 4.3.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from loadband.analysis.curve import METRICS, throughput
from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds

TOLD = ("req_s", "ttft_p50_s", "ttft_p95_s", "tpot_p50_s", "e2e_mean_s", "e2e_p95_s")
"""Columns of the step table, beside that of throughput."""

FEWEST_HOLDS = 2
CERTAIN = 0.975

USUAL = (
    "who else uses the server, its accelerators or this machine: run it when nobody does",
    "clocks, temperature and power limits of the accelerators (nvidia-smi -q -d CLOCK,PERFORMANCE): fix the clocks",
    "prefix caching and sharing of prompts: --nonce run, and --reset-cache between the holds",
    "the way to the server (python -m loadband doctor): measure from a machine beside it",
    "start-up work of the server (compiling, autotuning): --warmup 60s",
)
"""What makes equal holds differ, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """One number over the holds."""

    name: str
    """Its column in the step table."""
    mean: float
    deviation: float
    """Standard deviation between the holds."""
    half: float
    """Half the width of the interval of the next one."""

    @property
    def cv(self) -> float:
        """Coefficient of variation."""
        return self.deviation / self.mean if self.mean else 0.0

    @property
    def low(self) -> float:
        """Lower end; no time or rate lies below 0."""
        return max(self.mean - self.half, 0.0)

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a run with `--baseline` says."""

    users: float
    asked: int
    """Holds that were asked for."""
    holds: int
    """Valid ones."""
    factor: float | None
    """Half width of an interval in standard deviations; None of fewer than two holds."""
    numbers: tuple[Scatter, ...]
    exceeded: tuple[str, ...]
    """What varies too much, one sentence each."""
    look_at: tuple[str, ...]
    """Where to look for the reason; empty where nothing varies too much."""

    @property
    def stands(self) -> bool:
        """Whether all holds are there, and alike enough to measure by."""
        return self.holds >= max(self.asked, FEWEST_HOLDS) and not self.exceeded


def half_width(holds: int) -> float:
    """Half the interval of the next value, in standard deviations of so many: t sqrt(1 + 1/k)."""
    return float(stdtrit(holds - 1, CERTAIN)) * math.sqrt(1 + 1 / holds)


def baseline_of(levels: Sequence[Level], metric: str, asked: int, limits: Thresholds) -> Baseline | None:
    """What the holds of one level say; None where there are none. `metric`: the column of throughput."""
    if not levels:
        return None
    valid = [level for level in levels if level.grade.valid]
    if len(valid) < FEWEST_HOLDS:
        return Baseline(levels[0].users, asked, len(valid), None, (), (), ())
    factor = half_width(len(valid))
    names = [metric, *(name for name in TOLD if name != metric)]
    numbers = tuple(each for name in names if (each := _scatter(name, valid, factor)) is not None)
    exceeded = _exceeded(numbers, metric, limits)
    look_at = (*_seen(valid), *USUAL) if exceeded else ()
    return Baseline(levels[0].users, asked, len(valid), factor, numbers, exceeded, look_at)


def _scatter(name: str, valid: Sequence[Level], factor: float) -> Scatter | None:
    """None where a hold lacks the number."""
    values = [throughput(level, name) if name in METRICS else level.numbers.get(name) for level in valid]
    known = [value for value in values if value is not None]
    if len(known) < len(valid):
        return None
    deviation = statistics.stdev(known)
    return Scatter(name, statistics.fmean(known), deviation, factor * deviation)


def _exceeded(numbers: Sequence[Scatter], metric: str, limits: Thresholds) -> tuple[str, ...]:
    allowed = ((metric, "throughput", limits.baseline_x_cv), ("ttft_p95_s", "TTFT p95", limits.baseline_ttft_cv))
    return tuple(
        f"{word} varies by {each.cv:.1%} between equal holds ({limit:.0%} is allowed)"
        for name, word, limit in allowed
        for each in numbers
        if each.name == name and each.cv > limit
    )


def _seen(valid: Sequence[Level]) -> tuple[str, ...]:
    """Reasons that stand in the run itself."""
    marks = {mark for level in valid for mark in level.grade.marks}
    told = (
        (
            {"short", "few_rounds", "few_for_p95"},
            "the holds, first of all: they are short; --hold longer evens them out",
        ),
        ({"drifting"}, "the holds, first of all: the server drifts within one; --warmup longer, or find what slows it"),
        ({"in_waves"}, "the users, first of all: they march in waves; spread --max-tokens or --think-time"),
        ({"mix"}, "the mix, first of all: the holds did different work; --hold longer evens it out"),
    )
    return tuple(sentence for words, sentence in told if words & marks)
