"""From the files of a run to its levels: measure each step, grade it, then look at them side by side.

Knows: the order in which windows, numbers and checks are put together. Must not know: the curve, printing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis import breakdown, client_health, validity, windows, workload
from loadband.analysis.answers import check_answers
from loadband.analysis.course import course_of, rests_of
from loadband.analysis.hold_noise import hold_noise
from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import Evidence, Grade, Level, Numbers
from loadband.analysis.measure import HoldData, measure, measure_limit
from loadband.analysis.outage import outage_of
from loadband.analysis.queueing import queue_of
from loadband.analysis.recovery import Recovery, recovery_of
from loadband.analysis.run_files import RunFiles
from loadband.analysis.soak import drifts_of
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Step
from loadband.analysis.workload import Meant, Workload
from loadband.record import FailureClass, Status
from loadband.slo import Limit

TARGET_LOST = "target_lost"
"""How a run, or a step, ended when the target stopped answering."""

OUTAGE = "outage"

CUT_SHORT = ("stopped", "worker_lost", "guard")
"""How a step ended whose hold was broken off."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What all steps of a run share."""

    files: RunFiles
    requests: pd.DataFrame
    seconds: pd.DataFrame
    slo: tuple[Limit, ...]
    limits: Thresholds
    timeouts: dict[str, Any]
    target_lost_step: int | None
    scenarios: tuple[str, ...]
    """Of a run with several; empty otherwise."""
    meant: Meant


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """What a step needs to know of the others."""

    next_asked: float | None
    """When the next level was asked for, Unix seconds: what happens from then on is of that level's users."""
    e2e_p99_s: float | None
    """Of the nearest level before that has one."""
    gone_at: Level | None
    """The level before at which the target went away, when nothing was served since."""


def levels_of_run(files: RunFiles, slo: tuple[Limit, ...], limits: Thresholds) -> tuple[Level, ...]:
    """One level for each step of `steps.csv`, also for those never held; without a plan, where users rested."""
    requests = windows.with_end(files.requests)
    seconds = windows.by_second(files.seconds)
    steps = windows.steps_of(files.steps, last_second=_last_second(seconds, requests))
    if files.run.get("plan") is None and not steps:
        steps = rests_of(course_of(seconds, requests), requests)
    context = _Context(
        files, requests, seconds, slo, limits, dict(files.run.get("timeouts") or {}),
        _step_that_lost(files, tuple(step for step in steps if step.step != recovery_step(files.run))),
        _scenarios(files), workload.meant_by(files.run, files.requests),
    )  # fmt: skip
    levels: list[Level] = []
    unlisted = _begin_of_missing(files)
    apart = recovery_step(files.run)
    gone_at: Level | None = None
    for place, step in enumerate(steps):
        if step.step == apart:
            continue
        following = next((later.asked_at for later in steps[place + 1 :] if later.asked_at is not None), unlisted)
        below = next((level.numbers.e2e_p99_s for level in reversed(levels) if level.numbers.e2e_p99_s), None)
        gone_at = gone_at if gone_at is not None and _served_nothing(requests, step.asked_at, following) else None
        levels.append(_level(step, context, _Neighbours(following, below, gone_at)))
        gone_at = gone_at or (levels[-1] if _went_away(levels[-1]) else None)
    return check_ladder(levels, limits)


def _went_away(level: Level) -> bool:
    evidence = level.grade.evidence
    return evidence is not None and evidence.mode == OUTAGE and not evidence.healed


def _served_nothing(requests: pd.DataFrame, since: float | None, until: float | None) -> bool:
    """Whether no request succeeded from one moment to another, Unix seconds."""
    ended = requests.loc[requests["status"] == Status.OK, "ended_at"]
    return since is not None and not ended.between(since, np.inf if until is None else until).any()


def recovery_step(run: Mapping[str, Any]) -> float | None:
    """The step at which the load fell after too much of it: no level, since it begins with what was left over."""
    step: float | None = (run.get("recovery") or {}).get("step")
    return step


def recovery_of_run(files: RunFiles, limits: Thresholds) -> Recovery | None:
    """How long the server needed after too much load; None of a run that was not to tell."""
    requests, seconds = windows.with_end(files.requests), windows.by_second(files.seconds)
    steps = windows.steps_of(files.steps, last_second=_last_second(seconds, requests))
    return recovery_of(files.run, steps, requests, seconds, limits)


def _last_second(seconds: pd.DataFrame, requests: pd.DataFrame) -> float | None:
    """End of what was written: the last second on record, else the last end of a request."""
    if len(seconds):
        return float(seconds["second"].max()) + 1
    last = requests["ended_at"].max() if len(requests) else np.nan
    return None if np.isnan(last) else float(last)


def _scenarios(files: RunFiles) -> tuple[str, ...]:
    """Names of the scenarios of a mix, planned or met, in order; empty when there is but one."""
    names = {*(files.run.get("mix") or ()), *files.requests["scenario"].unique()} - {""}
    return tuple(sorted(str(name) for name in names)) if len(names) > 1 else ()


def _step_that_lost(files: RunFiles, steps: tuple[Step, ...]) -> int | None:
    """The step at which the target went away for good, as the run itself says."""
    told = [step.step for step in steps if step.ended_by == TARGET_LOST]
    if told:
        return told[-1]
    if missing_steps(files) or not steps:
        return None
    return steps[-1].step if files.run.get("how") == TARGET_LOST else None


def missing_steps(files: RunFiles) -> tuple[int, ...]:
    """Steps that requests tell of and `steps.csv` does not: a torn file. What happened there belongs to no level."""
    met = {*files.requests["step"].dropna().unique(), *files.requests["step_end"].dropna().unique()} - {0.0}
    return tuple(sorted(int(step) for step in met - set(files.steps["step"].dropna())))


def _begin_of_missing(files: RunFiles) -> float | None:
    """When the first request of a missing step started, Unix seconds: the level before it was over by then."""
    begun = files.requests.loc[files.requests["step"].isin(missing_steps(files)), "started_at"].min()
    return None if np.isnan(begun) else float(begun)


def _level(step: Step, context: _Context, neighbours: _Neighbours) -> Level:
    if step.hold is None:
        return _never_held(step, context, neighbours.gone_at)
    data = HoldData(
        hold=step.hold,
        ended=windows.ended_inside(context.requests, step.hold),
        seconds=windows.seconds_inside(context.seconds, step.hold),
        itl=windows.merged_histograms(context.files.histograms, step.hold, "itl", by="scenario"),
        prompt_tokens=windows.prompt_tokens_inside(context.requests, step.hold),
    )
    parts = windows.seconds_inside(context.files.seconds, step.hold) if context.scenarios else None
    meant = context.meant
    numbers = replace(measure(step, data, context.slo), **workload.workload_numbers(data.ended, meant))
    queue = None if step.offered_req_s is None else queue_of(context.requests, step.hold)
    failed = data.server_failed
    grade = validity.check_queue(_grade(numbers, data, context, step, neighbours), queue)
    in_waves = "in_waves" in grade.marks
    shares = data.ended["scenario"].value_counts(normalize=True)
    think = windows.numbers(data.ended, "think_s")
    return Level(
        numbers=numbers,
        grade=grade,
        server_failed=len(failed),
        throttled=int((failed["failure_class"] == FailureClass.THROTTLED).sum()),
        think_s=float(think.mean()) if think.size else None,
        mix={str(name): float(share) for name, share in shares.items()} if len(shares) > 1 else {},
        draws=breakdown.independent_draws(data.ended),
        scenarios=()
        if parts is None
        else breakdown.scenario_parts(context.scenarios, data.ended, parts, step.hold, meant.shares),
        turns=breakdown.turn_parts(data.ended),
        failures=breakdown.failures_by_class(data.ended),
        workload=Workload(
            cache=workload.cache_word(numbers.cached_share, meant),
            finish_reasons=workload.finish_reasons(data.ended),
            adapters=breakdown.adapter_parts(meant.adapters, data.ended),
        ),
        itl_mean_s=data.itl_of(None).mean,
        queue=queue,
        drifts=drifts_of(step.hold, data.seconds, data.ok, context.limits),
        measured=tuple(measure_limit(limit, data, numbers, in_waves=in_waves) for limit in context.slo),
        noise=hold_noise(data, numbers.e2e_mean_s, context.slo, context.limits, step.step),
    )


def _never_held(step: Step, context: _Context, gone_at: Level | None) -> Level:
    numbers = Numbers(step=step.step, repeat=step.repeat, users=step.users, offered_req_s=step.offered_req_s)
    ended = f" (ended by {step.ended_by})" if step.ended_by else ""
    grade = Grade().refuse("the run stopped as the hold began" if step.unfinished else f"never held{ended}")
    if gone_at is not None:
        grade = grade.refuse(_gone_since(gone_at))
    elif step.step == context.target_lost_step:
        grade = _with_evidence(grade, Evidence(OUTAGE, "the target went away before the level was held"))
    return Level(numbers, grade)


def _gone_since(level: Level) -> str:
    return f"the target was gone already, since {level.name}"


def _grade(numbers: Numbers, data: HoldData, context: _Context, step: Step, neighbours: _Neighbours) -> Grade:
    """All checks of one held level, in the order in which their reasons are read."""
    limits = context.limits
    grade = validity.check_records(Grade(), data, limits)
    if not grade.valid:
        return grade
    if step.unfinished:
        grade = grade.mark("unfinished", "the run stopped inside this hold")
    grade = client_health.check_client(grade, numbers, data, context.files, limits)
    evidence = None
    if neighbours.gone_at is not None:
        grade = grade.refuse(_gone_since(neighbours.gone_at))
    elif step.step == context.target_lost_step:
        later = context.requests["started_at"] > data.hold.end
        back = bool((later & (context.requests["status"] == Status.OK)).any())
        evidence = Evidence(OUTAGE, f"the target went away{'' if back else ' and did not come back'}")
    elif not step.unfinished:
        evidence = outage_of(
            context.requests, data.hold, data.seconds, neighbours.next_asked, neighbours.e2e_p99_s,
            cut_short=step.ended_by in CUT_SHORT,
        )  # fmt: skip
    if evidence:
        grade = _with_evidence(grade, evidence)
    elif ran_into := validity.timeout_of(data, context.timeouts, limits):
        grade = grade.witness(ran_into)
    grade = validity.check_success(grade, data)
    if (step.unfinished or step.ended_by in CUT_SHORT) and not grade.evidence and not len(data.ok):
        grade = grade.refuse(f"the run stopped {data.hold.length:.0f} s into the hold, before any request could end")
    grade = validity.check_delivery(grade, numbers, data)
    grade = validity.check_books(grade, numbers, context.requests, data, limits)
    grade = validity.check_length(grade, numbers, limits)
    grade = validity.check_token_source(grade, data)
    grade = check_answers(grade, data, context.timeouts, context.requests)
    grade = validity.check_errors(grade, len(data.server_failed), len(data.ok) + len(data.server_failed), limits)
    return validity.check_steadiness(grade, numbers, context.requests, data, limits)


def _with_evidence(grade: Grade, evidence: Evidence) -> Grade:
    """An outage: not valid for the curve, yet evidence."""
    return grade.refuse(f"the target failed: {evidence.sentence}").witness(evidence)
