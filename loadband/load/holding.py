"""How long a step settles and is held, by its plan and by what is seen.

Knows: the plan's words for both, when numbers stand still. Must not know: which step comes next.
"""

from loadband.load.step import EndedBy, Sight, Step
from loadband.load.stillness import AUTO_HOLD_AT_LEAST_S, FAILURES_THAT_TELL, stands_still
from loadband.plan import Plan

SETTLE_AT_LEAST_S = 2.0


def settle_s(plan: Plan, step: Step, sight: Sight) -> float:
    """Auto: one E2E p95, at least 2 s; while nothing has ended there is no E2E, and waiting goes on."""
    if plan.settle_s is not None:
        return plan.settle_s
    if sight.e2e_p95_s is None:
        return SETTLE_AT_LEAST_S if sight.ended >= max(step.target, FAILURES_THAT_TELL) else plan.max_hold_s
    return max(sight.e2e_p95_s, SETTLE_AT_LEAST_S)


def is_over(plan: Plan, step: Step, sight: Sight, ok: int, ended: int) -> EndedBy | None:
    """Why the hold in force is over, with so many successes and ends inside it; None: it is not."""
    held = sight.now - (step.hold_from or 0.0)
    hold = plan.hold
    if hold.seconds is not None:
        return EndedBy.HOLD if held >= hold.seconds else None
    if hold.requests is not None:
        if ended >= hold.requests:
            return EndedBy.HOLD
    elif held >= AUTO_HOLD_AT_LEAST_S and stands_still(step, ok, ended, sight.tokens_by_second):
        return EndedBy.HOLD
    return EndedBy.MAX_HOLD if held >= plan.max_hold_s else None
