"""Throughput at a side's operating point, with its noise; and the factor between two of them.

Model. In each replicate of a side's curve (`replicates`: between its repeats, else within the run) the operating point
is sought anew, under the same bounds of SLO and failure point. The interval of a factor is that of the middle 95 %
between replicates of both sides: it knows that a noisy curve may choose another level. Replicates are seeded by level,
the same on both sides, so each side's are shuffled. Within-run noise does not see what differs between two runs: its
spread is widened to 1 % (`noise_floor`) at least. A side without replicates, with a hold too short for its noise to be
trusted, or with an operating point in fewer than half of its replicates, has no interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadband.analysis.regions import operating_point
from loadband.analysis.replicates import replicates_of
from loadband.analysis.side import Side
from loadband.analysis.verdict import bounds_of

INTERVAL = (2.5, 97.5)
ENOUGH = 0.5
WITHIN_RUN = "within_run"
"""Where replicates come from without repeats."""


@dataclass(frozen=True, slots=True)
class OperatingValue:
    """Of one side; None where the verdict has no operating point."""

    users: float | None
    x: float | None
    drawn: NDArray[np.float64]
    """ln X at the operating point of the replicates; empty when the noise is not known."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One value over another, with its 95 % interval."""

    value: float
    low: float | None
    high: float | None

    @property
    def counts(self) -> bool | None:
        """Whether it differs from 1 beyond noise; None when the noise is not known."""
        return None if self.low is None or self.high is None else not self.low <= 1 <= self.high


def operating_value(side: Side, seed: int = 1) -> OperatingValue:
    """Found in the verdict, and its replicates in an order of their own."""
    verdict = side.verdict
    users, curve = verdict.operating.users, verdict.curve
    if users is None or curve is None:
        return OperatingValue(users, None, np.array([]))
    slo = next((tuple(each.limit for each in level.measured) for level in verdict.levels if level.measured), ())
    replicates, _ = replicates_of(verdict.levels, curve, slo, verdict.thresholds)
    drawn: list[float] = []
    if replicates is not None and not replicates.too_short:
        bounds = bounds_of(verdict.failure, verdict.slo)
        for each in replicates.curves(curve):
            found = operating_point(each, bounds, verdict.thresholds).users
            if found is not None:
                drawn.append(math.log(each.x_at(found)))
        if len(drawn) < ENOUGH * replicates.count:
            drawn = []
    random = np.random.default_rng(seed)
    shuffled = random.permutation(np.array(drawn))
    if replicates is not None and replicates.source == WITHIN_RUN and shuffled.size:
        lacking = verdict.thresholds.noise_floor**2 - float(shuffled.var())
        shuffled = shuffled + random.normal(0.0, math.sqrt(max(lacking, 0.0)), shuffled.size)
    return OperatingValue(users, curve.x_at(users), shuffled)


def factor(before: OperatingValue, after: OperatingValue) -> Factor | None:
    """How many times; None without both values."""
    if before.x is None or after.x is None:
        return None
    if not before.drawn.size or not after.drawn.size:
        return Factor(after.x / before.x, None, None)
    size = min(before.drawn.size, after.drawn.size)
    between = np.exp(after.drawn[:size] - before.drawn[:size])
    low, high = (float(each) for each in np.percentile(between, INTERVAL))
    return Factor(after.x / before.x, low, high)


def values(sides: Sequence[Side]) -> list[OperatingValue]:
    """Of all sides, drawn independently."""
    return [operating_value(side, seed) for seed, side in enumerate(sides, start=1)]
