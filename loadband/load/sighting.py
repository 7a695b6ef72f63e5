"""What the ladder is shown of a run, from what the master's pen has written down.

Knows: the pen's sums, the step in force. Must not know: the ladder, Locust, files.
"""

from collections.abc import Set as AbstractSet

from loadband.load.pen import Pen
from loadband.load.step import Sight, Step
from loadband.record import Status

TOLD_WITHIN_S = 1.0
"""Processes report once a second."""


def sight_of(
    pen: Pen,
    step: Step | None,
    now: float,
    *,
    in_flight: int | None,
    shed_counts: bool,
    scenarios: AbstractSet[str],
    workers_gone: int,
    guarded: bool,
) -> Sight:
    """The sight of Unix second `now`, with the step in force; `shed_counts`: a refused request counts as failed."""
    hold_from = step.hold_from if step is not None else None
    complete = now - (pen.e2e_p95_s or 0.0) - TOLD_WITHIN_S
    return Sight(
        now=now,
        users=pen.users,
        in_flight=in_flight,
        ok=pen.totals.by_status[Status.OK],
        ended=pen.totals.ended,
        failed=pen.totals.failed_by_server - (0 if shed_counts else pen.totals.throttled),
        e2e_mean_s=pen.e2e_mean_s,
        e2e_p95_s=pen.e2e_p95_s,
        tokens_by_second=pen.tokens_between(hold_from, complete) if hold_from is not None else (),
        warm=pen.answered >= scenarios,
        target_lost=pen.target_lost,
        unreached=pen.unreached,
        workers_gone=workers_gone,
        held=pen.tally.held(now),
        guarded=guarded,
    )
