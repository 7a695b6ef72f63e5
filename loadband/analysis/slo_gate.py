"""SLO: up to how many users it holds (N_SLO), and whether a gate is met.

*N_SLO.* Each limit has a margin at each level, ln(limit / measured), positive when kept; it should only shrink with
users, so it is smoothed isotonically, made continuous with PCHIP over ln N, and N_SLO is where it crosses 0. A margin
beyond +-3 is as good as infinite. Lower limits on a rate (`output_tok_s>=`) say how much load is needed, not how much
is too much: they gate, but set no N_SLO.

*Gate.* A percentile limit is kept when the share of misses (failures among them) fits the percentile. With fewer
requests than a percentile needs, the share's Wilson interval must lie on one side; across it is `undecided`, which is
never a pass. A failure rate is missed only beyond doubt, met when the measured one keeps the limit.
Reference: F. N. Fritsch, R. E. Carlson, SIAM J. Numer. Anal. 17 (1980) 238 (PCHIP).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression

from loadband.analysis.bounds import wilson
from loadband.analysis.level import Level, Measured
from loadband.analysis.thresholds import Thresholds
from loadband.slo import Limit

MARGIN_BOUND = 3.0
GONE = ("outage", "collapse")
"""Evidence of a server that served nothing."""
MET, MISSED, UNDECIDED = "met", "missed", "undecided"


@dataclass(frozen=True, slots=True)
class SloResult:
    """One limit: where it ends, and how the gate judged it."""

    name: str
    n_slo: float | None
    """Users up to which it holds; None when it holds at every level, at none, or sets no upper end."""
    n_slo_status: str
    """`found not_reached` (kept up to the last level) `none` (kept nowhere) `not_checked undecided`."""
    judged_at: float | None
    result: str
    """`met missed undecided`."""
    reason: str


def slo_results(levels: Sequence[Level], slo: tuple[Limit, ...], limits: Thresholds) -> tuple[SloResult, ...]:
    """Each limit with its N_SLO and the gate's result."""
    free = _gate_level([level for level in levels if level.grade.valid], slo, limits)
    results = []
    for place, limit in enumerate(slo):
        n_slo, status = upper_end([level for level in levels if level.grade.valid], place, limit)
        at, result, reason = _pinned(levels, place, limit, limits) if limit.users else _free(free, place, limits)
        results.append(SloResult(str(limit), n_slo, status, at, result, reason))
    return tuple(results)


def upper_end(levels: Sequence[Level], place: int, limit: Limit) -> tuple[float | None, str]:
    """N_SLO of the limit number `place` of each level's `measured`, and its status."""
    if limit.operator == ">=":
        return None, "not_checked"
    margins: dict[float, list[float]] = {}
    for level in levels:
        measured = level.measured[place]
        if measured.value is not None and measured.judgeable and level.users:
            margins.setdefault(level.users, []).append(_margin(limit, measured.value))
    users = sorted(margins)
    if not users:
        return None, "undecided"
    raw = np.array([np.mean(margins[each]) for each in users], dtype=np.float64)
    smooth = isotonic_regression(raw, increasing=False).x
    if smooth[0] < 0:
        return None, "none"
    if smooth[-1] >= 0:
        return None, "not_reached"
    return _root(np.log(users), smooth), "found"


def _margin(limit: Limit, value: float) -> float:
    if value <= 0:
        return MARGIN_BOUND
    if limit.value <= 0 or math.isinf(value):
        return -MARGIN_BOUND
    return float(np.clip(math.log(limit.value / value), -MARGIN_BOUND, MARGIN_BOUND))


def _root(log_users: NDArray[np.float64], margins: NDArray[np.float64]) -> float:
    """The largest N whose margin is not negative; the curve only falls, so bisection finds it."""
    curve = PchipInterpolator(log_users, margins)
    low, high = float(log_users[0]), float(log_users[-1])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(curve(middle)) >= 0 else (low, middle)
    return math.exp(low)


def judge(measured: Measured, limits: Thresholds) -> tuple[str, str]:
    """`met`, `missed` or `undecided` of one limit at one level, and why."""
    limit, value, n = measured.limit, measured.value, measured.n
    if value is None:
        return UNDECIDED, f"{limit.quantity} was not measured"
    text = f"{limit.quantity} = {value:.4g}" + (f" (n = {n:.0f})" if n is not None else "")
    if not measured.judgeable:
        return UNDECIDED, f"{text}, but users marched in waves"
    if not _resolved(measured, limits):
        return UNDECIDED, f"{text}: too few requests to tell"
    return (MET if limit.holds(value) else MISSED), text


def _resolved(measured: Measured, limits: Thresholds) -> bool:
    """Whether there are requests enough to tell the measured value from the limit."""
    limit, n = measured.limit, measured.n
    if measured.misses is None or not n or measured.value is None:
        return True
    low, high = wilson(measured.misses, n)
    if limit.metric == "error_rate":
        return limit.holds(measured.value) or limit.operator == ">=" or low > limit.value
    allowed = 1 - (limit.percentile or 0.0) / 100
    needed = limits.p99_requests if allowed <= 0.01 + 1e-9 else limits.p95_requests
    return n >= needed or low > allowed or high <= allowed


def _gate_level(levels: Sequence[Level], slo: tuple[Limit, ...], limits: Thresholds) -> Level | None:
    """The level that keeps most of the limits without `@`; of equals the highest."""

    def worth(level: Level) -> tuple[int, int, float]:
        verdicts = [judge(each, limits)[0] for each in level.measured if not each.limit.users]
        return -verdicts.count(MISSED), -verdicts.count(UNDECIDED), level.users

    return max(levels, key=worth, default=None) if any(not limit.users for limit in slo) else None


def _free(level: Level | None, place: int, limits: Thresholds) -> tuple[float | None, str, str]:
    if level is None:
        return None, UNDECIDED, "no valid level to judge it at"
    result, reason = judge(level.measured[place], limits)
    return level.users, result, reason


def _pinned(levels: Sequence[Level], place: int, limit: Limit, limits: Thresholds) -> tuple[float | None, str, str]:
    """A limit with `@users`: judged there and nowhere else; of repeats the worst counts."""
    there = [level for level in levels if level.users == limit.users]
    if not there:
        return None, UNDECIDED, f"{limit.users:g} users were not a level of this run"
    if any(level.grade.evidence and level.grade.evidence.mode in GONE for level in there):
        return limit.users, MISSED, "the target failed there"
    sound = [level for level in there if level.grade.valid]
    if not sound:
        return limit.users, UNDECIDED, f"the level is not valid: {'; '.join(there[0].grade.faults)}"
    verdicts = [judge(level.measured[place], limits) for level in sound]
    worst = min(verdicts, key=lambda verdict: (MISSED, UNDECIDED, MET).index(verdict[0]))
    return limit.users, *worst
