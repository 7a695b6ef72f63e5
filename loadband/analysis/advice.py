"""Which three to five levels to add, so that the next run narrows what this one left open.

Knows: geometric steps between tested levels. Must not know: how the answer is worded.

The grid dominates every interval: levels a factor 2 apart leave an edge uncertain by a factor, whatever the noise.
"""

import itertools
import math
from collections.abc import Iterable

from loadband.analysis.curve import Curve
from loadband.analysis.failure import Failure
from loadband.analysis.regions import Operating, Saturation

MOST = 5
CLOSE_ENOUGH = 1.15
"""Neighbouring levels nearer than this factor are not split further."""


def levels_to_add(
    curve: Curve | None,
    operating: Operating,
    saturation: Saturation,
    failure: Failure,
    asked: Iterable[float],
    *,
    rates: bool = False,
) -> tuple[float, ...]:
    """At most five levels, rising, none of them `asked` for before; empty when the grid is already fine.

    Whole users, or `rates` of two digits.

    A level that was asked for and is not valid needs another run, not another level: its reasons say why.
    """
    if curve is None:
        return ()
    tested = [float(users) for users in curve.users]
    wanted: list[float] = []
    if operating.status in ("found", "not_established"):
        wanted += _around(tested, operating, curve)
    elif operating.status == "not_reached":
        wanted += [tested[-1] * factor for factor in (1.5, 2.0, 3.0, 4.0)]
    elif operating.status == "at_or_below_first":
        wanted += [tested[0] * factor for factor in (0.25, 0.5, 0.75)] + _between(tested[:2], 1)
    else:
        wanted += [*_between(tested, 1), tested[-1] * 2, tested[-1] * 4]
    if saturation.status == "not_confirmed" and operating.status == "found":
        wanted.append(tested[-1] * 1.5)
    if failure.status == "unconfirmed" and failure.at is not None:
        wanted.append(failure.at * 1.25)
    return _new(wanted, {*tested, *asked}, rates=rates)


def _around(tested: list[float], operating: Operating, curve: Curve) -> list[float]:
    """Two levels on each side of the best tested one, one beyond an edge that lies between tested levels."""
    centre = operating.users
    if centre is None:
        centre = max(tested, key=lambda users: curve.log_power_at(users, 2.0))
    below = [users for users in tested if users < centre][-1:]
    above = [users for users in tested if users > centre][:1]
    return [*_between([*below, centre], 2), *_between([centre, *above], 2)]


def _between(users: list[float], count: int) -> list[float]:
    """`count` geometric steps inside each gap that is wide enough."""
    return [
        low * (high / low) ** (step / (count + 1))
        for low, high in itertools.pairwise(users)
        if high / low > CLOSE_ENOUGH
        for step in range(1, count + 1)
    ]


def _new(wanted: Iterable[float], tested: set[float], *, rates: bool) -> tuple[float, ...]:
    """New levels, whole or of two digits; the first five named win."""
    chosen: list[float] = []
    for users in wanted:
        level = float(f"{users:.2g}") if rates else max(1, math.floor(users + 0.5))
        if level not in tested and level not in chosen:
            chosen.append(level)
    return tuple(sorted(chosen[:MOST]))
