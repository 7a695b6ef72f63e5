"""What a run is going to need of the target and of this machine.

Knows: the plan's sizes. Must not know: where they come from, whether they can be had.
"""

from dataclasses import dataclass

from loadband.load.distribution import DRAWS_ABOVE_MEAN, Distribution

DEVIATIONS = 3
"""Above this many deviations over its mean a lognormal draw is rare."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The plan in numbers; None where none was told."""

    users: int | None
    processes: int
    """Load-generating processes that share the users."""
    think: Distribution
    """Seconds."""
    prompt: Distribution
    """Tokens."""
    answer: Distribution
    """Tokens."""
    accelerators: int | None = None

    @property
    def longest_prompt(self) -> int:
        """Tokens."""
        return round(largest(self.prompt))

    @property
    def shortest_prompt(self) -> int:
        """Tokens."""
        return max(1, round(self.prompt.low if self.prompt.deviation is None else self.prompt.low / 2))

    @property
    def longest_answer(self) -> int:
        """Tokens."""
        return round(largest(self.answer))


def largest(asked: Distribution) -> float:
    """The largest value that is at all likely."""
    if asked.deviation is None:
        return asked.high
    return min(asked.low + DEVIATIONS * asked.deviation, DRAWS_ABOVE_MEAN * asked.low)


def mean(asked: Distribution) -> float:
    """The mean value."""
    return asked.low if asked.deviation is not None else (asked.low + asked.high) / 2
