"""The same levels measured again and again: curves and SLO values with the noise that was seen.

Model. With repeats, ln X and ln R of one holding scatter around their level by one covariance, pooled over all
levels; a replicate draws its size from the scaled inverse chi-square that so many degrees of freedom leave, then a
normal deviate for each level, smaller by the root of its repeats. So few repeats widen the interval as a t interval
is widened. The noise of a latency of the SLO is pooled in the same way; a failure rate has that of its counts.
Repeats never count as closer than `noise_floor`. Without repeats the noise of each hold stands in (`hold_noise`),
which is within-run only. Each replicate is smoothed as the measured curve is. Everything is drawn by the level's own
seed, so the order of rows and levels added beyond the end change nothing.

Assumptions and failure modes. One relative noise at all levels; repeats that are alike because the same prompts came in
the same order; drift between repeats is counted as noise, drift along one climb is not seen (see `book_end`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadband.analysis.curve import SMALLEST_R_SHARE, Curve, repeats_of, smooth
from loadband.analysis.level import Level, log_value
from loadband.analysis.monotone import Floats
from loadband.analysis.thresholds import Thresholds
from loadband.slo import SHARES, Limit

SEED = 20_261_102
FEWEST_DEGREES = 4
"""Of freedom, pooled over the levels, below which repeats say nothing about noise."""
Values = Mapping[tuple[int, float], Floats]


@dataclass(frozen=True, slots=True)
class Replicates:
    """Noise of the measured levels."""

    source: str
    """`repeats` or `within_run`."""
    x: Floats
    """Fitted throughput (replicates, levels of the curve)."""
    e2e_s: Floats
    values: Values
    """(Number of an SLO limit, users) -> replicate minus measured, logarithms."""
    one_hold: Mapping[float, Floats]
    """Users -> ln X of one holding, replicate minus measured."""
    too_short: tuple[float, ...] = ()
    """Users whose hold is too short for its noise to be trusted."""

    @property
    def count(self) -> int:
        """How many."""
        return len(self.x)

    def curves(self, curve: Curve) -> Iterator[Curve]:
        """The measured curve as each replicate has it."""
        for x, e2e_s in zip(self.x, self.e2e_s, strict=True):
            yield replace(curve, x=x, e2e_s=e2e_s)


def replicates_of(
    levels: Sequence[Level], curve: Curve, slo: tuple[Limit, ...], limits: Thresholds
) -> tuple[Replicates | None, str]:
    """Replicates of a curve, or None and why there are none."""
    groups = repeats_of(levels, curve.metric)
    if sum(len(group) - 1 for group in groups.values()) >= FEWEST_DEGREES:
        return _from_repeats(groups, curve, slo, limits), ""
    lacking = [users for users, group in groups.items() if any(level.noise is None for level in group)]
    if len(lacking) == len(groups):
        return None, "one run, and nothing tells its seconds"
    if lacking:
        return None, f"the hold at {', '.join(f'{users:g}' for users in lacking)} users is too short to be cut"
    return _within_run(groups, curve, slo, limits), ""


def _within_run(
    groups: Mapping[float, list[Level]], curve: Curve, slo: tuple[Limit, ...], limits: Thresholds
) -> Replicates:
    noises = {users: [level.noise for level in group if level.noise] for users, group in groups.items()}
    one_hold = {users: each[0].x[curve.metric] for users, each in noises.items()}
    x = np.array([np.mean([hold.x[curve.metric] for hold in each], axis=0) for each in noises.values()]).T
    e2e = np.array([np.mean([hold.e2e for hold in each], axis=0) for each in noises.values()]).T
    values = {
        (place, users): np.mean([hold.values[place] for hold in each], axis=0)
        for users, each in noises.items()
        for place in range(len(slo))
    }
    short = tuple(users for users, each in noises.items() if min(hold.rounds for hold in each) < limits.noise_e2e)
    return Replicates("within_run", *_smoothed(groups, curve, x, e2e), values, one_hold, short)


def _from_repeats(
    groups: Mapping[float, list[Level]], curve: Curve, slo: tuple[Limit, ...], limits: Thresholds
) -> Replicates:
    columns = [{users: [_log_x(level, curve) for level in group] for users, group in groups.items()}]
    if curve.e2e_source == "measured":
        columns.append(
            {users: [math.log(level.numbers.e2e_mean_s or 1.0) for level in group] for users, group in groups.items()}
        )
    drawn = _draw(columns, 0, limits)
    x = np.array([drawn[0, users] / math.sqrt(len(group)) for users, group in groups.items()]).T
    last = len(columns) - 1
    e2e = np.array([drawn[last, users] / math.sqrt(len(group)) for users, group in groups.items()]).T
    values: dict[tuple[int, float], Floats] = {}
    for place, limit in enumerate(slo):
        if limit.metric in SHARES:
            values |= {(place, users): _share(group, place, users, limits) for users, group in groups.items()}
            continue
        logs = {users: _log_values(group, place) for users, group in groups.items()}
        scatter = _draw([logs], place + 1, limits)
        values |= {
            (place, users): scatter[0, users] / math.sqrt(max(len(logs[users]), 1)) for users in groups
        }  # fmt: skip
    one_hold = {users: drawn[0, users] for users in groups}
    return Replicates("repeats", *_smoothed(groups, curve, x, e2e), values, one_hold)


def _log_x(level: Level, curve: Curve) -> float:
    value = level.numbers.served_req_s if curve.metric == "req_s" else level.numbers.get(curve.metric)
    return math.log(value or 1.0)


def _log_values(group: Sequence[Level], place: int) -> list[float]:
    values = [level.measured[place].value for level in group if place < len(level.measured)]
    return [log_value(value) for value in values if value is not None]


def _share(group: Sequence[Level], place: int, users: float, limits: Thresholds) -> Floats:
    """A failure rate: what rates its failures allow for (Jeffreys), against the measured one."""
    n, misses = counted(group, place)
    draw = np.random.default_rng([SEED, place + 1, *_key(users)])
    if not n:
        return np.zeros(limits.replicate_count)
    rates: Floats = draw.beta(misses + 0.5, n - misses + 0.5, size=limits.replicate_count)
    return np.log(rates) - log_value(misses / n)


def counted(group: Sequence[Level], place: int) -> tuple[float, float]:
    """Requests behind a value of the SLO over all repeats of a level, and those that miss it; zeros when unknown."""
    known = [level.measured[place] for level in group if place < len(level.measured)]
    if any(each.n is None or each.misses is None for each in known):
        return 0.0, 0.0
    return sum(each.n or 0.0 for each in known), sum(each.misses or 0.0 for each in known)


def _draw(columns: Sequence[Mapping[float, Sequence[float]]], stream: int, limits: Thresholds) -> Values:
    """(Column, users) -> deviations of one holding; the columns go together as they did in the repeats."""
    count = limits.replicate_count
    groups = [np.array([column[users] for column in columns]) for users in columns[0]]
    residuals = np.concatenate([group - group.mean(axis=1, keepdims=True) for group in groups if group.size], axis=1)
    degrees = max(residuals.shape[1] - sum(group.size > 0 for group in groups), 1)
    covariance = residuals @ residuals.T / degrees
    deviation = np.sqrt(np.diag(covariance))
    floored = np.maximum(deviation, limits.noise_floor)
    together = covariance[0, -1] / (deviation[0] * deviation[-1]) if deviation[0] * deviation[-1] > 0 else 0.0
    scale = np.sqrt(degrees / np.random.default_rng([SEED, stream]).chisquare(degrees, size=count))
    drawn: dict[tuple[int, float], Floats] = {}
    for users in columns[0]:
        normal = np.random.default_rng([SEED, stream, *_key(users)]).standard_normal((2, count)) * scale
        drawn[0, users] = floored[0] * normal[0]
        if len(columns) > 1:
            drawn[1, users] = floored[1] * (together * normal[0] + math.sqrt(max(1 - together**2, 0.0)) * normal[1])
    return drawn


def _key(users: float) -> tuple[int, int]:
    """A number of users as a seed."""
    numerator, denominator = float(users).as_integer_ratio()
    return numerator, denominator


def _smoothed(
    groups: Mapping[float, list[Level]], curve: Curve, x: Floats, e2e: Floats
) -> tuple[Floats, Floats]:  # fmt: skip
    """Fitted throughput and response time of each replicate, from deviations (replicates, levels)."""
    log_x = np.log([point.x for point in curve.points])
    log_e2e = np.log([point.e2e_s for point in curve.points]) + e2e
    if curve.e2e_source == "constant_length":
        log_e2e = np.log(curve.users) - log_x - x
    elif curve.e2e_source == "response_time_law":
        pause = np.array([np.mean([level.think_s or 0.0 for level in group]) for group in groups.values()])
        cycle = (np.exp(np.log([point.e2e_s for point in curve.points])) + pause) * np.exp(-x)
        log_e2e = np.log(np.maximum(cycle - pause, SMALLEST_R_SHARE * cycle))
    return smooth(curve.points, log_x + x, log_e2e)
