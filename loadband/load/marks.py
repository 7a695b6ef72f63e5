"""What the users' processes need to know of a step, and of the warm-up before the first one.

Knows: steps and marks. Must not know: how a mark travels.
"""

from loadband.load.ladder import FIRST_LEAD_S, Ladder
from loadband.load.session import StepMark
from loadband.load.step import Step


def mark_of(step: Step, spread_s: float) -> StepMark:
    """The mark of a step, whose new users begin spread over `spread_s` seconds."""
    return StepMark(
        step.step, step.repeat, step.first, step.target, spread_s,
        level=step.level, rate=step.rate, starts_at=step.starts_at or 0.0,
    )  # fmt: skip


def warmup_mark(ladder: Ladder, users: int, now: float) -> StepMark:
    """The mark of the warm-up with so many users, from Unix second `now` on: of an open loop at the first rate."""
    rate = ladder.plan.rates[0] if ladder.plan.rates else None
    return StepMark(repeat=ladder.repeat, target=users, warmup=True, rate=rate, starts_at=now + FIRST_LEAD_S)
