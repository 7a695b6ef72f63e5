"""What each level brings over the one below it: `gain_pct`, and a remark from a fixed catalogue.

Knows: throughput, users, the catalogue. Must not know: the fitted curve: this is the plain reading of two rows.

`gain_pct` is against the next lower valid level of the same climb. A remark is against the best of all lower ones: a
level that makes up for a dip below it has brought nothing. Levels are not equally far apart, so remarks go by the
exponent ln(X/X_best) / ln(N/N_best): 1 when every further user brings as much as those before, 0 when nothing comes.
The first line that applies:

==================  ================================================================================
client-limited      the load generator was the limit
not valid           the level is used for no curve
too many errors     the failure rate is beyond doubt above `error_limit`
first level         no valid level lies below it
not saturated       exponent >= `linear_efficiency`
clear gain          exponent > `saturation_gain`
near the plateau    gain >= `small_gain`
+1.1 % only         a gain all the same, of less than `small_gain`
no gain             within `saturation_decline` below
past the peak       less than the best level below by more than that
==================  ================================================================================
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from loadband.analysis.bounds import wilson
from loadband.analysis.curve import throughput
from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds

SHOWN_GAIN = 0.0005
"""Below this a gain reads +0.0 %, which is none."""


def with_gains(levels: Sequence[Level], metric: str, limits: Thresholds) -> tuple[Level, ...]:
    """The same levels with their gain and remark."""
    return tuple(_with_gain(level, _lower(level, levels, metric), metric, limits) for level in levels)


def _lower(level: Level, levels: Sequence[Level], metric: str) -> list[Level]:
    """Valid levels of the same climb with fewer users, rising."""
    lower = [
        other
        for other in levels
        if other.numbers.repeat == level.numbers.repeat
        and 0 < other.users < level.users
        and other.grade.valid
        and throughput(other, metric)
    ]
    return sorted(lower, key=lambda other: other.users)


def _with_gain(level: Level, lower: list[Level], metric: str, limits: Thresholds) -> Level:
    gain = _ratio(level, lower[-1], metric) if lower else None
    gained = level.renumbered(gain_pct=None if gain is None else (gain - 1) * 100)
    best = max(lower, key=lambda other: throughput(other, metric) or 0.0, default=None)
    told = "first level" if best is None else _remark(level, best, _ratio(level, best, metric), limits)
    return replace(gained, remark=_excluded(level, limits) or told)


def _ratio(level: Level, other: Level, metric: str) -> float | None:
    x, x_other = throughput(level, metric), throughput(other, metric)
    return x / x_other if x is not None and x_other else None


def _excluded(level: Level, limits: Thresholds) -> str | None:
    """Remarks on levels whose gain is not worth reading."""
    if level.grade.client_limited:
        return "client-limited"
    if not level.grade.valid:
        return "not valid"
    lowest = wilson(level.server_failed or 0.0, level.judged)[0] if level.judged else level.numbers.error_rate or 0.0
    return "too many errors" if lowest > limits.error_limit else None


def _remark(level: Level, best: Level, ratio: float | None, limits: Thresholds) -> str:
    if not ratio:
        return "no gain" if ratio is None else "past the peak"
    exponent = math.log(ratio) / math.log(level.users / best.users)
    if exponent >= limits.linear_efficiency:
        return "not saturated"
    return "clear gain" if exponent > limits.saturation_gain else _flat(ratio, limits)


def _flat(ratio: float, limits: Thresholds) -> str:
    """Remarks on a level that brings little over the one below."""
    if ratio >= 1 + limits.small_gain:
        return "near the plateau"
    if ratio >= 1 + SHOWN_GAIN:
        return f"{ratio - 1:+.1%} only".replace("%", " %")
    return "no gain" if ratio >= 1 - limits.saturation_decline else "past the peak"
