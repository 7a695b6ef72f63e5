"""D0 for levels that somebody else has averaged: a plain table, Locust's CSV files.

Knows: which contradictions still show. Must not know: where the numbers stood.

Most checks of D0 lack their data and are *not checked*, which caps the confidence and blocks nothing. Two
contradictions still show. *Never delivered*: Little's law, X_req (R + Z) / N, must be near 1; without a mean E2E, its
p95 or p99 is taken for every request, an upper bound, so that only a failure can be concluded. *Two columns that
contradict*: tokens/s over requests/s is the mean answer, which the load alone should not change; it is compared with
the median over the levels. Z is what was told; else it is estimated from the lowest level (N/X - R) and used, marked
*estimated*, only when it is as good as none: a long estimated pause may as well be a fault of that one level, by
which the others cannot be judged.
"""

import math
import statistics

from loadband.analysis.curve import SMALLEST_R_SHARE
from loadband.analysis.level import Grade, Level, Measured, Numbers
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.validity import check_errors, grade_little
from loadband.slo import LATENCIES, Limit

NO_PAUSE = 0.1
"""An estimated pause below this share of the mean E2E is none."""


def check_table(levels: tuple[Level, ...], limits: Thresholds) -> tuple[Level, ...]:
    """The levels with all that can be checked of them."""
    return _check_tokens(_check_delivery(levels, limits), limits)


def measured_of(limit: Limit, numbers: Numbers) -> Measured:
    """An SLO limit against the column of its name. More failures than a percentile leaves room for are a miss."""
    column = f"{limit.quantity}_s" if limit.metric in LATENCIES else limit.quantity
    value = None if limit.scenario else numbers.get(column)
    if value is not None and limit.percentile is not None and (numbers.error_rate or 0) > 1 - limit.percentile / 100:
        value = math.inf
    misses = None
    if limit.metric == "error_rate" and numbers.error_rate is not None and numbers.requests:
        misses = numbers.error_rate * numbers.requests
    return Measured(limit, value, numbers.requests, misses)


def _check_delivery(levels: tuple[Level, ...], limits: Thresholds) -> tuple[Level, ...]:
    """Little's law, few rounds, unresolved errors."""
    think, estimated = _think_time(levels)
    first = min(level.users for level in levels)
    checked = []
    for level in levels:
        numbers, grade = level.numbers, level.grade
        e2e, served = numbers.e2e_mean_s, numbers.served_req_s
        bound = next((value for value in (numbers.e2e_p99_s, numbers.e2e_p95_s) if value), None)
        if served and think:
            grade = _check_pause(grade, served * think / level.users, limits)
        if served is None or think is None or (e2e is None and bound is None) or (estimated and level.users == first):
            grade = grade.not_check("little")
        elif e2e is not None:
            how = ", with an estimated think time" if estimated else ""
            grade = grade_little(grade, served * (e2e + think) / level.users, limits, how)
        else:
            grade = grade.not_check("little")
            if bound is not None and served * (bound + think) / level.users < limits.little_low:
                grade = grade.refuse("users were never delivered: even slow requests leave too few in flight (Little)")
        if numbers.ok is not None and numbers.ok / level.users < limits.few_rounds:
            grade = grade.mark("few_rounds", f"few rounds: {numbers.ok / level.users:.1f} successes per user")
        if numbers.error_rate is None:
            grade = grade.not_check("errors")
        checked.append(level.regraded(check_errors(grade, level.server_failed, level.judged, limits)))
    return tuple(checked)


def _check_pause(grade: Grade, share: float, limits: Thresholds) -> Grade:
    """The pause alone against N / X_req, the whole cycle of a user; `share` above 1 leaves less than nothing for R."""
    sentence = f"the pauses alone take {share:.3g} times users / requests/s"
    if share > limits.little_high:
        return grade.refuse(f"{sentence}: think time, users or requests/s is wrong")
    return grade if share < 1 - SMALLEST_R_SHARE else grade.mark("little", f"{sentence}: what is left for R is unknown")


def _think_time(levels: tuple[Level, ...]) -> tuple[float | None, bool]:
    """Mean pause, and whether it is estimated from the lowest level; None when neither given nor evidently absent."""
    given = [level.think_s for level in levels if level.think_s is not None]
    if given:
        return statistics.fmean(given), False
    lowest = min(levels, key=lambda level: level.users)
    e2e = lowest.numbers.e2e_mean_s or lowest.numbers.e2e_p50_s
    served = lowest.numbers.served_req_s
    if not e2e or not served:
        return None, False
    pause = lowest.users / served - e2e
    if pause < 0 and lowest.numbers.e2e_mean_s:
        return 0.0, False
    return (max(pause, 0.0), True) if pause <= NO_PAUSE * e2e else (None, False)


def _check_tokens(levels: tuple[Level, ...], limits: Thresholds) -> tuple[Level, ...]:
    """Tokens per request against their median over the levels."""
    answers = {
        place: level.numbers.output_tok_s / served
        for place, level in enumerate(levels)
        if level.numbers.output_tok_s and (served := level.numbers.served_req_s)
    }
    if len(answers) < 3:
        return tuple(level.regraded(level.grade.not_check("tokens_against_requests")) for level in levels)
    usual = statistics.median(answers.values())
    checked = list(levels)
    for place, answer in answers.items():
        apart = abs(answer / usual - 1)
        grade = checked[place].grade
        sentence = f"tokens/s and requests/s contradict: {answer:.0f} tokens a request, {usual:.0f} at the other levels"
        if apart > limits.table_tokens_disagree:
            checked[place] = checked[place].regraded(grade.refuse(sentence))
        elif apart > limits.tokens_disagree:
            checked[place] = checked[place].regraded(grade.mark("tokens_per_request", sentence))
    return tuple(checked)
