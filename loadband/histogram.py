"""Mergeable histogram of positive values with a relative error of at most 1 %.

Knows: logarithmic buckets. Must not know: what is counted, or where it is stored.

Guarantee: with GAMMA = 1.02, bucket i holds GAMMA^(i-1) < v <= GAMMA^i and stands for GAMMA^(i-1/2), so that a
percentile differs from the exact one by a factor of at most sqrt(1.02) < 1.01. Values <= 0 are counted apart.
Merging adds counts: it is associative, commutative and loses nothing. The scheme is that of DDSketch (Masson,
Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch", VLDB 2019).
"""

import math
from collections.abc import Iterable

GAMMA = 1.02


class Histogram:
    """Counts of values in logarithmic buckets; exact count, sum, minimum and maximum.

    >>> h = Histogram([0.1, 0.2, 0.3])
    >>> round(h.percentile(50), 2)
    0.2
    """

    __slots__ = ("_scale", "buckets", "count", "gamma", "maximum", "minimum", "total")

    def __init__(self, values: Iterable[float] = (), gamma: float = GAMMA) -> None:
        self.gamma = gamma
        self.buckets: dict[int, int] = {}
        """Bucket index -> count; values <= 0 are in no bucket."""
        self.count = 0
        self.total = 0.0
        self.minimum = math.inf
        self.maximum = -math.inf
        self._scale = 1.0 / math.log(gamma)
        for value in values:
            self.add(value)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value. NaN is refused: it has no place in an order."""
        if math.isnan(value):
            raise ValueError("a histogram cannot hold NaN")
        self.count += times
        self.total += value * times
        self.minimum = min(self.minimum, value)
        self.maximum = max(self.maximum, value)
        if value > 0:
            index = math.ceil(math.log(value) * self._scale)
            self.buckets[index] = self.buckets.get(index, 0) + times

    @property
    def nonpositive(self) -> int:
        """How many values were <= 0."""
        return self.count - sum(self.buckets.values())

    @property
    def mean(self) -> float | None:
        """Exact mean, None of nothing."""
        return self.total / self.count if self.count else None

    def merge(self, other: "Histogram") -> None:
        """Add another histogram's counts. Raises ValueError when it was built with another gamma."""
        if other.gamma != self.gamma:
            raise ValueError(f"histograms of gamma {self.gamma} and {other.gamma} do not merge")
        for index, times in other.buckets.items():
            self.buckets[index] = self.buckets.get(index, 0) + times
        self.count += other.count
        self.total += other.total
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)

    def percentile(self, percent: float) -> float | None:
        """Value below or at which `percent` % of the values lie (nearest rank), None of nothing."""
        if not self.count:
            return None
        rank = max(1, math.ceil(self.count * percent / 100.0 - 1e-9))
        seen = self.nonpositive
        if rank <= seen:
            return self.minimum
        for index in sorted(self.buckets):
            seen += self.buckets[index]
            if rank <= seen:
                return min(max(math.pow(self.gamma, index - 0.5), self.minimum), self.maximum)
        return self.maximum

    def encode(self) -> str:
        """The `buckets` cell: `index:count;...` in rising order."""
        return ";".join(f"{index}:{self.buckets[index]}" for index in sorted(self.buckets))

    @classmethod
    def decode(cls, count: int, total: float, minimum: float, maximum: float, buckets: str) -> "Histogram":
        """A histogram from its cells. Raises ValueError when they contradict each other."""
        histogram = cls()
        for cell in filter(None, buckets.split(";")):
            index, _, times = cell.partition(":")
            histogram.buckets[int(index)] = int(times)
        histogram.count, histogram.total = count, total
        histogram.minimum, histogram.maximum = minimum, maximum
        if histogram.nonpositive < 0:
            raise ValueError(f"{sum(histogram.buckets.values())} values in buckets, but a count of {count}")
        return histogram
