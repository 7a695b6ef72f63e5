"""When requests arrive in an open loop: the schedule of a level, and each worker's part of it.

Knows: distributions of gaps, seeds, shares. Must not know: clocks, users, requests.

Model. Arrivals are a renewal process: independent gaps of mean 1 / rate and coefficient of variation CV. CV 0 is a
metronome (`constant`), CV 1 memoryless (`poisson`), above 1 come bursts; `gamma(cv)` draws gaps of shape 1 / CV^2.
Every worker draws the whole schedule from the same seed and takes each W-th arrival of it. W processes of rate / W
would not do: a gamma of CV 2 from four of them has CV 1.71, and the schedule would depend on the number of workers.
A moment is the sum of the gaps before it, never "now" plus a gap, so the schedule neither drifts nor waits.
"""

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadband.errors import UsageError

LEAST_CV, MOST_CV = 0.05, 10.0


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A distribution of gaps by its coefficient of variation, or the gaps of a trace."""

    cv: float | None
    """None: as recorded in the trace."""

    def gap(self, rate: float, source: random.Random) -> float:
        """Seconds to the next arrival at `rate` arrivals per second. Not of a trace."""
        if not self.cv:
            return 1 / rate
        if self.cv == 1:
            return source.expovariate(rate)
        shape = 1 / self.cv**2
        return source.gammavariate(shape, 1 / (shape * rate))


def parse_arrival(text: str) -> Arrivals:
    """`poisson`, `constant`, `gamma(2)` or `trace`. Raises UsageError."""
    word = text.strip()
    named = {"poisson": Arrivals(1.0), "constant": Arrivals(0.0), "trace": Arrivals(None)}
    if word in named:
        return named[word]
    if match := re.fullmatch(r"gamma\(\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*\)", word):
        cv = float(match[1])
        if not LEAST_CV <= cv <= MOST_CV:
            raise UsageError(f"{word}: the coefficient of variation lies between {LEAST_CV:g} and {MOST_CV:g}")
        return Arrivals(cv)
    raise UsageError(f"arrival '{word[:60]}' is not understood: write poisson, constant, gamma(2) or trace")


def schedule(arrivals: Arrivals, rate: float, seed: str) -> Iterator[float]:
    """Moments of arrival in seconds from the level's start, rising, without end."""
    source = random.Random(seed)
    return itertools.accumulate(arrivals.gap(rate, source) for _ in itertools.repeat(None))


def recorded(moments: Sequence[float], rate: float) -> Iterator[float]:
    """The moments of a trace from its first on, at `rate` arrivals per second, once through.

    `moments` rise; the whole is stretched or pressed, so that bursts stay bursts.
    """
    factor = recorded_rate(moments) / rate
    return ((moment - moments[0]) * factor for moment in moments)


def recorded_rate(moments: Sequence[float]) -> float:
    """Arrivals per second of a trace: n - 1 gaps over its length. Raises UsageError of a trace without length."""
    if len(moments) < 2 or moments[-1] <= moments[0]:
        raise UsageError("the trace has no two moments: it cannot say how fast requests came, write --arrival poisson")
    return (len(moments) - 1) / (moments[-1] - moments[0])


def share(moments: Iterator[float], worker: int, workers: int) -> Iterator[tuple[int, float]]:
    """Number (from 0, over all workers) and moment of the arrivals that one worker sends: each `workers`-th."""
    return itertools.islice(enumerate(moments), worker, None, workers)
