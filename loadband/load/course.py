"""Which levels come next: the words that a ladder and the courses share.

Knows: what a hold came to, and what a climb is. Must not know: the ladder, clocks, how a course chooses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from loadband.load.failure_watch import lowest_rate


class Part(StrEnum):
    """What a step is in its plan."""

    LEVEL = ""
    """One of those that the curve is drawn through."""
    SPIKE = "spike"
    RECOVERY = "recovery"
    """Less load after too much: held until it shows whether the server comes back."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How requests kept one limit of an SLO. Of a mean `missed` is 0 and the sums are filled, else the other way."""

    n: int = 0
    missed: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __add__(self, other: "Kept") -> "Kept":
        return Kept(
            self.n + other.n, self.missed + other.missed, self.total + other.total, self.squares + other.squares
        )


@dataclass(frozen=True, slots=True)
class Held:
    """What one hold came to, in figures that choose the next level. The report computes its own.

    Of requests that ended inside the hold, as far as the processes had told: the last second is missing.
    """

    users: int = 0
    seconds: float | None = None
    """None: the level was not held, or lost while it was."""
    ok: int = 0
    failed: int = 0
    tokens: int = 0
    """Output tokens of the successes."""
    e2e_sum_s: float = 0.0
    kept: tuple[Kept, ...] = ()
    """One for each limit that is searched for."""
    rate: float | None = None
    """Requests per second of an open loop, whose `users` only send them."""
    confirmed: bool = False
    """A failure was confirmed there, and the climb ended."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Held":
        """The inverse of `asdict`. Raises TypeError, KeyError of what is none."""
        return cls(**{**row, "kept": tuple(Kept(**each) for each in row["kept"])})

    @property
    def level(self) -> float:
        """Users, or requests per second."""
        return self.rate or self.users

    @property
    def power(self) -> float:
        """X² / R, squared throughput by mean E2E; 0 where nothing succeeded. Without token counts X is requests/s."""
        if not self.seconds or not self.ok or self.e2e_sum_s <= 0:
            return 0.0
        return ((self.tokens or self.ok) / self.seconds) ** 2 / (self.e2e_sum_s / self.ok)

    @property
    def surely_failing(self) -> float:
        """One-sided 95 % lower bound of the failure rate."""
        return lowest_rate(self.failed, self.ok + self.failed)


@dataclass(frozen=True, slots=True)
class Climb:
    """Levels that are climbed next: users, or requests per second of an open loop. None: the run is over.

    Where the first lies above the level held last the ladder goes on from there, else it is drained before.
    """

    levels: tuple[float, ...] = ()
    why: str | None = None
    """A sentence for whoever watches."""
    parts: tuple[Part, ...] = ()
    """What each level is; empty where all are levels like others."""

    def part(self, place: int) -> Part:
        """What the level at a place from 0 is."""
        return self.parts[place] if self.parts else Part.LEVEL


class Course(Protocol):
    """Chooses the climbs of one run."""

    def next_climb(self, climbs: int, held: Sequence[Held], /) -> Climb:
        """The climb after so many, by all levels held so far. Asked twice in the same place it says the same."""
