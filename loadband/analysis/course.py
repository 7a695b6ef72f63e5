"""How many users there were when, and where that count rested: levels of a run that had no plan.

Knows: user counts over time, requests that ended, settling. Must not know: files, what is measured in a rest.

*A rest.* A stretch of time with one and the same number of users. Its begin is left out until the requests of the users
before have ended, which takes as long as a slow request of its own (E2E p95, at least 2 s); so is its last second when
another number follows, since the master learns of users up to a second late. What is left must last 5 mean E2E with 30
requests ended in it, and 30 s: users who come one by one, evenly, do not rest between two of them. Where their coming
plainly stopped (the stretch is three times as long as that before it, or they came several at once: more than a tenth)
10 s are enough.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.analysis.windows import Hold, Step, ended_between
from loadband.record import Status

Floats = NDArray[np.float64]

SETTLE_S = 2.0
LATE_S = 1.0
SHORTEST_S = 10.0
SHORTEST_OF_MANY_S = 30.0
STOPPED = 3.0
JUMP = 1.1
FEWEST_E2E = 5.0
FEWEST_REQUESTS = 30.0


@dataclass(frozen=True, slots=True)
class Course:
    """Rising times with the users of each, and the sums up to it."""

    at: Floats
    """Unix seconds: `users` were there from this moment to the next."""
    users: Floats
    ended: Floats
    """Requests that had ended by then."""
    spent_s: Floats
    """Summed E2E of those that succeeded."""
    timed: Floats
    """How many those are."""

    def e2e_s(self, first: int, last: int) -> float | None:
        """Mean E2E of what ended between two places; None of nothing."""
        timed = float(self.timed[last] - self.timed[first])
        return float(self.spent_s[last] - self.spent_s[first]) / timed if timed > 0 else None

    def seconds(self, first: int, last: int) -> float:
        """From one place to the other."""
        return float(self.at[last] - self.at[first])


def course_of(seconds: pd.DataFrame, requests: pd.DataFrame) -> Course:
    """The course of a run: rows of `windows.by_second`, requests of `windows.with_end`.

    A second without a number of users has that of the second before.
    """
    told = seconds[seconds["users"].notna()]
    if told.empty:
        return Course(*(np.array([], dtype=np.float64) for _ in range(5)))
    begin = told["second"].to_numpy(dtype=np.float64)
    at = np.arange(begin[0], max(begin[-1], float(seconds["second"].max())) + 2.0)
    place = np.searchsorted(begin, at, side="right") - 1
    ended = requests[requests["ended_at"].notna()]
    ok = ended[(ended["status"] == Status.OK) & ended["e2e_s"].notna()]
    moments, ok_moments = (rows["ended_at"].to_numpy(dtype=np.float64) for rows in (ended, ok))
    sums = np.concatenate([[0.0], np.cumsum(ok["e2e_s"].to_numpy(dtype=np.float64))])
    timed = np.searchsorted(ok_moments, at, side="right")
    return Course(
        at=at,
        users=told["users"].to_numpy(dtype=np.float64)[place],
        ended=np.searchsorted(moments, at, side="right").astype(np.float64),
        spent_s=sums[timed],
        timed=timed.astype(np.float64),
    )


def rests_of(course: Course, requests: pd.DataFrame) -> tuple[Step, ...]:
    """Where users rested, as steps; going down, or the same again, begins another repeat."""
    found: list[Step] = []
    for first, last in _stretches(course):
        shortest = SHORTEST_S if _stopped(course, first, last) else SHORTEST_OF_MANY_S
        hold = _rest(course, first, last, requests, shortest)
        if hold is None:
            continue
        users, before = float(course.users[first]), found[-1] if found else None
        repeat = 1 if before is None else before.repeat + (users <= (before.users or 0.0))
        found.append(Step(len(found) + 1, repeat, users, None, float(course.at[first]), "", hold))
    return tuple(found)


def _stretches(course: Course) -> Iterator[tuple[int, int]]:
    """First place of each stretch with the same users above 0, and that of what follows (or the last place)."""
    edges = [0, *(np.flatnonzero(np.diff(course.users) != 0) + 1).tolist(), course.users.size - 1]
    for first, last in itertools.pairwise(edges):
        if last > first and course.users[first] > 0:
            yield first, last


def _stopped(course: Course, first: int, last: int) -> bool:
    """Whether users plainly stopped coming before this stretch: they are no even stream."""
    if first == 0:
        return True
    here, before = float(course.users[first]), float(course.users[first - 1])
    changes = np.flatnonzero(course.users[:first] != before)
    began = int(changes[-1]) + 1 if changes.size else 0
    jump = max(here, before) > max(min(here, before) + 1, JUMP * min(here, before))
    return jump or course.seconds(first, last) >= STOPPED * course.seconds(began, first)


def _rest(course: Course, first: int, last: int, requests: pd.DataFrame, shortest_s: float) -> Hold | None:
    begin, end = float(course.at[first]), float(course.at[last])
    own = ended_between(requests, begin, end)
    own = own[own["status"] == Status.OK]
    e2e = own["e2e_s"].dropna().to_numpy(dtype=np.float64)
    settle = max(SETTLE_S, float(np.percentile(e2e, 95)) if e2e.size else 0.0)
    late = LATE_S if last < course.users.size - 1 else 0.0
    hold = Hold(begin + settle, end - late)
    wanted = max(shortest_s, FEWEST_E2E * float(e2e.mean()) if e2e.size else 0.0)
    if hold.length < wanted:
        return None
    inside = ended_between(requests, hold.begin, hold.end)
    return hold if len(inside) >= FEWEST_REQUESTS else None
