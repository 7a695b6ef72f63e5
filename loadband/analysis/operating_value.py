"""Throughput at a side's operating point, with its noise; and the factor between two of them.

Model. Of each side 200 replicates are drawn: every level's ln X is moved by its standard error (between repeats, else
within the run), its mean E2E the other way (in a closed loop users = X_req (R + Z)), the curve is fitted anew and the
operating point sought anew, under the same bounds of SLO and failure point. The interval of a factor is that of the
middle 95 % between replicates of both sides: it knows that a noisy curve may choose another level. A side without any
noise known, or with an operating point in fewer than half of its replicates, has no interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadband.analysis.curve import fit
from loadband.analysis.regions import operating_point
from loadband.analysis.side import Side
from loadband.analysis.verdict import bounds_of
from loadband.analysis.within_run import FLOOR

REPLICATES = 200
INTERVAL = (2.5, 97.5)
ENOUGH = 0.5


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
    """Found in the verdict, and its replicates."""
    verdict = side.verdict
    users = verdict.operating.users
    x = None if users is None or verdict.curve is None else verdict.curve.x_at(users)
    errors = _errors(side)
    if x is None or errors is None:
        return OperatingValue(users, x, np.array([]))
    random, bounds, drawn = np.random.default_rng(seed), bounds_of(verdict.failure, verdict.slo), []
    for _ in range(REPLICATES):
        moved = []
        for place, error in errors.items():
            level, by = verdict.levels[place], float(random.normal(0.0, error))
            value, e2e = level.numbers.get(verdict.metric), level.numbers.e2e_mean_s
            changed = {verdict.metric: None if value is None else value * math.exp(by)}
            moved.append(level.renumbered(**changed, e2e_mean_s=None if e2e is None else e2e * math.exp(-by)))
        curve = fit(moved, verdict.metric)
        found = None if curve is None else operating_point(curve, bounds, verdict.thresholds).users
        if curve is not None and found is not None:
            drawn.append(math.log(curve.x_at(found)))
    return OperatingValue(users, x, np.array(drawn if len(drawn) >= ENOUGH * REPLICATES else []))


def _errors(side: Side) -> dict[int, float] | None:
    """Place of a level of the curve -> standard error of its ln X; None when one is not known."""
    verdict = side.verdict
    repeated = verdict.curve is not None and verdict.curve.cv is not None
    errors: dict[int, float] = {}
    for place, level in enumerate(verdict.levels):
        if not level.grade.valid or not level.users:
            continue
        noise = side.noise.get(place, {}).get(verdict.metric)
        if repeated and verdict.curve is not None and verdict.curve.cv is not None:
            errors[place] = max(verdict.curve.cv, FLOOR)
        elif noise is None:
            return None
        else:
            errors[place] = noise.error
    return errors


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
