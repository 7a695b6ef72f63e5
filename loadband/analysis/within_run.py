"""How far a number of one hold would move if the same hold were measured again: noise from one run.

Model. A level that stands still is a stationary series. It is cut into blocks so long that neighbours hardly know of
one another: max(2 R, 3 correlation times), R the mean time of a request; the correlation time of a series of seconds
is 1/2 + the sum of its autocorrelations up to the first that is not above 0. With at least ten blocks, the standard
error of a rate is that of the block means (t with blocks - 1 degrees). With fewer it takes the variance of its seconds
with n_eff = n (1 - rho) / (1 + rho) of them. Of a mean or percentile over requests the error is the spread over 200
draws of whole blocks with replacement, from four blocks on, times sqrt(blocks / (blocks - 1)).

Failure modes. What changes between two runs and not within one (clocks, memory layout, neighbours on the machine) is
not seen: so the relative error is never taken below 1 %, and the result is *within-run only*. Below 6 R nothing is
told: `None`. References: R. W. Conway, Management Science 10 (1963) 47 (batch means); H. R. Künsch, Ann. Statist. 17
(1989) 1217 (block bootstrap).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadband.analysis.series import autocorrelation

Floats = NDArray[np.float64]

FEWEST_BLOCKS = 10
FEWEST_TO_DRAW = 4
MOST_BLOCKS = 40
SHORTEST_ROUNDS = 6.0
"""Mean times of a request that a hold must last."""
FLOOR = 0.01
"""Relative error below which a single run is not believed."""
DRAWS = 200
FEWEST_REQUESTS = 20
MOST_RANKS = 2048
"""Values are counted by so many ranks: a percentile is off by no more than one of them, and a million fit."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative standard error of one number, and its degrees of freedom."""

    error: float
    degrees: float


def correlation_time(values: Floats) -> float:
    """Of a series, in its steps: at least 1/2, that of independent values."""
    total = 0.5
    for lag in range(1, max(values.size // 4, 1)):
        rho = autocorrelation(values, lag)
        if rho is None or rho <= 0:
            break
        total += rho
    return total


def block_count(per_second: Floats, e2e_s: float) -> int:
    """Blocks that a hold of whole seconds has room for; 0 when it is too short to trust."""
    if per_second.size < SHORTEST_ROUNDS * e2e_s or per_second.size < FEWEST_BLOCKS:
        return 0
    length = max(2 * e2e_s, 3 * correlation_time(per_second), 1.0)
    return min(int(per_second.size / length), MOST_BLOCKS)


def rate_noise(per_second: Floats, e2e_s: float) -> Noise | None:
    """Of the mean of a series of seconds; None when the hold is too short or nothing came."""
    blocks = block_count(per_second, e2e_s)
    mean = float(per_second.mean()) if per_second.size else 0.0
    if not mean or per_second.size < max(SHORTEST_ROUNDS * e2e_s, FEWEST_BLOCKS):
        return None
    if blocks >= FEWEST_BLOCKS:
        means = np.array([block.mean() for block in np.array_split(per_second, blocks)])
        return Noise(_floored(float(means.std(ddof=1)) / math.sqrt(blocks) / mean), blocks - 1)
    rho = min(max(autocorrelation(per_second, 1) or 0.0, 0.0), 0.95)
    effective = max(per_second.size * (1 - rho) / (1 + rho), 2.0)
    return Noise(_floored(float(per_second.std(ddof=1)) / math.sqrt(effective) / mean), effective - 1)


def request_noise(values: Floats, at: Floats, blocks: int, percent: float | None, seed: int = 1) -> Noise | None:
    """Of a percentile of the values, or of their mean (percent None); `at`: when each came, as a share of the hold.

    None with fewer than four blocks or twenty values.
    """
    if blocks < FEWEST_TO_DRAW or values.size < FEWEST_REQUESTS:
        return None
    order = np.argsort(values, kind="stable")
    rising, home = values[order], np.clip((at[order] * blocks).astype(int), 0, blocks - 1)
    draws = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS).astype(np.float64)
    if percent is None:
        spent, count = np.bincount(home, rising, blocks), np.bincount(home, minlength=blocks)
        totals = draws @ count
        drawn = (draws @ spent)[totals > 0] / totals[totals > 0]
    else:
        ranks = np.arange(rising.size) * min(rising.size, MOST_RANKS) // rising.size
        highest = rising[np.append(np.flatnonzero(np.diff(ranks)), rising.size - 1)]
        counts = np.zeros((blocks, highest.size))
        np.add.at(counts, (home, ranks), 1.0)
        reached = (draws @ counts).cumsum(axis=1)
        reached = reached[reached[:, -1] > 0]
        places = (reached < percent / 100 * reached[:, -1:]).sum(axis=1)
        drawn = highest[np.minimum(places, highest.size - 1)]
    centre, spread = float(drawn.mean()), float(drawn.std(ddof=1)) * math.sqrt(blocks / (blocks - 1))
    return Noise(_floored(spread / centre), blocks - 1) if centre > 0 else None


def _floored(error: float) -> float:
    return max(error, FLOOR)
