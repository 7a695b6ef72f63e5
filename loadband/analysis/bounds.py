"""What n requests allow to say about a share: Wilson bounds, the rule of three, exact percentiles.

Model: failures are independent draws with one probability e. Overload makes them come in clumps, so the bounds are
then too narrow; that is why D5 of the verdict asks for two levels. All bounds are one-sided, 95 %.
References: E. B. Wilson, JASA 22 (1927) 209; J. A. Hanley, A. Lippman-Hand, JAMA 249 (1983) 1743 (rule of three).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Z95 = 1.6448536269514722
"""One-sided 95 % quantile of the normal distribution."""

MOST_ONE_SIDED = 0.02
"""Share of the replicates on the emptier side, at least: fewer are a matter of chance among 200."""


def wilson(events: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Lower and upper bound of a share, each one-sided 95 % unless another quantile is given; (0, 1) of nothing.

    >>> low, high = wilson(0, 268)
    >>> low == 0.0 and high < 0.01
    True
    """
    if n <= 0:
        return 0.0, 1.0
    share, z2 = events / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low = centre - half if events > 0 else 0.0
    high = centre + half if events < n else 1.0
    return max(low, 0.0), min(high, 1.0)


def requests_needed(share: float, limit: float) -> float | None:
    """How many requests it takes until a share like this one is told from the limit; None when they are equal."""
    if share == limit:
        return None
    z2 = Z95 * Z95
    return math.ceil(z2 * limit * (1 - limit) / (share - limit) ** 2)


def rule_of_three(n: float) -> float:
    """95 % upper bound of a rate of which no event was seen in n tries: 3 / n, at most 1."""
    return min(3.0 / n, 1.0) if n > 0 else 1.0


def percentile(values: NDArray[np.float64], percent: float) -> float | None:
    """Nearest-rank percentile: a value that was measured. None of nothing; infinities (misses) are kept."""
    if not values.size:
        return None
    rank = max(1, math.ceil(values.size * percent / 100.0 - 1e-9))
    return float(np.partition(values, rank - 1)[rank - 1])


def middle_90(values: NDArray[np.float64]) -> tuple[float, float]:
    """From the 5 % to the 95 % quantile; both are values that are there, infinite ones too."""
    return _between(values, 0.05, 0.95)


def unbiased_90(value: float, replicates: NDArray[np.float64]) -> tuple[float, float]:
    """The 5-95 % interval of a value whose replicates lie more to one side of it than to the other.

    Noise moved the measured value as it moves the replicates from there: so much further to the other side the truth is
    to be looked for. Replicates equal to the value count to both sides. Reference: B. Efron, JASA 82 (1987) 171 (BC).
    """
    same = max(abs(value), 1.0) * 1e-9
    below = (float((replicates < value - same).mean()) + float((replicates <= value + same).mean())) / 2
    shift = 2 * float(ndtri(min(max(below, MOST_ONE_SIDED), 1 - MOST_ONE_SIDED)))
    return _between(replicates, float(ndtr(shift - Z95)), float(ndtr(shift + Z95)))


def _between(values: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Two quantiles; both are values that are there, infinite ones too."""
    ordered = np.sort(values)
    last = ordered.size - 1
    return float(ordered[math.floor(low * last)]), float(ordered[math.ceil(high * last)])


def mean(values: NDArray[np.float64]) -> float | None:
    """Mean, None of nothing."""
    return float(values.mean()) if values.size else None
