"""Mergeable histogram of positive values with a relative error of at most 1 %.

Knows: logarithmic buckets. Must not know: what is counted, or where it is stored.

Guarantee: with GAMMA = 1.02, bucket i holds GAMMA^(i-1) < v <= GAMMA^i and stands for GAMMA^(i-1/2), so that a
percentile differs from the exact one by a factor of at most sqrt(1.02) < 1.01. Values <= 0 are counted apart and
stand for their minimum. Merging adds counts: it is associative, commutative and loses nothing. The scheme is that
of DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch", VLDB 2019).

Two places where floating point would break the guarantee are mended. The logarithm of a value at a bucket's edge
rounds to either side, so near an edge the power decides. And a cell has six decimals, too coarse for an extreme below
50 us, so `decode` lets the extreme's bucket speak for it.
"""

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

GAMMA = 1.02

_USUAL = 1e5
"""Values between this and its inverse find their bucket in a table."""

_NEAR_EDGE = 1e-6
"""Distance from a whole logarithm (in buckets) within which rounding may have chosen the wrong side."""

_COARSE = 5e-5
"""Below this the six decimals of a cell are coarser than 1 %."""


@functools.cache
def _edges(gamma: float) -> tuple[list[float], int]:
    """The rising upper edges gamma^i of the buckets of usual values, and the i of the first."""
    reach = math.ceil(math.log(_USUAL) / math.log(gamma))
    return [math.pow(gamma, i) for i in range(-reach, reach + 1)], -reach


class Histogram:
    """Counts of values in logarithmic buckets; exact count, sum, minimum and maximum.

    >>> h = Histogram([0.1, 0.2, 0.3])
    >>> round(h.percentile(50), 2)
    0.2
    """

    __slots__ = ("_scale", "buckets", "count", "gamma", "maximum", "minimum", "total")

    def __init__(self, values: Iterable[float] = (), gamma: float = GAMMA) -> None:
        if not gamma > 1:
            raise ValueError(f"a histogram's gamma is above 1, not {gamma}")
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
        """Count a value. Raises ValueError of NaN and infinity (no measurement is) and of fewer than one time."""
        if not math.isfinite(value):
            raise ValueError(f"a histogram cannot hold {value}")
        if times < 1:
            raise ValueError(f"a value cannot be counted {times} times")
        self.count += times
        self.total += value * times
        self.minimum = min(self.minimum, value)
        self.maximum = max(self.maximum, value)
        if value > 0:
            index = self._index(value)
            self.buckets[index] = self.buckets.get(index, 0) + times

    def add_sorted(self, values: Sequence[float]) -> None:
        """Count rising values, as `add` would one by one: one search a bucket, where a stream's gaps share few.

        Raises ValueError of NaN and infinity, at whatever end they stand.
        """
        if not values:
            return
        total = sum(values)
        if math.isnan(total) or not (math.isfinite(values[0]) and math.isfinite(values[-1])):
            raise ValueError("a histogram cannot hold values that are no finite numbers")
        self.count += len(values)
        self.total += total
        self.minimum = min(self.minimum, values[0])
        self.maximum = max(self.maximum, values[-1])
        edges, lowest = _edges(self.gamma)
        at = bisect_right(values, 0.0)
        while at < len(values):
            place = bisect_left(edges, values[at])
            if 0 < place < len(edges):
                index, edge = lowest + place, edges[place]
            else:
                index = self._index(values[at])
                edge = self._power(index)
            behind = max(bisect_right(values, edge, at), at + 1)
            self.buckets[index] = self.buckets.get(index, 0) + behind - at
            at = behind

    def _index(self, value: float) -> int:
        """The i of gamma^(i-1) < value <= gamma^i, value > 0."""
        exact = math.log(value) * self._scale
        index = math.ceil(exact)
        if abs(exact - round(exact)) < _NEAR_EDGE:
            if value > self._power(index):
                return index + 1
            if value <= self._power(index - 1):
                return index - 1
        return index

    def _power(self, exponent: float) -> float:
        """gamma^exponent; infinity above the largest float."""
        try:
            return math.pow(self.gamma, exponent)
        except OverflowError:
            return math.inf

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
        """Value below or at which `percent` % of the values lie (nearest rank), None of nothing.

        Raises ValueError outside 0 to 100.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"a percentile lies between 0 and 100, not {percent}")
        if not self.count:
            return None
        rank = max(1, math.ceil(self.count * percent / 100.0 - 1e-9))
        seen = self.nonpositive
        if rank <= seen:
            return self.minimum
        for index in sorted(self.buckets):
            seen += self.buckets[index]
            if rank <= seen:
                return min(max(self._power(index - 0.5), self.minimum), self.maximum)
        return self.maximum

    def encode(self) -> str:
        """The `buckets` cell: `index:count;...` in rising order."""
        return ";".join(f"{index}:{self.buckets[index]}" for index in sorted(self.buckets))

    @classmethod
    def decode(cls, count: int, total: float, minimum: float, maximum: float, buckets: str) -> "Histogram":
        """A histogram from its cells. Raises ValueError when they contradict each other."""
        histogram = cls()
        for cell in filter(None, buckets.split(";")):
            bucket, counted = cell.split(":")
            index, times = int(bucket), int(counted)
            if index in histogram.buckets or times < 1:
                raise ValueError(f"bucket {index} of '{buckets[:60]}' is told twice or holds nothing")
            histogram.buckets[index] = times
        histogram.count, histogram.total = count, total
        apart = histogram.nonpositive
        if apart < 0 or (apart and minimum > 0):
            raise ValueError(f"{count - apart} values in buckets, but a count of {count} and a minimum of {minimum}")
        histogram.minimum, histogram.maximum = minimum, maximum
        if histogram.buckets:
            histogram.maximum = histogram._extreme(maximum, max(histogram.buckets))
            if not apart:
                histogram.minimum = histogram._extreme(minimum, min(histogram.buckets))
        return histogram

    def _extreme(self, stated: float, index: int) -> float:
        """A minimum or maximum as a cell states it, kept in its bucket; the bucket's middle where cells are coarse."""
        if stated >= _COARSE:
            return min(max(stated, self._power(index - 1)), self._power(index))
        return self._power(index - 0.5)
