"""A ramp that never rests, cut into bins of users: what each shows, and how slow it must have been to show anything.

Knows: user counts over time, requests that ended. Must not know: files, what is measured in a bin, the verdict.

A bin is a piece of the climb in which the users grow by a tenth and 30 requests end or more. Its number of users is
the mean over its time. Two things must hold before its numbers are those of so many users:

* *as good as at rest*: users grow by at most 10 % within one mean E2E (rate x E2E <= 0.1 x N). Latency and requests/s
  are of requests that ended in the bin, so of users up to one E2E ago; what is wrong about them is below that share.
* *narrow*: its 30 requests end before the users have grown by more than half.

Both are easier with more users, so a steady ramp is readable from some number of users on. Solved for the rate, they
give the spawn rate that would have been readable down to a quarter of the users reached:
min over those bins of min(0.1 N / E2E, 0.5 N X / 30), X being requests/s. E2E and X are those seen, so that is a
figure to go by: a ramp that was much too fast has seen little of the server.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from loadband.analysis.course import Course
from loadband.analysis.failure import Failure
from loadband.analysis.level import Level
from loadband.analysis.windows import Hold

FEWEST_REQUESTS = 30
GROWTH_PER_E2E = 0.10
BIN_GROWTH = 1.10
WIDEST = 1.5
RATE_OVER_S = 10.0
READABLE_FROM = 0.25
"""Share of the most users down to which a ramp should be read."""


@dataclass(frozen=True, slots=True)
class Bin:
    """One piece of the climb."""

    users: float
    """Mean over its time, three digits."""
    between: tuple[float, float]
    """Fewest and most users in it."""
    hold: Hold
    spawn_rate: float
    """Users per second."""
    fastest: float
    """Users per second up to which it would be read."""

    @property
    def readable(self) -> bool:
        """Whether it shows what so many users see."""
        return self.spawn_rate <= self.fastest


@dataclass(frozen=True, slots=True)
class Climb:
    """The way up to the most users, in bins."""

    bins: tuple[Bin, ...]
    seconds: float
    users_from: float
    users_to: float
    readable_rate: float | None
    """Users per second that would be readable down to `READABLE_FROM` of the most; None when nothing tells."""

    @property
    def spawn_rate(self) -> float:
        """Users per second, over the whole climb."""
        return (self.users_to - self.users_from) / self.seconds

    @property
    def readable(self) -> tuple[Bin, ...]:
        """The bins from the first on that is readable with all above it."""
        kept: list[Bin] = []
        for each in reversed(self.bins):
            if not each.readable:
                break
            kept.append(each)
        return tuple(reversed(kept))


@dataclass(frozen=True, slots=True)
class Ramp:
    """What a ramp indicates. It confirms nothing: nobody rested anywhere."""

    status: str
    """`found`; `undecided` when it was too fast to be read."""
    reason: str
    spawn_rate: float
    """Users per second."""
    readable_rate: float | None
    levels: tuple[Level, ...] = ()
    """The bins that were read, each marked `ramp`."""
    metric: str = ""
    point_status: str = "undecided"
    """Status of operating point and band, of the words that the verdict uses."""
    point_reason: str = ""
    users: float | None = None
    low: float | None = None
    high: float | None = None
    failure: Failure = field(default_factory=lambda: Failure("undecided"))
    advice: tuple[float, ...] = ()
    """Levels to hold, so that the answer can be confirmed."""


def climb_of(course: Course) -> Climb | None:
    """The climb to the most users, cut into bins; None when the users never grew."""
    if not course.users.size or not course.users.max() > 0:
        return None
    first, last = _climb(course)
    users = course.users
    if users[last] <= users[first]:
        return None
    bins = tuple(_bins(course, first, last))
    top = float(users[last])
    told = [each.fastest for each in bins if each.users >= READABLE_FROM * top] or [
        _fastest(course, first, last, max(READABLE_FROM * top, 1.0))
    ]
    rate = min(told)
    return Climb(bins, course.seconds(first, last), float(users[first]), top, rate if rate > 0 else None)


def _climb(course: Course) -> tuple[int, int]:
    """First and last place of the climb that ends where the most users are first there; nothing falls in it."""
    last = int(np.argmax(course.users))
    falls = np.flatnonzero((np.diff(course.users[: last + 1]) < 0) | ~(course.users[:last] > 0))
    return int(falls[-1]) + 1 if falls.size else 0, last


def _bins(course: Course, first: int, last: int) -> Iterator[Bin]:
    """From the bottom up; what is left at the top is a bin of its own when 30 requests ended in it."""
    begin = first
    while begin < last:
        floor = course.users[begin]
        grown = course.users[begin : last + 1] >= floor * BIN_GROWTH
        enough = course.ended[begin : last + 1] - course.ended[begin] >= FEWEST_REQUESTS
        ends = np.flatnonzero(grown & enough)
        end = begin + int(ends[0]) if ends.size else last
        if course.ended[end] - course.ended[begin] >= FEWEST_REQUESTS:
            yield _bin(course, begin, end)
        begin = end


def _bin(course: Course, begin: int, end: int) -> Bin:
    spans = np.diff(course.at[begin : end + 1])
    users = float((course.users[begin:end] * spans).sum() / spans.sum())
    rate = _spawn_rate(course, begin, end)
    hold = Hold(float(course.at[begin]), float(course.at[end]))
    ends = float(course.users[begin]), float(course.users[end])
    return Bin(float(f"{users:.3g}"), ends, hold, rate, _fastest(course, begin, end, users))


def _spawn_rate(course: Course, begin: int, end: int) -> float:
    """Users per second around a bin, over 10 s at least: users are whole, and a short bin has few of them."""
    middle, half = (course.at[begin] + course.at[end]) / 2, max(course.seconds(begin, end), RATE_OVER_S) / 2
    climb = slice(0, int(np.argmax(course.users)) + 1)
    ends = np.clip([middle - half, middle + half], course.at[0], course.at[climb][-1])
    users = np.interp(ends, course.at[climb], course.users[climb])
    return float(users[1] - users[0]) / float(ends[1] - ends[0])


def _fastest(course: Course, begin: int, end: int, users: float) -> float:
    """The spawn rate up to which so many users can be read, by what was seen between two places."""
    e2e, seconds = course.e2e_s(begin, end), course.seconds(begin, end)
    req_s = float(course.ended[end] - course.ended[begin]) / seconds
    slow = GROWTH_PER_E2E * users / e2e if e2e else math.inf
    return min(slow, (WIDEST - 1) * users * req_s / FEWEST_REQUESTS)
