"""The ramp in a run directory, or in Locust's own files, when there was one and no ladder says more.

Knows: when a ramp is looked at, which columns its course is made of. Must not know: how it is cut and judged.

A run without a plan is a ramp, or rests, or both. A plan of one level has a way up to it: it is told only where it can
be read, since nobody asked for it. Where three levels or more were held they say more than any ramp.
"""

from collections.abc import Sequence
from dataclasses import replace

from loadband.analysis import windows
from loadband.analysis.course import Course, course_of
from loadband.analysis.level import Level
from loadband.analysis.locust_files import History
from loadband.analysis.locust_levels import levels_of_history
from loadband.analysis.locust_stretches import Stretch
from loadband.analysis.ramp import Climb, Ramp, climb_of
from loadband.analysis.ramp_reading import levels_of_bins, lost_at_the_top, marked, reading_of
from loadband.analysis.run_files import RunFiles
from loadband.analysis.run_levels import TARGET_LOST
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Verdict
from loadband.errors import ExitCode

NO_REST = "users rested nowhere: a ramp is an indication"


def ramp_of_run(files: RunFiles, levels: Sequence[Level], limits: Thresholds) -> Ramp | None:
    """What the ramp of a run indicates; None without one, or where it was not asked for and cannot be read."""
    plan = files.run.get("plan") or {}
    if len(plan.get("levels") or ()) > 1 or plan.get("rates") or plan.get("find") or _enough(levels, limits):
        return None
    requests = windows.with_end(files.requests)
    requests = requests[~windows.flagged(requests, windows.WARM_UP)]
    seconds = windows.by_second(files.seconds)
    climb = climb_of(course_of(seconds, requests))
    if climb is None:
        return None
    bins = levels_of_bins(climb.readable, files, requests, seconds, limits)
    if files.run.get("how") == TARGET_LOST:
        bins = lost_at_the_top(bins)
    ramp = reading_of(climb, bins, limits)
    return None if plan and ramp.status != "found" else ramp


def ramp_of_history(
    history: History, levels: Sequence[Level], think_s: float | None, limits: Thresholds
) -> Ramp | None:
    """The same of Locust's own files, whose throughput is requests per second."""
    if _enough(levels, limits) or history.at.size < 2:
        return None
    requests = history.requests
    course = Course(history.at, history.users, requests.count, requests.time_ms / 1000, requests.timed)
    climb = climb_of(course)
    return None if climb is None else reading_of(climb, _of_history(climb, history, think_s, limits), limits)


def _of_history(climb: Climb, history: History, think_s: float | None, limits: Thresholds) -> list[Level]:
    stretches = [Stretch(each.users, 1, each.hold) for each in climb.readable]
    levels = levels_of_history(history, stretches, think_s, (), limits)
    return [level.regraded(marked(replace(level.grade, marks=(), remarks=()))) for level in levels]


def _enough(levels: Sequence[Level], limits: Thresholds) -> bool:
    return len({level.users for level in levels if level.grade.valid}) >= limits.direction_levels


def with_ramp(verdict: Verdict, ramp: Ramp | None, *, planned: bool) -> Verdict:
    """The verdict with a ramp beside it: of a run that asked for nothing else, and has no level, it is an answer."""
    if ramp is None:
        return verdict
    alone = not planned and not verdict.levels and not verdict.slo
    if ramp.status == "found" and alone and verdict.exit_code in (ExitCode.UNANSWERED, ExitCode.UNREACHABLE):
        verdict = replace(verdict, exit_code=ExitCode.OK, confidence_reason=NO_REST)
    return replace(verdict, ramp=ramp)
