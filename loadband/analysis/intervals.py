"""D6: how sure every edge is. The whole pipeline D1-D4 is run on replicates of the levels.

*Noise* interval: the same levels measured again; 5-95 % of the replicates that give the same kind of answer. *Grid*
interval: the noise interval widened to the next tested level on both sides, since nothing is known of what lies
between; it dominates on coarse grids. An edge moves with the operating point, which may lie anywhere in its own grid
interval, so that of an edge holds both. *Support*: the share of replicates that give the same kind of answer; below
`support` that answer is not established. A value within whose grid a hold was too short has no interval.

Knows: statuses, quantiles. Must not know: where noise comes from (`replicates`), how an interval is worded.
Failure modes. Where the maximum is flat the noisiest of many levels wins, so P_max is measured too high and the band
too narrow (the winner's curse); replicates add the same once more. So the 5-95 % of the replicates is joined with
Efron's bias-corrected interval, which moves by that much to the other side: on a broad top with 3 % noise the lower
edge's interval so holds in nine tests of ten instead of seven; a sharp one has no bias and keeps its own. The failure
point has no interval but its bracket.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from loadband.analysis.bounds import middle_90, unbiased_90
from loadband.analysis.curve import Curve
from loadband.analysis.monotone import Floats
from loadband.analysis.reach import Bounds
from loadband.analysis.regions import Operating, Saturation, operating_point, saturation_point, tight_band
from loadband.analysis.replicates import Replicates
from loadband.analysis.thresholds import Thresholds

REPEATS_FOR_TIGHT = 3
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """5-95 % of one value, users."""

    noise: Ends | None = None
    """None when the noise is not known or not to be trusted."""
    grid: Ends | None = None
    """Without noise: from the tested level below to that above, the resolution alone."""


NONE = Interval()


@dataclass(frozen=True, slots=True)
class Certainty:
    """What is known of how sure the verdict is."""

    source: str = "none"
    """`repeats`, `within_run` or `none`."""
    reason: str = ""
    """Why there is no noise interval."""
    replicates: int = 0
    support: float | None = None
    saturation_support: float | None = None
    too_short: tuple[float, ...] = ()
    tight: Ends | None = None
    """The tight band; None without enough repeats."""
    edges: Mapping[str, Interval] = field(default_factory=dict)
    """`operating low high saturation tight_low tight_high`, as far as they were found."""
    one_hold: Mapping[float, Ends] = field(default_factory=dict)
    """Users -> factors on the throughput of one holding, 5-95 %; empty where a noise is not known or not trusted."""

    def throughput(self, users: float, x: float | None) -> tuple[float | None, float | None]:
        """The interval of a measured throughput."""
        factors = self.one_hold.get(users)
        return (None, None) if x is None or factors is None else (x * factors[0], x * factors[1])

    def of(self, edge: str) -> Interval:
        """The intervals of one edge."""
        return self.edges.get(edge, NONE)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the measured levels say, and under which bounds; the same of each replicate is asked for."""

    bounds: Bounds
    replicate_bounds: Sequence[Bounds]
    operating: Operating
    saturation: Saturation
    sound_upto: float | None
    """Levels above say nothing about saturation; None: all speak."""


def certainty_of(
    curve: Curve, noise: Replicates | None, why: str, found: Findings, limits: Thresholds
) -> tuple[Certainty, Operating, Saturation]:
    """The intervals, and the findings as far as they are established."""
    repeats = min(point.repeats for point in curve.points)
    tight = tight_band(curve, found.bounds, found.operating, limits) if repeats >= REPEATS_FOR_TIGHT else None
    operating, saturation = found.operating, found.saturation
    seen = _Seen(curve, noise.too_short if noise else ())
    if noise is None:
        sure = _intervals(Certainty(reason=why, tight=tight), seen, found, {})
        return sure, operating, saturation
    same = _Same(operating, saturation)
    for each, bounds in zip(noise.curves(curve), found.replicate_bounds, strict=True):
        there = operating_point(each, bounds, limits)
        sound = each if found.sound_upto is None else each.upto(found.sound_upto)
        same.add(there, saturation_point(sound, there.users, limits))
        if tight is not None and there.status == "found" and (own := tight_band(each, bounds, there, limits)):
            same.tights.append(own)
    support, saturated = same.supports(noise.count)
    one_hold = {users: _factors(logs) for users, logs in noise.one_hold.items() if users not in noise.too_short}
    sure = Certainty(noise.source, "", noise.count, support, saturated, noise.too_short, tight, one_hold=one_hold)
    if operating.status not in ("none", "refused", "not_established") and support < limits.support:
        reason = f"the answer is not stable: of {noise.count} replicates {same.told(noise.count)}"
        operating = Operating("not_established", None, operating.limited_by, reason)
    if saturation.status == "found" and saturated < limits.support:
        reason = f"seen in {saturated:.0%} of the replicates"
        saturation = replace(saturation, status="not_established", after=None, at=None, reason=reason)
    return (
        _intervals(sure, seen, replace(found, operating=operating, saturation=saturation), same.values()),
        operating,
        saturation,
    )


def _factors(logs: Floats) -> Ends:
    low, high = middle_90(logs)
    return math.exp(low), math.exp(high)


class _Same:
    """Replicates that give the same kind of answer as the measured levels."""

    def __init__(self, operating: Operating, saturation: Saturation) -> None:
        self._operating, self._saturation = operating, saturation
        self._kinds: Counter[str] = Counter()
        self._points: list[tuple[float, float, float]] = []
        self._saturated: list[float] = []
        self.tights: list[Ends] = []

    def add(self, operating: Operating, saturation: Saturation) -> None:
        """One replicate."""
        self._kinds[operating.status] += 1
        if operating.status == self._operating.status and operating.users is not None:
            self._points.append((operating.users, operating.low or operating.users, operating.high or operating.users))
        if saturation.status == self._saturation.status and saturation.exact is not None:
            self._saturated.append(saturation.exact)

    def supports(self, count: int) -> tuple[float, float]:
        """Shares of the replicates that agree, on the operating point and on saturation."""
        return self._kinds[self._operating.status] / count, len(self._saturated) / count

    def told(self, count: int) -> str:
        """How often which status came."""
        return ", ".join(f"{n / count:.0%} say {status.replace('_', ' ')}" for status, n in self._kinds.most_common())

    def values(self) -> dict[str, Sequence[float]]:
        """Values of each edge."""
        named: dict[str, Sequence[float]] = {"saturation": self._saturated}
        for names, rows in ((("operating", "low", "high"), self._points), (("tight_low", "tight_high"), self.tights)):
            if rows:
                named |= dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        return named


def ends_of(value: float, replicates: Sequence[float]) -> Ends:
    """The noise interval of a value, which it is in itself; the value alone without replicates."""
    if not replicates:
        return value, value
    drawn = np.array(replicates)
    ends = (value, *middle_90(drawn), *unbiased_90(value, drawn))
    return min(ends), max(ends)


class _Seen:
    """The grid of tested levels."""

    def __init__(self, curve: Curve, too_short: Iterable[float]) -> None:
        self._tested, self._short = curve.users, tuple(too_short)

    def interval(self, value: float, replicates: Sequence[float], point: Ends) -> Interval:
        """Both intervals of a value, which moves with the operating point of noise interval `point`."""
        low, high = ends_of(value, replicates)
        least, most = min(low, point[0]), max(high, point[1])
        below, above = self._tested[self._tested < least], self._tested[self._tested > most]
        wide = (float(below[-1]) if below.size else least, float(above[0]) if above.size else most)
        if any(wide[0] <= users <= wide[1] for users in self._short):
            return NONE
        return Interval((low, high) if replicates else None, wide)


def _intervals(
    sure: Certainty, seen: _Seen, found: Findings, values: dict[str, Sequence[float]]
) -> Certainty:  # fmt: skip
    """With an interval for each edge that was found."""
    operating, saturation = found.operating, found.saturation
    placed = operating.status == "found"
    exact = saturation.exact if saturation.status == "found" else None
    tight = sure.tight if placed and sure.tight else (None, None)
    edges = {
        "operating": operating.users if placed else None,
        "low": operating.low if placed else None,
        "high": operating.high if placed else None,
        "saturation": exact,
        "tight_low": tight[0],
        "tight_high": tight[1],
    }
    known = {name: value for name, value in edges.items() if value is not None}
    points = {name: ends_of(value, values.get(name, ())) for name, value in known.items()}
    named = {
        name: seen.interval(value, values.get(name, ()), points.get("operating", points[name]))
        for name, value in known.items()
    }
    return replace(sure, tight=sure.tight if placed else None, edges=named)
