"""Where the levels lie in a Locust history: the holds that a run of ours wrote down, else where users rested.

Knows: user counts over time, settling. Must not know: what is measured in a stretch.

*Resting.* A stretch of rows with the same `User Count`. Its begin is left out until the requests of the level below
have ended, which takes as long as a slow request (95 %, at least 2 s; after no users at all, in a short stretch, 2 s).
`User Count` is a sum of what workers last said: it is up to 3 s late when users come, and up to 6 s when a worker dies.
So that much of a stretch's end is left out when more users follow, or fewer; and as much as a slow request where a run
of ours ends, because one that drains lets no request follow. It begins and ends at rows at which a request had just
ended, so that few long requests, which end in bunches, and counts that workers tell every 3 s, count by whole rounds.
What is left must last 5 s.
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
LATE_COMING_S = 3.0
LATE_LEAVING_S = 6.0
SLOW_TO_MEAN = 2.0
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


def falls_of(history: History) -> list[str]:
    """Notes on users that became fewer and did not go, in a run that does not climb again."""
    users = history.users
    falls = np.flatnonzero((np.diff(users) < 0) & (users[1:] > 0)) if users.size > 1 else np.array([], dtype=np.intp)
    return [
        f"users fell from {users[place]:g} to {users[place + 1]:g} in mid-run: a worker was lost, or users were taken "
        "away"
        for place in falls
        if not history.ours and users[place + 1 :].max() == users[place + 1]
    ][:1]


def _stretches(history: History) -> Iterator[tuple[float, Hold]]:
    if not history.users.size:
        return
    edges = [0, *(np.flatnonzero(np.diff(history.users) != 0) + 1).tolist(), history.users.size]
    for begin, end in itertools.pairwise(edges):
        if not history.users[begin] > 0:
            continue
        at = history.at[begin:end]
        settle = max(SETTLE_S, _slow_s(history, begin, end))
        first = begin == 0 or not history.users[begin - 1] > 0
        skipped = SETTLE_S if first and at[-1] - at[0] < 3 * settle else settle
        over = history.at[end] if end < history.users.size else at[-1]
        until = over - _late_s(history, begin, end, settle)
        inside = begin + np.flatnonzero((at >= at[0] + skipped) & (at <= until))
        if inside.size and (hold := _between_ends(history, inside, settle)).length >= SHORTEST_S:
            yield float(history.users[begin]), hold


def _late_s(history: History, begin: int, end: int, settle_s: float) -> float:
    """How much of a stretch's end may be of other users."""
    if end == history.users.size:
        return settle_s if history.ours else 0.0
    here, there = history.users[begin], history.users[end]
    if there > here:
        return LATE_COMING_S
    return settle_s if history.ours or not there > 0 else max(settle_s, LATE_LEAVING_S)


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
    """A slow request of these rows; without percentiles of their own, twice the mean of what ended in them."""
    slow = history.slow_ms[begin:end]
    if history.windowed and not np.isnan(slow).all():
        return float(np.nanmedian(slow)) / 1000
    timed, spent = history.requests.timed, history.requests.time_ms
    ended = timed[end - 1] - timed[begin]
    return SLOW_TO_MEAN * float(spent[end - 1] - spent[begin]) / float(ended) / 1000 if ended > 0 else 0.0
