"""Levels of a Locust history: stretches of time in which the number of users rested.

Knows: resting, settling, differences of cumulative numbers. Must not know: files, the curve.

A level is a stretch of rows with the same `User Count`. Its begin is left out until the requests of the level below
have ended, which takes as long as a slow request (95 %, at least 2 s); where users are taken away after it, so is
its end, because a run that drains lets no request follow. What is left must last 5 s. Rates are differences of
counts between its first and last row at which a request had just ended, means come from differences of cumulative
sums, both exact. There are no tokens and no percentiles of a stretch: throughput is successful requests per second.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import Grade, Level, Numbers
from loadband.analysis.locust_files import Floats, History, Timeline
from loadband.analysis.table_checks import check_table, measured_of
from loadband.analysis.thresholds import Thresholds
from loadband.slo import Limit

Places = NDArray[np.intp]

SETTLE_S = 2.0
SHORTEST_S = 5.0
UNCHECKED = ("client", "drift", "outage", "waves")


def levels_of_history(
    history: History, think_s: float | None, slo: tuple[Limit, ...], limits: Thresholds
) -> tuple[Level, ...]:
    """One level for each stretch that is long enough, in order of time; going down begins another repeat."""
    levels: list[Level] = []
    repeat = 1
    for first, last in _stretches(history):
        users = float(history.users[first])
        if levels and users <= levels[-1].users:
            repeat += 1
        levels.append(_level(history, first, last, Numbers(step=len(levels) + 1, repeat=repeat, users=users), think_s))
    if not levels:
        return ()
    measured = [replace(level, measured=tuple(measured_of(limit, level.numbers) for limit in slo)) for level in levels]
    return check_table(check_ladder([_marked(level, limits) for level in measured], limits), limits)


def _stretches(history: History) -> Iterator[tuple[int, int]]:
    """First and last row of each level."""
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
        if not inside.size:
            continue
        first, last = _between_ends(history, inside, settle)
        if history.at[last] - history.at[first] >= SHORTEST_S:
            yield first, last


def _between_ends(history: History, inside: Places, patience_s: float) -> tuple[int, int]:
    """The first and last of these rows at which some request had just ended.

    Few long requests end in bunches: a stretch from one bunch to another counts whole rounds. A silence of more than
    `patience_s` is no such gap, it belongs to the level.
    """
    ends = inside[np.diff(history.requests.count)[inside - 1] > 0]
    first, last = int(inside[0]), int(inside[-1])
    if ends.size > 1:
        first = int(ends[0]) if history.at[ends[0]] - history.at[first] <= patience_s else first
        last = int(ends[-1]) if history.at[last] - history.at[ends[-1]] <= patience_s else last
    return first, last


def _slow_s(history: History, begin: int, end: int) -> float:
    slow = history.slow_ms[begin:end]
    return 0.0 if np.isnan(slow).all() else float(np.nanmedian(slow)) / 1000


def _level(history: History, first: int, last: int, numbers: Numbers, think_s: float | None) -> Level:
    requests = history.requests
    length = float(history.at[last] - history.at[first])
    count = _grown(requests.count, first, last)
    failed = min(max(_grown(requests.failed, first, last), 0.0), count)
    e2e = _mean_s(requests, first, last)
    ok = count - failed
    tpot = _mean_s(history.metrics.get("TPOT"), first, last)
    return Level(
        numbers=Numbers(
            step=numbers.step,
            repeat=numbers.repeat,
            users=numbers.users,
            hold_s=length,
            requests=count,
            ok=ok,
            failed=failed,
            error_rate=failed / count if count else None,
            req_s=count / length,
            in_flight=None if e2e is None else ok / length * e2e,
            tok_s_user=1 / tpot if tpot else None,
            ttft_mean_s=_mean_s(history.metrics.get("TTFT"), first, last),
            tpot_mean_s=tpot,
            e2e_mean_s=e2e,
        ),
        grade=Grade(not_checked=UNCHECKED),
        server_failed=failed,
        think_s=think_s,
    )


def _grown(cumulative: Floats, first: int, last: int) -> float:
    return float(cumulative[last] - cumulative[first])


def _mean_s(timeline: Timeline | None, first: int, last: int) -> float | None:
    """Mean of what was added between two rows, seconds."""
    if timeline is None:
        return None
    timed = _grown(timeline.timed, first, last)
    spent_ms = _grown(timeline.time_ms, first, last)
    return spent_ms / timed / 1000 if timed > 0 and spent_ms > 0 else None


def _marked(level: Level, limits: Thresholds) -> Level:
    if not level.numbers.ok:
        return level.regraded(level.grade.refuse("no request succeeded while the users rested"))
    hold, e2e = level.numbers.hold_s or 0.0, level.numbers.e2e_mean_s or 0.0
    if hold >= max(limits.short_hold_s, limits.short_hold_e2e * e2e):
        return level
    return level.regraded(level.grade.mark("short", f"users rested for {hold:.0f} s only (30 s and 5 E2E are wanted)"))
