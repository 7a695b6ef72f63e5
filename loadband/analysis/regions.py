"""D2-D4: the linear region, the operating point with its best band, saturation and pressure.

Model. P(N) = X^2 / R, Kleinrock's power with throughput squared, weighs what more users bring against what they cost:
its maximum is where 10 % more in flight stop bringing 3.3 % more tokens. Between tested levels ln P is straight in
ln N, so the maximum is a tested level (or N_SLO) and the band's edges are where the straight pieces cross 0.9 of it.

Assumptions and failure modes. A straight piece may hide a better point: with X between its two ends and never
growing faster than N, the best P an untested level could have is bounded; where that bound is far above the maximum
(`grid_gain`) the optimum is not established. A grid of factor 2 never exceeds it. An optimum at an end of the range is
a direction, not a place. Edges have no interval here (see `intervals`).
Reference: L. Kleinrock, "Power and deterministic rules of thumb", ICC 1979.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from loadband.analysis.bounds import Z95
from loadband.analysis.curve import Curve
from loadband.analysis.level import people
from loadband.analysis.reach import Bounds, Reach
from loadband.analysis.thresholds import Thresholds

SINGLE_RUN_DIP = 0.10
"""Without repeats, pieces of the band are several optima when P dips by more than this between them."""


@dataclass(frozen=True, slots=True)
class Operating:
    """Operating point and band; users are None where no number can be told."""

    status: str
    users: float | None = None
    limited_by: str | None = None
    reason: str = ""
    low: float | None = None
    high: float | None = None
    band_limited_by: str | None = None


def placed(operating: Operating) -> bool:
    """Whether the optimum is a place: no direction like *32 users or more*. One user is, with none below."""
    return operating.status == "found" or (operating.status == "at_or_below_first" and operating.users == 1)


@dataclass(frozen=True, slots=True)
class Saturation:
    """The bracket (after, at]; `exact` is where the local exponent falls below its limit, or the operating point."""

    status: str
    after: float | None = None
    at: float | None = None
    exact: float | None = None
    reason: str = ""


def operating_point(curve: Curve, bounds: Bounds, limits: Thresholds) -> Operating:
    """D3: argmax P over what is admissible, and the best band around it; or why there is none."""
    if nothing := _nothing(curve, bounds, limits):
        return nothing
    reach = Reach(curve, bounds, limits)
    best = reach.best()
    if best is None:
        return Operating("none", limited_by="errors", reason="no tested level is free of errors")
    if several := _several(curve, reach, limits):
        return Operating("several", reason=several)
    status, limited_by, reason = _place(curve, reach, best, limits)
    if status == "not_established":
        return Operating(status, None, limited_by, reason)
    if limited_by == "slo":
        return Operating(status, best, "slo", reason, limits.slo_band_low * best, best, "slo")
    return Operating(status, best, limited_by, reason, *reach.band(best, limits.band_power))


def tight_band(
    curve: Curve, bounds: Bounds, operating: Operating, limits: Thresholds
) -> tuple[float, float] | None:  # fmt: skip
    """Where P is at least `tight_power` of its maximum; None without an operating point of the curve's own."""
    if operating.status != "found" or operating.limited_by == "slo" or operating.users is None:
        return None
    low, high, _ = Reach(curve, bounds, limits).band(operating.users, limits.tight_power)
    return low, high


def _nothing(curve: Curve, bounds: Bounds, limits: Thresholds) -> Operating | None:
    """Why there is nothing to look for."""
    tested = curve.users.size
    if tested < limits.direction_levels:
        return Operating("none", reason=f"{_needs(limits)}; {tested} {'is' if tested == 1 else 'are'} valid")
    if bounds.slo is not None and bounds.slo < curve.users[0]:
        return Operating("none", limited_by="slo", reason="no tested level keeps the SLO")
    return None


def _place(curve: Curve, reach: Reach, best: float, limits: Thresholds) -> tuple[str, str, str]:
    """Status, what limits it, and the reason: is the best node a place, or only a direction?"""
    end = reach.end(best)
    if end == "slo":
        return "found", "slo", ""
    if best == curve.users[-1] and end == "range":
        reason = f"throughput still pays for its users at the last level: the optimum is {people(best)} or more"
        return "not_reached", "range", reason
    if best == curve.users[0]:
        users = "1 user" if best == 1 else f"{best:g} users or fewer"
        return "at_or_below_first", end or "curve", f"the first level is the best: the optimum is {users}"
    if end in ("errors", "failure"):
        return "found", end, ""
    unresolved = _unresolved(curve, best, limits)
    return ("not_established", "range", unresolved) if unresolved else ("found", "curve", "")


def _needs(limits: Thresholds) -> str:
    return (
        f"needs at least {limits.interior_levels:g} valid levels for an interior optimum, "
        f"{limits.direction_levels:g} for a direction"
    )


def _several(curve: Curve, reach: Reach, limits: Thresholds) -> str | None:
    """More than one optimum, told apart by a dip that is deeper than its own noise."""
    peaks = reach.peaks(limits.band_power)
    noise = SINGLE_RUN_DIP
    if curve.cv is not None:
        repeats = min(point.repeats for point in curve.points)
        noise = Z95 * (limits.weight + 1) * curve.cv * math.sqrt(2 / repeats)
    for (one, dip), (other, _) in itertools.pairwise(peaks):
        depth = min(reach.power(one), reach.power(other)) - dip
        if math.isfinite(depth) and depth > noise:
            return f"several optima: {one:g} and {other:g} users, with a dip of {1 - math.exp(-depth):.0%} between them"
    return None


def _unresolved(curve: Curve, best: float, limits: Thresholds) -> str | None:
    """Why an optimum between tested levels cannot be told."""
    place = int(np.searchsorted(curve.users, best))
    below, above = float(curve.users[place - 1]), float(curve.users[place + 1])
    between = f"the optimum lies between the tested levels {below:g} and {above:g}"
    if curve.users.size < limits.interior_levels:
        return f"{between}: {_needs(limits)}; {curve.users.size} are valid"
    if curve.cv is not None and curve.cv > limits.repeats_cv:
        return f"repeats disagree by {curve.cv:.0%}: nothing can be told from them together"
    growth_below = curve.x[place] / curve.x[place - 1]
    growth_above = max(curve.x[place + 1] / curve.x[place], 1.0)
    hidden = max(best / (below * min(growth_below, best / below)), growth_above**2)
    if hidden > limits.grid_gain:
        return f"{between}, too far apart: a level in between could be {hidden:.1f} times better"
    return None


def linear_region(curve: Curve, saturation: Saturation, cap: float | None, limits: Thresholds) -> float | None:
    """D2: users up to which throughput per user stays within 80 % of the best of the three lowest levels.

    Counted from the level that is best per user: below it a table may grow faster than linear (a cold start). None
    where levels are too few for a direction. `cap`: the last sound level below one that failed.
    """
    if curve.users.size < limits.direction_levels:
        return None
    log_users = np.log(curve.users)
    log_each = np.log(curve.x) - log_users
    start = int(np.argmax(log_each[:3]))
    floor = log_each[start] + math.log(limits.linear_efficiency)
    upto = float(curve.users[-1])
    for place in range(start, curve.users.size - 1):
        if log_each[place + 1] < floor:
            share = (log_each[place] - floor) / (log_each[place] - log_each[place + 1])
            upto = math.exp(log_users[place] + share * (log_users[place + 1] - log_users[place]))
            break
    return min([upto, *(each for each in (saturation.exact, cap) if each is not None)])


def saturation_point(curve: Curve, operating: float | None, limits: Thresholds) -> Saturation:
    """D4: the smallest N from which doubling the users buys less than 11 %, as a bracket of tested levels.

    What still pays for its users is not saturated: where that N lies at or below the operating point, the bracket is
    the step above the operating point, and without a level there it is not confirmed.
    """
    if curve.users.size < limits.direction_levels:
        return Saturation("none")
    first, last = float(curve.users[0]), float(curve.users[-1])
    grid = np.unique(np.concatenate([np.geomspace(first, last, 512), curve.users]))
    log_grid = np.log(grid)
    highest = np.maximum.accumulate(np.interp(log_grid, np.log(curve.users), np.log(curve.x)))
    here, further = grid[:-1], np.minimum(2 * grid[:-1], last)
    gain = np.interp(np.log(further), log_grid, highest) - highest[:-1]
    growing = np.flatnonzero(gain / np.log(further / here) > limits.saturation_gain)
    place = int(growing[-1]) + 1 if growing.size else 0
    if place >= here.size and operating is None:
        return Saturation("not_reached")
    crossing = float(grid[place])
    exact = max(crossing, operating or 0.0)
    declined = curve.x[-1] < (1 - limits.saturation_decline) * curve.x.max()
    if last < limits.saturation_reach * exact and not declined:
        return Saturation("not_confirmed" if place < here.size else "not_reached")
    if exact <= first:
        return Saturation("at_or_below_first", None, first, first)
    return _bracket(curve, crossing, operating or 0.0)


def _bracket(curve: Curve, crossing: float, operating: float) -> Saturation:
    """The step of tested levels that holds the crossing, never below the operating point."""
    exact = max(crossing, operating)
    beyond = curve.users[curve.users > operating]
    above = beyond[beyond >= exact * (1 - 1e-9)]
    if not above.size:
        return Saturation("not_confirmed")
    at = float(above[0])
    return Saturation("found", max(float(curve.users[curve.users < at][-1]), operating), at, exact)
