"""Numbers a person asks for: `100`, `64-448`, `lognormal(mean,sd)`; shares of a mix: `interactive=7,long_context=1`.

Knows: how to write and draw them. Must not know: what they are used for.
"""

import math
import random
import re
from dataclasses import dataclass

from loadband.errors import UsageError

DRAWS_ABOVE_MEAN = 20
"""A lognormal draw is capped at this many means, so that one draw cannot fill a context."""

DEVIATION_MEANS = 3
"""A lognormal's deviation above this many means would be lost to the cap."""

LARGEST = 1e9
"""A number above this is a slip of the keyboard."""

_NUMBER = r"\s*([0-9]+(?:\.[0-9]+)?)\s*"


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
    if match := re.fullmatch(_NUMBER, text):
        low = high = _number(match[1], text)
        return Distribution(low, high)
    if match := re.fullmatch(f"{_NUMBER}-{_NUMBER}", text):
        low, high = _number(match[1], text), _number(match[2], text)
        if high < low:
            raise UsageError(f"range '{_short(text)}' runs downwards: write the smaller number first")
        return Distribution(low, high)
    if match := re.fullmatch(rf"\s*lognormal\({_NUMBER},{_NUMBER}\)\s*", text):
        mean, deviation = _number(match[1], text), _number(match[2], text)
        if mean <= 0:
            raise UsageError(f"'{_short(text)}': the mean of a lognormal lies above 0, write for example 300")
        if deviation > DEVIATION_MEANS * mean:
            raise UsageError(f"'{_short(text)}': write a deviation of at most {DEVIATION_MEANS} means")
        return Distribution(mean, mean, deviation)
    raise UsageError(f"'{_short(text)}' is not understood: write a number, a range (64-448) or lognormal(300,150)")


def _number(digits: str, text: str) -> float:
    number = float(digits)
    if number > LARGEST:
        raise UsageError(f"'{_short(text)}' is beyond all measure: write numbers up to {LARGEST:.0f}")
    return number


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def parse_token_count(text: str) -> Distribution:
    """The same for a number of tokens: at least 1. Raises UsageError."""
    return _at_least_one(text, "token")


def parse_turns(text: str) -> Distribution:
    """The same for a number of turns: at least 1. Raises UsageError."""
    return _at_least_one(text, "turn")


def _at_least_one(text: str, what: str) -> Distribution:
    distribution = parse_distribution(text)
    if distribution.low < 1:
        raise UsageError(f"'{_short(text)}': write at least 1 {what}")
    return distribution


def parse_shares(text: str) -> dict[str, float]:
    """Name -> weight of `interactive=7,long_context=1`. Raises UsageError."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        match = re.fullmatch(rf"\s*([a-z][a-z_]*)\s*=\s*{_NUMBER}\s*", part)
        if not match or match[1] in shares or float(match[2]) <= 0:
            raise UsageError(
                f"'{part}' in mix '{text}' is not understood: write interactive=7,long_context=1, each once"
            )
        shares[match[1]] = float(match[2])
    return shares
