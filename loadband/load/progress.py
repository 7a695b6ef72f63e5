"""What a person sees while a run goes on: one live line, and one line for each level that ended.

Knows: how to say it. Must not know: Locust, files, how a level is chosen. Standard output is the report's.
"""

import sys
from dataclasses import dataclass
from typing import TextIO

from loadband.load.course import Part
from loadband.load.ladder import Ladder
from loadband.load.step import EndedBy, Phase, Sight, Step
from loadband.plan import Plan


class Progress:
    """Lines on standard error; on a terminal the live line is rewritten in place."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._live = False
        self._moment: str | None = None

    def say(self, sentence: str) -> None:
        """A line that stays."""
        self._write(f"{self._wipe()}loadband: {sentence}\n")
        self._live = False

    def live(self, sentence: str, moment: str | None = None) -> None:
        """The line of now. Where it could not be rewritten, the first line of each `moment` stays; of None, none."""
        if self._terminal:
            self._write(f"{self._wipe()}loadband: {sentence}")
            self._live = True
        elif moment is not None and moment != self._moment:
            self.say(sentence)
        self._moment = moment

    def _wipe(self) -> str:
        return "\r\x1b[K" if self._live else ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@dataclass(frozen=True, slots=True)
class Told:
    """Figures of the level in force, as far as they came in. The report computes its own."""

    steps: int | None
    """Levels of the whole plan, over all passes; None where they are chosen on the way."""
    in_flight: float
    tokens_s: float | None
    ttft_p95_s: float | None
    failed: int


def live_line(ladder: Ladder, sight: Sight, told: Told) -> str:
    """What goes on now."""
    step = ladder.current
    if step is None:
        rates = ladder.plan.rates
        words = {
            Phase.WARMUP: f"warming up at {rates[0]:g} requests/s" if rates else f"warming up with {_users(sight)}",
            Phase.DRAIN: f"waiting for {_in_flight(sight)} in flight",
            Phase.LEAVE: "the last ones leave" if rates else f"{_users(sight)} leave",
        }
        return words.get(ladder.phase or Phase.DONE, "done")
    if step.reached_at is None and step.rate is not None:
        return f"{_title(step, told)}: its schedule begins"
    if step.reached_at is None:
        return f"{_title(step, told)}: {sight.users} of {step.target} users are there"
    if step.hold_from is None:
        return f"{_title(step, told)}: settling, {told.in_flight:.0f} in flight"
    left = ladder.remaining_s(sight.now)
    rest = "" if left is None else f", {left:.0f} s left at most" if ladder.plan.hold.auto else f", {left:.0f} s left"
    return f"{_title(step, told)}: {_figures(told)}{rest}"


def moment_of(ladder: Ladder, sight: Sight) -> str | None:
    """What a log should tell the begin of: a warm-up, a level that settles, a drain. A level's end is told anyway."""
    step = ladder.current
    if step is not None:
        settles = step.reached_at is not None and step.hold_from is None
        return f"settling {step.step}" if settles else None
    begun = {Phase.WARMUP: sight.users > 0, Phase.DRAIN: sight.in_flight != 0}
    return f"{ladder.phase} {ladder.repeat}" if ladder.phase and begun.get(ladder.phase) else None


def step_line(step: Step, told: Told) -> str:
    """What came of a step."""
    if step.hold_from is None or step.hold_to is None:
        why = {
            EndedBy.NOT_REACHED: "its users did not come", EndedBy.TARGET_LOST: "the target went away",
            EndedBy.WORKER_LOST: "a worker was lost", EndedBy.GUARD: "a guard fired",
        }  # fmt: skip
        return f"{_title(step, told)}: not measured, {why.get(EndedBy(step.ended_by or EndedBy.STOPPED), 'stopped')}"
    return f"{_title(step, told)}: {_figures(told)}, held {step.hold_to - step.hold_from:.0f} s"


def loss_line(step: Step, plan: Plan | None) -> str:
    """What comes of it that the target went away during a step."""
    if step.part == Part.RECOVERY:
        return "the target did not come back: the run ends here"
    follows = plan is not None and (plan.recover or plan.spike_s is not None)
    return f"the target went away at {_load(step)}: " + (
        "is it back with less load?" if follows else "the run ends here"
    )


def _title(step: Step, told: Told) -> str:
    if step.part != Part.LEVEL:
        return f"{_load(step)} ({step.part})"
    place = f"level {step.step}" if told.steps is None else f"{step.step} of {told.steps}"
    return f"{_load(step)} ({place})"


def _load(step: Step) -> str:
    if step.rate is not None:
        return f"{step.rate:g} requests/s"
    return f"{step.target} {'user' if step.target == 1 else 'users'}"


def _figures(told: Told) -> str:
    tokens = "" if told.tokens_s is None else f"about {told.tokens_s:,.0f} tokens/s, "
    ttft = "" if told.ttft_p95_s is None else f"TTFT p95 {told.ttft_p95_s:.2f} s, "
    return f"{told.in_flight:.1f} in flight, {tokens}{ttft}{told.failed} failed"


def _users(sight: Sight) -> str:
    return f"{sight.users} user{'s' if sight.users != 1 else ''}"


def _in_flight(sight: Sight) -> str:
    if sight.in_flight is None:
        return "requests"
    return f"{sight.in_flight} request{'s' if sight.in_flight != 1 else ''}"
