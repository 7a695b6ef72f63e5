"""How long a step settles and is held, a run warms up and drains, by its plan and by what is seen.

Knows: the plan's words for both, when numbers stand still. Must not know: which step comes next.
"""

from loadband.load.course import Part
from loadband.load.step import EndedBy, Sight, Step
from loadband.load.stillness import AUTO_HOLD_AT_LEAST_S, FAILURES_THAT_TELL, stands_still
from loadband.plan import Plan

SETTLE_AT_LEAST_S = 2.0
WARMUP_AT_MOST_S = 60.0

SILENT_FOR_S = 60.0
"""A process that has not told what it has in flight this long after the gate was closed is gone: the drain is over."""

WATCHED_S = 60.0
"""How long a recovery is watched from the first success on, where `--hold` is no time."""

BACK_WITHIN_S = 120.0
"""A server that serves nothing so long, or for `--max-hold`, after the load has fallen does not come back."""


def settle_s(plan: Plan, step: Step, sight: Sight) -> float:
    """Auto: one E2E p95, at least 2 s; while nothing has ended there is no E2E, and waiting goes on."""
    if step.part != Part.LEVEL:
        return 0.0
    if plan.settle_s is not None:
        return plan.settle_s
    if sight.e2e_p95_s is None:
        return SETTLE_AT_LEAST_S if sight.ended >= max(step.target, FAILURES_THAT_TELL) else plan.max_hold_s
    return max(sight.e2e_p95_s, SETTLE_AT_LEAST_S)


def is_over(plan: Plan, step: Step, sight: Sight, ok: int, ended: int) -> EndedBy | None:
    """Why the hold in force is over, with so many successes and ends inside it; None: it is not."""
    held = sight.now - (step.hold_from or 0.0)
    if step.part != Part.LEVEL:
        return _part_is_over(plan, step, sight)
    hold = plan.hold
    if hold.seconds is not None:
        return EndedBy.HOLD if held >= hold.seconds else None
    if hold.requests is not None:
        if ended >= hold.requests:
            return EndedBy.HOLD
    elif held >= AUTO_HOLD_AT_LEAST_S and stands_still(step, ok, ended, sight.tokens_by_second):
        return EndedBy.HOLD
    return EndedBy.MAX_HOLD if held >= plan.max_hold_s else None


def _part_is_over(plan: Plan, step: Step, sight: Sight) -> EndedBy | None:
    """A spike lasts as told; a recovery from the first success on, or until nothing comes back."""
    if remaining_s(plan, step, sight.now):
        return None
    if step.part == Part.RECOVERY and step.served_at is None:
        return EndedBy.TARGET_LOST if sight.unreached else EndedBy.MAX_HOLD
    return EndedBy.HOLD


def literal_s(plan: Plan, step: Step) -> float | None:
    """Seconds of a hold that were asked for; None where it ends by what is seen."""
    if step.part == Part.SPIKE:
        return plan.spike_s
    if step.part == Part.RECOVERY:
        return plan.hold.seconds or WATCHED_S
    return plan.hold.seconds


def remaining_s(plan: Plan, step: Step, now: float) -> float | None:
    """Seconds that a hold still takes at most; None where none is in force, or it counts requests."""
    if step.hold_from is None or (step.part == Part.LEVEL and plan.hold.requests is not None):
        return None
    since, most = step.hold_from, literal_s(plan, step) or plan.max_hold_s
    if step.part == Part.RECOVERY:
        since, most = (step.served_at, most) if step.served_at else (since, min(BACK_WITHIN_S, plan.max_hold_s))
    return max(since + most - now, 0.0)


def is_warm(plan: Plan, sight: Sight, lasted_s: float) -> bool:
    """Whether a warm-up that has lasted so long is over."""
    if plan.warmup_s is not None:
        return lasted_s >= plan.warmup_s
    return lasted_s > 0 and (sight.warm or lasted_s >= WARMUP_AT_MOST_S)


def is_drained(plan: Plan, sight: Sight, closed_for_s: float) -> bool:
    """Whether nothing is in flight, by what was told after the gate was closed, or the time for it is over."""
    if plan.drain_s is not None and closed_for_s >= plan.drain_s:
        return True
    if closed_for_s <= 0:
        return False
    return sight.in_flight == 0 or (sight.in_flight is None and closed_for_s >= SILENT_FOR_S)
