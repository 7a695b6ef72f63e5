"""Numbers a person asks for: `100`, `64-448`, `lognormal(mean,sd)`. Grammar of prompt and answer lengths and pauses.

Knows: how to write and draw them. Must not know: what they are used for.
"""

import math
import random
import re
from dataclasses import dataclass

from loadband.errors import UsageError

_NUMBER = r"(\d+(?:\.\d+)?)"
DRAWS_ABOVE_MEAN = 20
"""A lognormal draw is capped at this many means, so that one draw cannot fill a context."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Uniform between `low` and `high`, or lognormal with `mean` and `deviation` of the value itself."""

    low: float
    high: float
    deviation: float | None = None
    """Set for a lognormal; `low` is then its mean."""

    def draw(self, source: random.Random) -> float:
        """One value."""
        if self.deviation is None:
            return source.uniform(self.low, self.high)
        variance = math.log1p((self.deviation / self.low) ** 2)
        value = source.lognormvariate(math.log(self.low) - variance / 2, math.sqrt(variance))
        return min(value, DRAWS_ABOVE_MEAN * self.low)

    def draw_whole(self, source: random.Random) -> int:
        """One whole value of at least 1, each of a range equally likely."""
        if self.deviation is None:
            return source.randint(max(1, round(self.low)), max(1, round(self.high)))
        return max(1, round(self.draw(source)))


def parse_distribution(text: str) -> Distribution:
    """`100`, `64-448` or `lognormal(300,150)`. Raises UsageError."""
    word = text.replace(" ", "")
    if match := re.fullmatch(_NUMBER, word):
        return Distribution(float(match[1]), float(match[1]))
    if match := re.fullmatch(f"{_NUMBER}-{_NUMBER}", word):
        low, high = float(match[1]), float(match[2])
        if high < low:
            raise UsageError(f"range '{text}' runs downwards: write the smaller number first")
        return Distribution(low, high)
    if match := re.fullmatch(rf"lognormal\({_NUMBER},{_NUMBER}\)", word):
        mean, deviation = float(match[1]), float(match[2])
        if mean <= 0:
            raise UsageError(f"'{text}': the mean of a lognormal lies above 0")
        return Distribution(mean, mean, deviation)
    raise UsageError(f"'{text}' is not understood: write a number, a range (64-448) or lognormal(300,150)")


def parse_token_count(text: str) -> Distribution:
    """The same for a number of tokens: at least 1. Raises UsageError."""
    distribution = parse_distribution(text)
    if distribution.low < 1:
        raise UsageError(f"'{text}': write at least 1 token")
    return distribution
