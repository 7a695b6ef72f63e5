"""What changed from one run to another at a level, and whether that is more than noise.

Model. Logarithms of values are normal about the run's true one. The change is the difference of the means of ln value,
its interval +- t s sqrt(1/k + 1/m) at 95 %, of k baseline values against m. With at least three baseline values at a
level s is the standard deviation between repeats, pooled over the compared levels, not below 1 %; for one level and
k = 3, m = 1 that is +-4.97 s. Otherwise s of a side is its noise within the run (`hold_noise`), the degrees those of
Welch and Satterthwaite; that sees nothing of what differs between two runs, and says so. Where several levels are
compared, each interval is at 1 - 5 %/levels (Bonferroni), so that the throughput of two equal runs is called different
once in twenty times in all, not once per level; all the other numbers together once more in twenty. A difference counts
when its interval leaves out 0.

A failure rate changes by points; its interval is Newcombe's, from the two Wilson intervals.
References: B. L. Welch, Biometrika 34 (1947) 28; R. G. Newcombe, Stat. Med. 17 (1998) 873.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from loadband.analysis.bounds import wilson
from loadband.analysis.side import COMPARED, Noise, Side, value_of

CERTAIN = 0.95
FEWEST_REPEATS = 3
BETWEEN, WITHIN, UNKNOWN = "between repeats", "within-run only", "unknown"


@dataclass(frozen=True, slots=True)
class Effect:
    """One number at one level, before and after."""

    metric: str
    users: float
    before: float
    after: float
    change: float
    """Relative; of `error_rate` the difference of the shares."""
    low: float | None
    high: float | None
    """95 % interval of the change; None when nothing tells the noise."""
    noise: str
    """Where the noise was seen: `between repeats`, `within-run only`, `unknown`."""

    @property
    def counts(self) -> bool | None:
        """Whether the difference is beyond noise; None when the noise is not known."""
        return None if self.low is None or self.high is None else not self.low <= 0 <= self.high


def common_levels(sides: Sequence[Side]) -> list[float]:
    """Users that are valid levels on every side."""
    shared = set(sides[0].tested())
    for side in sides[1:]:
        shared &= set(side.tested())
    return sorted(shared)


def effects(before: Sequence[Side], after: Side, levels: Sequence[float]) -> tuple[Effect, ...]:
    """Of every compared number at every level; `before` is the baseline and its further runs."""
    found: list[Effect] = []
    throughput = after.verdict.metric
    for metric in COMPARED[:-1]:
        samples = [(users, _values(before, users, metric), _values([after], users, metric)) for users in levels]
        told = [(users, one, other) for users, one, other in samples if one and other]
        pooled = _pooled([one for _, one, _ in told], after.verdict.thresholds.noise_floor)
        family = len(told) * (1 if metric == throughput else len(COMPARED) - 1)
        found += [_effect(metric, users, (one, other), pooled, family) for users, one, other in told]
    family = len(levels) * (len(COMPARED) - 1)
    found += [each for users in levels if (each := _failures(before, after, users, family)) is not None]
    return tuple(sorted(found, key=lambda each: (COMPARED.index(each.metric), each.users)))


Sample = list[tuple[float, Noise | None]]
"""ln value, and its noise within the run."""


def _values(sides: Sequence[Side], users: float, metric: str) -> Sample:
    found: Sample = []
    for side in sides:
        for place, level in side.levels_at(users):
            value = value_of(level, metric)
            if value:
                found.append((math.log(value), side.noise.get(place, {}).get(metric)))
    return found


def _pooled(samples: Sequence[Sample], floor: float) -> Noise | None:
    """Standard deviation between repeats over all levels with three or more of them."""
    groups = [np.array([value for value, _ in sample]) for sample in samples if len(sample) >= FEWEST_REPEATS]
    if not groups:
        return None
    degrees = sum(group.size - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return Noise(max(math.sqrt(squares / degrees), floor), degrees)


def _effect(
    metric: str, users: float, samples: tuple[Sample, Sample], pooled: Noise | None, compared: int
) -> Effect:  # fmt: skip
    one, other = samples
    before, after = (float(np.mean([value for value, _ in sample])) for sample in (one, other))
    if pooled is not None and len(one) >= FEWEST_REPEATS:
        error: Noise | None = Noise(pooled.error * math.sqrt(1 / len(one) + 1 / len(other)), pooled.degrees)
        source = BETWEEN
    else:
        error, source = _together(one, other)
    change, low, high = after - before, None, None
    if error is not None:
        half = half_width(error, compared)
        low, high = math.expm1(change - half), math.expm1(change + half)
    return Effect(metric, users, math.exp(before), math.exp(after), math.expm1(change), low, high, source)


def half_width(error: Noise, compared: int) -> float:
    """Of the interval of one of so many comparisons."""
    tail = (1 - CERTAIN) / max(compared, 1) / 2
    return float(stdtrit(error.degrees, 1 - tail)) * error.error


def _together(one: Sample, other: Sample) -> tuple[Noise | None, str]:
    """Noise within the runs of both sides; None when a hold was too short to tell."""
    parts = []
    for sample in (one, other):
        known = [noise for _, noise in sample if noise is not None]
        if len(known) < len(sample):
            return None, UNKNOWN
        parts += [(noise.error / len(sample), noise.degrees) for noise in known]
    variance = sum(error**2 for error, _ in parts)
    degrees = variance**2 / sum(error**4 / degrees for error, degrees in parts)
    return Noise(math.sqrt(variance), degrees), WITHIN


def _failures(before: Sequence[Side], after: Side, users: float, compared: int) -> Effect | None:
    counts = []
    for sides in (before, [after]):
        judged = [(level.server_failed, level.judged) for side in sides for _, level in side.levels_at(users)]
        known = [(failed, of) for failed, of in judged if failed is not None and of]
        if not known:
            return None
        counts.append((sum(failed for failed, _ in known), sum(of for _, of in known)))
    (failed_one, n_one), (failed_other, n_other) = counts
    one, other = failed_one / n_one, failed_other / n_other
    z = float(stdtrit(1e9, 1 - (1 - CERTAIN) / max(compared, 1) / 2))
    low_one, high_one = wilson(failed_one, n_one, z)
    low_other, high_other = wilson(failed_other, n_other, z)
    change = other - one
    low = change - math.hypot(other - low_other, high_one - one)
    high = change + math.hypot(high_other - other, one - low_one)
    return Effect("error_rate", users, one, other, change, low, high, WITHIN)
