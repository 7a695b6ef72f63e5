"""The ladder: which level now, and since when it counts. A pure state machine, `(what is seen) -> action`.

Knows: the plan, and the moments of each step. Must not know: Locust, sockets, files; it reads no clock.

Each step is asked for, reached when the users are there, settles, is held, and ends; after the last one the gate is
closed, and when nothing is in flight the users go home. Looking twice at the same sight changes nothing more.
Times are Unix seconds on the master's clock.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from loadband.plan import Hold, Plan

SETTLE_AT_LEAST_S = 2.0
AUTO_HOLD_AT_LEAST_S = 30.0
AUTO_HOLD_ROUNDS = 3
AUTO_HOLD_SUCCESSES = 30
AUTO_HOLD_ERROR = 0.02
BATCHES = 10
"""Batch means for the standard error of tokens/s."""

REACH_WITHIN_S = 60.0
"""Users that are not there this long after they should be will not come: the level is given up, unmeasured."""

SILENT_FOR_S = 60.0
"""A process that has not told what it has in flight this long after the gate was closed is gone: the drain is over."""


class EndedBy(StrEnum):
    """Why a step ended."""

    HOLD = "hold"
    MAX_HOLD = "max_hold"
    NOT_REACHED = "not_reached"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Sight:
    """What the ladder sees at one moment."""

    now: float
    users: int
    in_flight: int | None
    """None while not every process has told since the gate moved."""
    ok: int
    """Successes since the start of the run."""
    ended: int
    """Requests that ended, in any way, since the start of the run."""
    e2e_mean_s: float | None = None
    """Of the newest successes."""
    e2e_p95_s: float | None = None
    tokens_by_second: Sequence[float] = ()
    """Output tokens of each whole second of the hold that is complete."""


@dataclass(slots=True)
class Step:
    """One row of `steps.csv`."""

    step: int
    repeat: int
    target: int
    asked_at: float
    reached_at: float | None = None
    hold_from: float | None = None
    hold_to: float | None = None
    ended_by: str | None = None

    def row(self) -> list[object]:
        """Values in column order."""
        return [
            self.step, self.repeat, self.target, None, self.asked_at, self.reached_at,
            self.hold_from, self.hold_to, self.ended_by,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """What is to be done now. Asked for again at every look until something changes."""

    users: int
    spread_s: float = 0.0
    """The new users begin spread over this time."""
    gate_open: bool = True
    finished: bool = False
    ended: Step | None = None
    """The step that ended at this look."""


@dataclass(slots=True)
class Ladder:
    """Climbs a plan. `look` about once a second."""

    plan: Plan
    ramp_users_s: float | None = None
    """Users per second of every level (`-r`); None: all at once, their starts spread over one mean E2E."""
    current: Step | None = None
    """The step in force."""
    _next: int = 0
    _spread_s: float = 0.0
    _settled_from: float = 0.0
    _ok_before: int = 0
    _ended_before: int = 0
    _draining_since: float | None = None
    _users: int = 0
    """Users of the newest step: while draining no others come."""
    _ended: Step | None = field(default=None, repr=False)

    def look(self, sight: Sight) -> Action:
        """The action for what is seen."""
        self._ended = None
        if self.current is None and self._draining_since is None:
            self._begin(sight)
        if self.current is not None:
            self._advance(self.current, sight)
        if self.current is not None:
            return Action(self.current.target, self._spread_s, ended=self._ended)
        drained = self._drained(sight)
        finished = drained and sight.users == 0
        return Action(0 if drained else self._users, gate_open=False, finished=finished, ended=self._ended)

    def stop(self, now: float) -> Step | None:
        """The run is stopped from outside: the step in force as far as it came."""
        step = self.current
        if step is not None:
            self._end(step, now, EndedBy.STOPPED)
        if self._draining_since is None:
            self._draining_since = now
        return step

    def remaining_s(self, now: float) -> float | None:
        """Seconds that the hold in force still takes at most; None outside a hold or when it counts requests."""
        step, hold = self.current, self.plan.hold
        if step is None or step.hold_from is None or hold.requests is not None:
            return None
        return max(step.hold_from + (hold.seconds or self.plan.max_hold_s) - now, 0.0)

    def _begin(self, sight: Sight) -> None:
        level = self.plan.levels[self._next]
        self._next += 1
        self._users = level
        self.current = Step(self._next, 1, level, asked_at=sight.now)
        self._spread_s = 0.0 if self.ramp_users_s else (sight.e2e_mean_s or 0.0)

    def _drained(self, sight: Sight) -> bool:
        """Whether nothing is in flight, by what was told after the gate was closed."""
        closed_for = sight.now - (self._draining_since or 0.0)
        if closed_for <= 0:
            return False
        return sight.in_flight == 0 or (sight.in_flight is None and closed_for >= SILENT_FOR_S)

    def _advance(self, step: Step, sight: Sight) -> None:
        if step.reached_at is None:
            if sight.users != step.target:
                if sight.now > step.asked_at + self._ramp_s(step) + REACH_WITHIN_S:
                    self._next_after(step, sight, EndedBy.NOT_REACHED)
                return
            step.reached_at = sight.now
            self._settled_from = sight.now + self._spread_s
        if step.hold_from is None:
            if sight.now < self._settled_from + self._settle_s(sight):
                return
            step.hold_from = sight.now
            self._ok_before, self._ended_before = sight.ok, sight.ended
        elif reason := self._hold_is_over(step, sight):
            self._next_after(step, sight, reason)

    def _ramp_s(self, step: Step) -> float:
        return step.target / self.ramp_users_s if self.ramp_users_s else 0.0

    def _settle_s(self, sight: Sight) -> float:
        """Auto: one E2E p95, at least 2 s; while nothing has ended there is no E2E, and waiting goes on."""
        if self.plan.settle_s is not None:
            return self.plan.settle_s
        if sight.e2e_p95_s is None:
            return self.plan.max_hold_s
        return max(sight.e2e_p95_s, SETTLE_AT_LEAST_S)

    def _hold_is_over(self, step: Step, sight: Sight) -> EndedBy | None:
        held = sight.now - (step.hold_from or 0.0)
        hold: Hold = self.plan.hold
        if hold.seconds is not None:
            return EndedBy.HOLD if held >= hold.seconds else None
        if hold.requests is not None:
            if sight.ended - self._ended_before >= hold.requests:
                return EndedBy.HOLD
        elif held >= AUTO_HOLD_AT_LEAST_S and self._stands_still(step, sight):
            return EndedBy.HOLD
        return EndedBy.MAX_HOLD if held >= self.plan.max_hold_s else None

    def _stands_still(self, step: Step, sight: Sight) -> bool:
        ok = sight.ok - self._ok_before
        error = relative_error(sight.tokens_by_second)
        enough = ok >= max(AUTO_HOLD_SUCCESSES, AUTO_HOLD_ROUNDS * step.target)
        return enough and error is not None and error <= AUTO_HOLD_ERROR

    def _next_after(self, step: Step, sight: Sight, reason: EndedBy) -> None:
        self._end(step, sight.now, reason)
        if self._next < len(self.plan.levels):
            self._begin(sight)
        else:
            self._draining_since = sight.now

    def _end(self, step: Step, now: float, reason: EndedBy) -> None:
        if step.hold_from is not None:
            literal = self.plan.hold.seconds if reason == EndedBy.HOLD else None
            step.hold_to = step.hold_from + literal if literal is not None else now
        step.ended_by = reason
        self._ended = step
        self.current = None


def relative_error(values: Sequence[float]) -> float | None:
    """Standard error of the mean over the mean, by ten batch means; None with fewer than two values a batch."""
    size = len(values) // BATCHES
    if size < 2:
        return None
    means = [statistics.fmean(values[index * size : (index + 1) * size]) for index in range(BATCHES)]
    mean = statistics.fmean(means)
    return statistics.stdev(means) / math.sqrt(BATCHES) / mean if mean > 0 else None
