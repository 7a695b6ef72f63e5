"""Where the levels lie in a Locust history: the holds that a run of ours wrote down, else where users rested.

Knows: user counts over time, settling. Must not know: what is measured in a stretch.

*Resting.* A stretch of rows with the same `User Count`. Its begin is left out until the requests of the level below
have ended, which takes as long as a slow request (95 %, at least 2 s); where users are taken away after it, so is
its end, because a run that drains lets no request follow. It begins and ends at rows at which a request had just
ended, so that few long requests, which end in bunches, count by whole rounds. What is left must last 5 s.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadband.analysis.locust_files import History
from loadband.analysis.windows import Hold, Step

Places = NDArray[np.intp]

SETTLE_S = 2.0
SHORTEST_S = 5.0
LATE_S = 1.0
"""A row tells of a moment up to a second before: the next level, with its queue, must not be in this one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One level in time."""

    users: float
    repeat: int
    hold: Hold


def held(steps: Sequence[Step], history: History) -> list[Stretch]:
    """The holds of the run's own steps, as far as the history covers them, without a second at each end."""
    inner = [
        Stretch(step.users, step.repeat, Hold(step.hold.begin + LATE_S, step.hold.end - LATE_S))
        for step in steps
        if step.hold is not None and step.users is not None
    ]
    return [
        each
        for each in inner
        if history.at.size > 1 and history.at[0] <= each.hold.begin < each.hold.end <= history.at[-1]
    ]


def rested(history: History) -> list[Stretch]:
    """Stretches in which the user count rested; going down begins another repeat."""
    found: list[Stretch] = []
    repeat = 1
    for users, hold in _stretches(history):
        if found and users <= found[-1].users:
            repeat += 1
        found.append(Stretch(users, repeat, hold))
    return found


def _stretches(history: History) -> Iterator[tuple[float, Hold]]:
    if not history.users.size:
        return
    edges = [0, *(np.flatnonzero(np.diff(history.users) != 0) + 1).tolist(), history.users.size]
    for begin, end in itertools.pairwise(edges):
        if not history.users[begin] > 0:
            continue
        at = history.at[begin:end]
        settle = max(SETTLE_S, _slow_s(history, begin, end))
        falls = end == history.users.size or history.users[end] < history.users[begin]
        until = history.at[end - 1] - (settle if falls else 0.0)
        inside = begin + np.flatnonzero((at >= at[0] + settle) & (at <= until))
        if inside.size and (hold := _between_ends(history, inside, settle)).length >= SHORTEST_S:
            yield float(history.users[begin]), hold


def _between_ends(history: History, inside: Places, patience_s: float) -> Hold:
    """From the first to the last of these rows at which some request had just ended.

    A silence of more than `patience_s` is no gap between bunches: it belongs to the level.
    """
    ends = inside[np.diff(history.requests.count)[inside - 1] > 0]
    first, last = int(inside[0]), int(inside[-1])
    if ends.size > 1:
        first = int(ends[0]) if history.at[ends[0]] - history.at[first] <= patience_s else first
        last = int(ends[-1]) if history.at[last] - history.at[ends[-1]] <= patience_s else last
    return Hold(float(history.at[first]), float(history.at[last]))


def _slow_s(history: History, begin: int, end: int) -> float:
    slow = history.slow_ms[begin:end]
    return 0.0 if np.isnan(slow).all() else float(np.nanmedian(slow)) / 1000
