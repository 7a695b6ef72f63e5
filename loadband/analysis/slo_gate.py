"""SLO: whether a gate is met, from the bounds of what was measured. Up to how many users it holds: see `slo_end`.

A percentile limit is kept when the share of misses (failures among them) fits the percentile: met when its upper 95 %
bound does, missed when its lower bound does not, else `undecided`, which is never a pass. A mean, and a rate of
tokens, is judged by the 5-95 % interval of its hold in the same way; where none is known (a table) by its value. A
failure rate is missed only beyond doubt, met when the measured one keeps the limit: failures are rare, and to prove
fewer than 1 % takes 300 requests without one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadband.analysis.bounds import middle_90, wilson
from loadband.analysis.level import Level, Measured
from loadband.analysis.monotone import Floats
from loadband.analysis.replicates import Replicates, counted
from loadband.analysis.slo_end import End, upper_end
from loadband.analysis.thresholds import Thresholds
from loadband.slo import SHARES, Limit

GONE = ("outage", "collapse")
"""Evidence of a server that served nothing."""
MET, MISSED, UNDECIDED = "met", "missed", "undecided"


@dataclass(frozen=True, slots=True)
class SloResult:
    """One limit: where it ends, and how the gate judged it."""

    name: str
    end: End
    """N_SLO."""
    judged_at: float | None
    result: str
    """`met missed undecided`."""
    reason: str

    @property
    def n_slo(self) -> float | None:
        """Users up to which it holds; None when it holds at every level, at none, or sets no upper end."""
        return self.end.users

    @property
    def n_slo_status(self) -> str:
        """The status of N_SLO."""
        return self.end.status


def slo_results(
    levels: Sequence[Level], slo: tuple[Limit, ...], limits: Thresholds, noise: Replicates | None = None
) -> tuple[SloResult, ...]:
    """Each limit with its N_SLO and the gate's result."""
    free = _gate_level([level for level in levels if level.grade.valid], slo, limits)
    results = []
    for place, limit in enumerate(slo):
        end = upper_end(levels, place, limit, limits, noise)
        at, result, reason = _pinned(levels, place, limit, limits) if limit.users else _free(free, place, limits)
        results.append(SloResult(str(limit), end, at, result, reason))
    return tuple(results)


def judge(measured: Measured, limits: Thresholds, scatter: Floats | None = None) -> tuple[str, str]:
    """`met`, `missed` or `undecided` of one limit at one level, and why; `scatter`: replicates of ln value."""
    limit, value, n = measured.limit, measured.value, measured.n
    if value is None:
        nothing = f"no request of the scenario {limit.scenario} ended there"
        return UNDECIDED, nothing if measured.absent else f"{limit.quantity} was not measured"
    text = f"{limit.quantity} = {limit.told(value)}" + (f" (n = {n:.0f})" if n is not None else "")
    if not measured.judgeable:
        return UNDECIDED, f"{text}, but users marched in waves"
    if measured.misses is None or not n:
        return _by_interval(limit, value, text, scatter)
    low, high = wilson(measured.misses, n)
    few = f"{text}: too few requests to tell"
    if limit.metric in SHARES:
        sure = limit.holds(value) or limit.operator == ">=" or low > limit.value
        return (MET if limit.holds(value) else MISSED, text) if sure else (UNDECIDED, few)
    allowed = 1 - (limit.percentile or 0.0) / 100
    if high <= allowed or low > allowed:
        return (MET if high <= allowed else MISSED), text
    needed = limits.p99_requests if allowed <= 0.01 + 1e-9 else limits.p95_requests
    near = f"{text}; {measured.misses:.0f} are beyond the limit, too near to {allowed:.3g} of all to tell"
    return UNDECIDED, few if n < needed else near


def _by_interval(limit: Limit, value: float, text: str, scatter: Floats | None) -> tuple[str, str]:
    """A quantity that no single request keeps or misses: both ends of its interval must lie on one side."""
    ends = [value]
    if scatter is not None and 0 < value < np.inf:
        ends = [value * float(np.exp(end)) for end in middle_90(scatter)]
    kept = {limit.holds(end) for end in ends}
    if len(kept) > 1:
        apart = f"from {limit.told(ends[0])} to {limit.told(ends[1])} (5–95 %)"
        return UNDECIDED, f"{text}, {apart}: too near to the limit to tell"
    return (MET if kept.pop() else MISSED), text


def _at(level: Level, place: int, limits: Thresholds) -> tuple[str, str]:
    return judge(level.measured[place], limits, level.noise.values[place] if level.noise else None)


def _gate_level(levels: Sequence[Level], slo: tuple[Limit, ...], limits: Thresholds) -> Level | None:
    """The level that keeps most of the limits without `@`; of equals the highest."""
    free = [place for place, limit in enumerate(slo) if not limit.users]

    def worth(level: Level) -> tuple[int, int, float]:
        verdicts = [_at(level, place, limits)[0] for place in free]
        return -verdicts.count(MISSED), -verdicts.count(UNDECIDED), level.users

    return max(levels, key=worth, default=None) if free else None


def _free(level: Level | None, place: int, limits: Thresholds) -> tuple[float | None, str, str]:
    if level is None:
        return None, UNDECIDED, "no valid level to judge it at"
    return level.users, *_at(level, place, limits)


def _pinned(levels: Sequence[Level], place: int, limit: Limit, limits: Thresholds) -> tuple[float | None, str, str]:
    """A limit with `@users`: judged there and nowhere else; of repeats the worst counts, doubtful ones together."""
    there = [level for level in levels if level.users == limit.users]
    if not there:
        return None, UNDECIDED, f"{limit.users:g} users were not a level of this run"
    if any(level.grade.evidence and level.grade.evidence.mode in GONE for level in there):
        return limit.users, MISSED, "the target failed there"
    sound = [level for level in there if level.grade.valid]
    if not sound:
        return limit.users, UNDECIDED, f"the level is not valid: {'; '.join(there[0].grade.faults)}"
    verdicts = [_at(level, place, limits) for level in sound]
    worst = min(verdicts, key=lambda verdict: (MISSED, UNDECIDED, MET).index(verdict[0]))
    n, misses = counted(sound, place)
    if worst[0] == UNDECIDED and len(sound) > 1 and n and all(level.measured[place].judgeable for level in sound):
        highest = max(sound, key=lambda level: level.measured[place].value or 0.0).measured[place]
        together = judge(replace(highest, n=n, misses=misses), limits)
        worst = together if together[0] != UNDECIDED else worst
    return limit.users, *worst
