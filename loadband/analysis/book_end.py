"""The book-end: one level held again at the very end shows a drift that repeats, which climb in the same order, hide.

Knows: the order of steps, the noise of one holding. Must not know: why a server drifts.

The last climb is a book-end when it is one level that was held before. Its throughput is compared with the mean of the
earlier holdings; the difference counts beyond 1.96 standard deviations of it, sqrt(1 + 1/k) times that of one holding.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadband.analysis.curve import throughput
from loadband.analysis.level import Level
from loadband.analysis.monotone import Floats

TWO_SIDED_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class BookEnd:
    """One level at the end against itself before."""

    users: float
    change: float
    """Of throughput, relative."""
    noise: float | None
    """The change that noise alone would explain in 95 of 100 runs, relative; None when it is not known."""

    @property
    def drifted(self) -> bool:
        """Whether the change is beyond noise."""
        return self.noise is not None and abs(self.change) > self.noise


def book_end_of(levels: Sequence[Level], metric: str, one_hold: Mapping[float, Floats] | None) -> BookEnd | None:
    """The book-end of a run, when it has one. `one_hold`: noise of ln X by users."""
    order = sorted(
        (level for level in levels if level.numbers.step is not None), key=lambda each: each.numbers.step or 0
    )
    if len(order) < 3 or order[-1].users >= order[-2].users:
        return None
    last, before = order[-1], [level for level in order[:-1] if level.users == order[-1].users and level.grade.valid]
    values = [x for level in before if (x := throughput(level, metric))]
    x = throughput(last, metric)
    if not values or not x or not last.grade.valid:
        return None
    noise = None
    if one_hold is not None and last.users in one_hold:
        noise = TWO_SIDED_95 * float(one_hold[last.users].std()) * math.sqrt(1 + 1 / len(values))
    return BookEnd(last.users, x / float(np.exp(np.log(values).mean())) - 1, noise)
