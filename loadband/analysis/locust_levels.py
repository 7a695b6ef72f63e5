"""Levels of a Locust history: what was added to its cumulative numbers within each stretch of time.

Knows: differences of cumulative numbers. Must not know: files, where a stretch lies and why, the curve.

Rates are differences of counts over a stretch, means are differences of cumulative sums, both exact at rows and
straight between them. There are no tokens and no percentiles of a stretch: throughput is successful requests per
second.
"""

from collections.abc import Sequence

import numpy as np

from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import Grade, Level, Numbers
from loadband.analysis.locust_files import Floats, History, Timeline
from loadband.analysis.locust_stretches import Stretch
from loadband.analysis.standstill import all_failed
from loadband.analysis.table_checks import check_table, measured_of
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Hold
from loadband.slo import Limit

UNCHECKED = ("client", "drift", "outage", "waves")


def levels_of_history(
    history: History,
    stretches: Sequence[Stretch],
    think_s: float | None,
    slo: tuple[Limit, ...],
    limits: Thresholds,
) -> tuple[Level, ...]:
    """One level for each stretch, graded as far as such files allow."""
    if not stretches:
        return ()
    levels = [
        Level(
            numbers=(numbers := _numbers(history, stretch, step)),
            grade=_grade(numbers, limits),
            server_failed=numbers.failed,
            think_s=think_s,
            measured=tuple(measured_of(limit, numbers) for limit in slo),
        )
        for step, stretch in enumerate(stretches, start=1)
    ]
    return check_table(check_ladder(levels, limits), limits)


def _numbers(history: History, stretch: Stretch, step: int) -> Numbers:
    hold, requests = stretch.hold, history.requests
    count = _grown(history.at, requests.count, hold)
    failed = min(max(_grown(history.at, requests.failed, hold), 0.0), count)
    e2e = _mean_s(history.at, requests, hold)
    tpot = _mean_s(history.at, history.metrics.get("TPOT"), hold)
    return Numbers(
        step=step,
        repeat=stretch.repeat,
        users=stretch.users,
        hold_s=hold.length,
        requests=count,
        ok=count - failed,
        failed=failed,
        error_rate=failed / count if count else None,
        req_s=count / hold.length,
        in_flight=None if e2e is None else (count - failed) / hold.length * e2e,
        tok_s_user=1 / tpot if tpot else None,
        ttft_mean_s=_mean_s(history.at, history.metrics.get("TTFT"), hold),
        tpot_mean_s=tpot,
        e2e_mean_s=e2e,
    )


def _grown(at: Floats, cumulative: Floats, hold: Hold) -> float:
    return float(np.interp(hold.end, at, cumulative) - np.interp(hold.begin, at, cumulative))


def _mean_s(at: Floats, timeline: Timeline | None, hold: Hold) -> float | None:
    """Mean of what was added within a stretch, seconds."""
    if timeline is None:
        return None
    timed, spent_ms = _grown(at, timeline.timed, hold), _grown(at, timeline.time_ms, hold)
    return spent_ms / timed / 1000 if timed > 0 and spent_ms > 0 else None


def _grade(numbers: Numbers, limits: Thresholds) -> Grade:
    grade = Grade(not_checked=UNCHECKED)
    if numbers.error_rate == 1:
        return all_failed(grade)
    if not numbers.ok:
        return grade.refuse("no request succeeded while the users rested")
    hold, e2e = numbers.hold_s or 0.0, numbers.e2e_mean_s or 0.0
    if hold < max(limits.short_hold_s, limits.short_hold_e2e * e2e):
        return grade.mark("short", f"the level lasted {hold:.0f} s only (30 s and 5 mean E2E are wanted)")
    return grade
