"""What a ramp indicates: its bins as levels, through the same curve, point and failure rules as levels that were held.

Knows: the order in which bins are measured, graded and judged. Must not know: files, printing.

A bin passes the checks that need no rest (the client's health, errors, an outage, time-outs, how tokens were counted).
Those of a hold (users as asked, drift, Little's law, rounds) would fail by design: users come all the time.
"""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from loadband.analysis import breakdown, client_health, validity, windows
from loadband.analysis.failure import Failure
from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import Evidence, Grade, Level
from loadband.analysis.measure import HoldData, measure
from loadband.analysis.outage import outage_of
from loadband.analysis.ramp import READABLE_FROM, WIDEST, Bin, Climb, Ramp
from loadband.analysis.run_files import RunFiles
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Facts, judge
from loadband.analysis.windows import Step
from loadband.record import FailureClass

MARK = "ramp"
REMARK = "users came all the time: an indication, no level"
FIGURES = 2
"""Digits of a spawn rate that is proposed."""


def levels_of_bins(
    bins: Sequence[Bin], files: RunFiles, requests: pd.DataFrame, seconds: pd.DataFrame, limits: Thresholds
) -> tuple[Level, ...]:
    """Bins of a run of our own; requests of `windows.with_end`, rows of `windows.by_second`."""
    levels: list[Level] = []
    for place, each in enumerate(bins):
        step = Step(place + 1, 1, each.users, None, each.hold.begin, "", each.hold)
        data = HoldData(
            hold=each.hold,
            ended=windows.ended_inside(requests, each.hold),
            seconds=windows.seconds_inside(seconds, each.hold),
            itl=windows.merged_histograms(files.histograms, each.hold, "itl", by="scenario"),
            prompt_tokens=windows.prompt_tokens_inside(requests, each.hold),
        )
        numbers = measure(step, data, ())
        failed = data.server_failed
        grade = client_health.check_client(marked(Grade()), numbers, data, files, limits)
        following = bins[place + 1].hold.begin if place + 1 < len(bins) else None
        below = next((level.numbers.e2e_p99_s for level in reversed(levels) if level.numbers.e2e_p99_s), None)
        evidence = outage_of(requests, each.hold, data.seconds, following, below, cut_short=following is None)
        if evidence:
            grade = grade.refuse(f"the target failed: {evidence.sentence}").witness(evidence)
        elif ran_into := validity.timeout_of(data, dict(files.run.get("timeouts") or {}), limits):
            grade = grade.witness(ran_into)
        grade = validity.check_token_source(validity.check_success(grade, data), data)
        grade = validity.check_errors(grade, len(failed), len(data.ok) + len(failed), limits)
        levels.append(
            Level(
                numbers=numbers,
                grade=grade,
                server_failed=len(failed),
                throttled=int((failed["failure_class"] == FailureClass.THROTTLED).sum()),
                failures=breakdown.failures_by_class(data.ended),
            )
        )
    return check_ladder(levels, limits)


def marked(grade: Grade) -> Grade:
    """The grade of a bin."""
    return grade.mark(MARK, REMARK)


def lost_at_the_top(levels: Sequence[Level]) -> tuple[Level, ...]:
    """The levels of a run that ended since its target went away: the last one is where that happened."""
    if not levels or levels[-1].grade.evidence:
        return tuple(levels)
    why = Evidence("outage", "the target went away and did not come back")
    last = levels[-1].regraded(levels[-1].grade.refuse(f"the target failed: {why.sentence}").witness(why))
    return (*levels[:-1], last)


def reading_of(climb: Climb, levels: Sequence[Level], limits: Thresholds) -> Ramp:
    """What the readable bins say; of too few, which spawn rate would have been readable."""
    rate = climb.readable_rate
    if len(levels) < limits.direction_levels:
        return Ramp("undecided", _too_fast(climb, len(levels)), climb.spawn_rate, rate)
    verdict = judge(levels, (), limits, Facts())
    operating = verdict.operating
    if operating.users is None and verdict.failure.at is None:
        faults = [fault for level in verdict.levels for fault in level.grade.faults]
        why = verdict.refused or (faults[0] if faults else operating.reason)
        return Ramp("undecided", why, climb.spawn_rate, rate, verdict.levels, verdict.metric)
    lowest, top = levels[0].users, climb.users_to
    reason = "" if lowest <= max(READABLE_FROM * top, 2.0) else _from_there(climb, lowest)
    return Ramp(
        status="found",
        reason=reason,
        spawn_rate=climb.spawn_rate,
        readable_rate=rate,
        levels=verdict.levels,
        metric=verdict.metric,
        point_status=operating.status,
        point_reason=verdict.refused or operating.reason,
        users=operating.users,
        low=operating.low,
        high=operating.high,
        failure=_within(verdict.failure, climb),
        advice=_to_hold(operating.low, operating.users, operating.high),
    )


def _within(failure: Failure, climb: Climb) -> Failure:
    """The failure point between the fewest and the most users of the bin in which it came."""
    bins = [each for each in climb.readable if each.users == failure.at]
    if not bins:
        return failure
    low, high = bins[0].between
    return replace(failure, after=None if failure.after is None else low, at=high)


def _too_fast(climb: Climb, read: int) -> str:
    """Why the ramp says nothing, and what would."""
    many = f"{read} of {len(climb.bins)} pieces of it" if climb.bins else "no piece of it"
    seen = f"{many} can be read (users grow by more than a tenth within an answer, or by half within 30 requests)"
    return f"{seen}{_would_be(climb)}"


def _from_there(climb: Climb, lowest: float) -> str:
    return f"below {lowest:.0f} users it was too fast to be read{_would_be(climb)}"


def _would_be(climb: Climb) -> str:
    if climb.readable_rate is None or climb.readable_rate >= climb.spawn_rate:
        return ""
    return f": a spawn rate below {rounded_down(climb.readable_rate):g} users/s would be readable"


def rounded_down(rate: float) -> float:
    """Two digits, never more than the rate."""
    text = f"{rate:.{FIGURES - 1}e}"
    unit = float(f"1e{int(text.partition('e')[2]) - FIGURES + 1}")
    nearest = float(text)
    return nearest if nearest <= rate else float(f"{nearest - unit:.{FIGURES}g}")


def _to_hold(low: float | None, users: float | None, high: float | None) -> tuple[float, ...]:
    """Levels around the indicated band, whole; empty without one."""
    if low is None or users is None or high is None:
        return ()
    wanted = (low / WIDEST, low, users, high, high * WIDEST)
    return tuple(sorted({float(max(1, round(each))) for each in wanted}))
