"""N_SLO: up to how many users a limit of the SLO holds, with its 5-95 % interval.

Each limit has a margin at each level, ln(limit / measured), positive when kept; it should only shrink with users, so it
is smoothed isotonically, made continuous with PCHIP over ln N, and N_SLO is where it crosses 0. A margin beyond +-3 is
as good as infinite. Lower limits on a rate (`output_tok_s>=`) say how much load is needed, not how much is too much:
they gate, but set no N_SLO. The interval is that of the same computation on replicates of the measured values; kept at
every level counts there as infinite, kept at none as 0. Values with noise are smoothed as one curve, so a single level
beyond its limit is outvoted by its neighbours.
Reference: F. N. Fritsch, R. E. Carlson, SIAM J. Numer. Anal. 17 (1980) 238 (PCHIP).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from loadband.analysis.bounds import middle_90
from loadband.analysis.level import LOG_BOUND, Level, log_value
from loadband.analysis.monotone import Floats, falling
from loadband.analysis.replicates import Replicates, counted
from loadband.analysis.thresholds import Thresholds
from loadband.slo import SHARES, Limit

MARGIN_BOUND = 3.0
BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class End:
    """Where a limit ends."""

    status: str
    """`found not_reached` (kept up to the last level) `none` (kept nowhere) `not_checked undecided not_established`."""
    users: float | None = None
    low: float | None = None
    """5 % of the replicates end lower; None without replicates. 0: it may be kept nowhere."""
    high: float | None = None
    """Infinite when it may be kept at every level."""
    support: float | None = None
    replicates: Floats | None = field(default=None, compare=False, repr=False)
    """The end of each."""

    def bounds(self, count: int) -> tuple[float | None, list[float | None]]:
        """What the operating point may not exceed: the lower end of the interval, and the same of each replicate."""
        low = 0.0 if self.status == "none" else self.users if self.low is None else self.low
        if low is None or math.isinf(low):
            return None, [None] * count
        if self.replicates is None:
            return low, [low] * count
        share = low / self.users if self.users else None
        ends = [end * share if share is not None else min(end, low) for end in self.replicates.tolist()]
        return low, [None if math.isinf(end) else end for end in ends]


def upper_end(
    levels: Sequence[Level], place: int, limit: Limit, limits: Thresholds, noise: Replicates | None = None
) -> End:
    """N_SLO of the limit number `place` of each valid level's `measured`."""
    if limit.operator == ">=":
        return End("not_checked")
    groups: dict[float, list[Level]] = {}
    for level in levels:
        if not level.grade.valid:
            continue
        measured = level.measured[place]
        if measured.value is not None and measured.judgeable and level.users:
            groups.setdefault(level.users, []).append(level)
    users = sorted(groups)
    if not users:
        return End("undecided")
    logs = np.array([[_log_of(groups[each], place, limit) for each in users]])
    status, end = _kind(float(_ends(np.array(users), _margins(limit, logs))[0]))
    if noise is None or any((place, each) not in noise.values for each in users):
        return End(status, end)
    scatter = np.array([noise.values[place, each] for each in users]).T
    ends = _ends(np.array(users), _margins(limit, logs + scatter))
    support = float(np.mean([_kind(each)[0] == status for each in ends.tolist()]))
    low, high = middle_90(ends)
    if support < limits.support:
        return End("not_established", None, low, high, support, ends)
    if end is not None:
        low, high = min(low, end), max(high, end)
    return End(status, end, low, high, support, ends)


def _log_of(group: Sequence[Level], place: int, limit: Limit) -> float:
    """The measured value at one number of users: of a failure rate all repeats together, else their mean logarithm."""
    n, misses = counted(group, place) if limit.metric in SHARES else (0.0, 0.0)
    if n:
        return log_value(misses / n)
    return float(np.mean([log_value(value) for level in group if (value := level.measured[place].value) is not None]))


def _margins(limit: Limit, log_values: Floats) -> Floats:
    bound = math.log(limit.value) if limit.value > 0 else -LOG_BOUND / 2
    margins: Floats = np.clip(bound - log_values, -MARGIN_BOUND, MARGIN_BOUND)
    return margins


def _kind(end: float) -> tuple[str, float | None]:
    return ("none", None) if end <= 0 else ("not_reached", None) if math.isinf(end) else ("found", end)


def _ends(users: Floats, margins: Floats) -> Floats:
    """Where each row of margins (rows, levels) crosses 0: 0 when below it at once, infinite when never."""
    smooth = falling(margins, np.ones(users.size))
    ends = np.where(smooth[:, 0] < 0, 0.0, np.inf)
    crossing = (smooth[:, 0] >= 0) & (smooth[:, -1] < 0)
    if not crossing.any():
        return ends
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415  (slow to import, and few runs have an SLO)

    smooth = smooth[crossing]
    at = np.log(users)
    last = (smooth >= 0).sum(axis=1) - 1
    pieces = PchipInterpolator(at, smooth.T).c[:, last, np.arange(last.size)]
    low, high = np.zeros(last.size), at[last + 1] - at[last]
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        kept = np.polyval(pieces, middle) >= 0
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    ends[crossing] = np.exp(at[last] + low)
    return ends
