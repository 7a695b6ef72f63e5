"""D1: the throughput curve and the response time behind it.

Model. More users never take throughput away until the server saturates, and never add any beyond its peak: ln X(N) is
unimodal, and its fit the least-squares unimodal sequence. Logarithms, since the noise of a rate is relative. Weights
are the numbers of repeats: SE of a level = pooled CV / sqrt(repeats); a variance of two values would weigh by chance.
Response time R is isotonic upwards. Between levels both are straight in (ln N, ln X); nothing is extrapolated.

R is the mean E2E. Where a table has none: N / X_req - Z (the response-time law), else N / X, the time that N users
share for one unit of work, which assumes answers of constant length. A median is never used for it.

Failure modes. A single level far too high drags its neighbours up; two levels give no curvature; a grid that skips
the knee draws a straight line over it (see `regions`). References: see `monotone`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadband.analysis.level import Level
from loadband.analysis.monotone import Floats, rising, unimodal

METRICS = ("output_tok_s", "total_tok_s", "req_s")
"""What X may be, best first; the first that most usable levels have."""

SMALLEST_R_SHARE = 0.05
"""N / X_req - Z is a difference of two measured times: kept above this share of the first."""


@dataclass(frozen=True, slots=True)
class Point:
    """All repeats of one level."""

    users: float
    x: float
    """Geometric mean of the repeats."""
    e2e_s: float
    repeats: int
    in_flight: float | None
    failed: float | None
    judged: float | None
    error_rate: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Fitted throughput and response time at the tested levels, rising in users."""

    metric: str
    points: tuple[Point, ...]
    users: Floats
    x: Floats
    e2e_s: Floats
    cv: float | None
    """Pooled standard deviation of ln X between repeats; None without repeats."""
    e2e_source: str
    """`measured`, `response_time_law` or `constant_length`."""

    def x_at(self, users: float) -> float:
        """Fitted throughput between the first and last level."""
        return _at(self.users, self.x, users)

    def log_power(self, users: Sequence[float], weight: float) -> list[float]:
        """The logarithm of P = X^weight / R at each. Reference: L. Kleinrock, ICC 1979, 43.1.1 (weight 1)."""
        at, tested = np.log(users), np.log(self.users)
        power: list[float] = (
            weight * np.interp(at, tested, np.log(self.x)) - np.interp(at, tested, np.log(self.e2e_s))
        ).tolist()
        return power

    def log_power_at(self, users: float, weight: float) -> float:
        """The same at one number of users."""
        return self.log_power([users], weight)[0]

    def upto(self, users: float) -> "Curve":
        """The same fit without the levels above."""
        kept = int(np.searchsorted(self.users, users, side="right"))
        return replace(
            self, points=self.points[:kept], users=self.users[:kept], x=self.x[:kept], e2e_s=self.e2e_s[:kept]
        )

    def in_flight_at(self, users: float) -> float | None:
        """Mean requests in flight, straight between levels; None where a level beside it has none."""
        known = [(p.users, p.in_flight) for p in self.points if p.in_flight is not None]
        if not known or not known[0][0] <= users <= known[-1][0]:
            return None
        return float(np.interp(users, [u for u, _ in known], [f for _, f in known]))


def _at(users: Floats, values: Floats, at: float) -> float:
    return math.exp(float(np.interp(math.log(at), np.log(users), np.log(values))))


def metric_of(levels: Iterable[Level]) -> str:
    """The throughput column that most valid levels have, of equals the best; one that is above 0 somewhere."""
    valid = [level for level in levels if level.grade.valid]
    known = {metric: [x for level in valid if (x := throughput(level, metric)) is not None] for metric in METRICS}
    return max(METRICS, key=lambda metric: len(known[metric]) if any(known[metric]) else 0)


def throughput(level: Level, metric: str) -> float | None:
    """X of one level; requests count only when they succeeded."""
    return level.numbers.served_req_s if metric == "req_s" else level.numbers.get(metric)


def repeats_of(levels: Iterable[Level], metric: str) -> dict[float, list[Level]]:
    """Users, rising -> the levels that the curve rests on there, in an order that does not depend on that given."""
    groups: dict[float, list[Level]] = {}
    for level in levels:
        if level.grade.valid and level.users > 0 and throughput(level, metric):
            groups.setdefault(level.users, []).append(level)
    for group in groups.values():
        group.sort(key=lambda level: (level.numbers.repeat, level.numbers.step or 0, throughput(level, metric) or 0.0))
    return dict(sorted(groups.items()))


def fit(levels: Sequence[Level], metric: str) -> Curve | None:
    """The curve through all valid levels with a throughput above 0; None without any."""
    groups = repeats_of(levels, metric)
    usable = [level for group in groups.values() for level in group]
    if not usable:
        return None
    times, source = _response_times(usable, metric)
    left = iter(times)
    points = tuple(_point(users, group, [next(left) for _ in group], metric) for users, group in groups.items())
    x, e2e_s = smooth(points, np.log([point.x for point in points]), np.log([point.e2e_s for point in points]))
    return Curve(
        metric=metric,
        points=points,
        users=np.array([point.users for point in points]),
        x=x,
        e2e_s=e2e_s,
        cv=_pooled_cv(groups.values(), metric),
        e2e_source=source,
    )


def smooth(points: Sequence[Point], log_x: Floats, log_e2e: Floats) -> tuple[Floats, Floats]:
    """Throughput and response time fitted to logarithms at the points, (K) or (replicates, K)."""
    repeats = np.array([point.repeats for point in points], dtype=np.float64)
    return np.exp(unimodal(log_x, repeats)), np.exp(rising(log_e2e, repeats))


def _response_times(levels: list[Level], metric: str) -> tuple[list[float], str]:
    """R of each level, all from the same source."""
    means = [level.numbers.e2e_mean_s for level in levels]
    if all(means):
        return [float(mean) for mean in means if mean], "measured"
    served = [level.numbers.served_req_s for level in levels]
    if all(served):
        cycles = [level.users / rate for level, rate in zip(levels, served, strict=True) if rate]
        pauses = [level.think_s or 0.0 for level in levels]
        times = [max(c - z, SMALLEST_R_SHARE * c) for c, z in zip(cycles, pauses, strict=True)]
        return times, "response_time_law"
    return [level.users / (throughput(level, metric) or 1.0) for level in levels], "constant_length"


def _point(users: float, levels: list[Level], times: list[float], metric: str) -> Point:
    flights = [level.numbers.in_flight for level in levels if level.numbers.in_flight is not None]
    counted = [level for level in levels if level.judged is not None]
    failed = sum(level.server_failed or 0.0 for level in counted) if counted else None
    judged = sum(level.judged or 0.0 for level in counted) if counted else None
    rates = [level.numbers.error_rate for level in levels if level.numbers.error_rate is not None]
    return Point(
        users=users,
        x=math.exp(float(np.mean([math.log(throughput(level, metric) or 1.0) for level in levels]))),
        e2e_s=float(np.mean(times)),
        repeats=len(levels),
        in_flight=float(np.mean(flights)) if flights else None,
        failed=failed,
        judged=judged,
        error_rate=failed / judged if failed is not None and judged else (float(np.mean(rates)) if rates else None),
    )


def _pooled_cv(groups: Iterable[list[Level]], metric: str) -> float | None:
    """Standard deviation of ln X within levels, pooled over those with repeats."""
    squares, degrees = 0.0, 0
    for group in groups:
        logs = np.log([throughput(level, metric) or 1.0 for level in group])
        squares += float(((logs - logs.mean()) ** 2).sum())
        degrees += logs.size - 1
    return math.sqrt(squares / degrees) if degrees else None
