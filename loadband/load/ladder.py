"""The ladder: which level now, and since when it counts. A pure state machine, `(what is seen) -> action`.

Knows: the plan, and the moments of each step. Must not know: Locust, sockets, files; it reads no clock.

Each step is asked for, reached when the users are there, settles, is held, and ends; after the last one the gate is
closed, and when nothing is in flight the users go home. Looking twice at the same sight changes nothing more.
Times are Unix seconds on the master's clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loadband.load.course import Climb, Course, Held, Part
from loadband.load.courses import course_of
from loadband.load.failure_watch import FailureWatch
from loadband.load.holding import is_drained, is_over, is_warm, literal_s, remaining_s, settle_s
from loadband.load.recovering import fall
from loadband.load.step import Action, EndedBy, Phase, Sight, Step
from loadband.plan import Plan

LEAD_S, FIRST_LEAD_S = 0.5, 1.5
"""A schedule begins so long after it was asked for; the first one waits for its processes too."""

REACH_WITHIN_S = 60.0
"""Users that are not there this long after they should be will not come: the level is given up, unmeasured."""

LOSS_SHOWS_WITHIN_S = 5.0
"""A hold is over while the newest requests find no server: so long until it is known whether the target is gone."""


MEASURED = (EndedBy.HOLD, EndedBy.MAX_HOLD, EndedBy.FAILURE)
"""Steps that end so have numbers."""


@dataclass(slots=True)
class Ladder:
    """Climbs a plan. `look` several times a second."""

    plan: Plan
    ramp_users_s: float | None = None
    """Users per second of every level (`-r`); None: all at once, their starts spread over one mean E2E."""
    sources: int = 1
    """Users that send the arrivals of an open loop, one a process."""
    phase: Phase | None = None
    """None before the first look."""
    current: Step | None = None
    """The step in force; None in warm-up and while draining."""
    repeat: int = 1
    """The pass, from 1: from one drain to the next."""
    failed: bool = False
    """A pass ended at a confirmed failure."""
    held: list[Held] = field(default_factory=list)
    """What the levels came to, in order."""
    climb: Climb = field(init=False)
    """The levels of this climb."""
    course: Course = field(init=False)
    _climbs: int = 0
    _steps: int = 0
    _level: int = 0
    _since: float = 0.0
    """When the phase began."""
    _spread_s: float = 0.0
    _settled_from: float = 0.0
    _ok_before: int = 0
    _ended_before: int = 0
    _failed_before: int = 0
    _over_since: float | None = None
    """When the hold in force was first found to be over."""
    _watch: FailureWatch = field(default_factory=FailureWatch, repr=False)
    _users: int = 0
    """Users that are asked for."""
    _workers_gone: int = 0
    _last_pass: bool = False
    _fell: bool = False
    """The load fell after a failure, or the top level."""
    _ended: Step | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.course = course_of(self.plan)
        self.climb = self.course.next_climb(0, ())

    def look(self, sight: Sight) -> Action:
        """The action for what is seen."""
        self._ended = None
        if self.phase is None:
            self._start(sight)
        if sight.target_lost and self.plan.stop_when_lost and self.phase in (Phase.WARMUP, Phase.CLIMB):
            self._break_off(sight, EndedBy.TARGET_LOST)
        elif sight.guarded and self.phase in (Phase.WARMUP, Phase.CLIMB):
            self._break_off(sight, EndedBy.GUARD)
        if sight.workers_gone > self._workers_gone:
            self._workers_gone = sight.workers_gone
            self._lose_users(sight)
        if self.phase == Phase.WARMUP and is_warm(self.plan, sight, sight.now - self._since):
            self._begin(sight, first=self._users)
        if self.phase == Phase.CLIMB and self.current is not None:
            self._advance(self.current, sight)
        if self.phase == Phase.DRAIN and is_drained(self.plan, sight, sight.now - self._since):
            self._enter(Phase.LEAVE, sight.now)
            self._users = 0
        if self.phase == Phase.LEAVE and sight.users == 0:
            self._next_pass(sight)
        return Action(
            self._users,
            self._spread_s if self.current is not None else 0.0,
            gate_open=self.phase in (Phase.WARMUP, Phase.CLIMB),
            finished=self.phase == Phase.DONE,
            ended=self._ended,
        )

    def go_on_after(self, held: Sequence[Held]) -> bool:
        """Before the first look: these levels were held already. Whether any is left."""
        for each in held:
            if not self.climb.levels:
                break
            level = self.climb.levels[self._level]
            self._steps += 1
            self._level += 1
            self.held.append(each)
            self.failed = self.failed or each.confirmed
            self._watch.confirms(each.ok, each.failed)
            if each.confirmed or not (self._level < len(self.climb.levels) or self._climbs_on(level)):
                self._passes_on()
        return bool(self.climb.levels)

    def stop(self, now: float) -> Step | None:
        """The run is stopped from outside: the step in force as far as it came."""
        self._ended = None
        self._give_up(now, EndedBy.STOPPED)
        return self._ended

    def remaining_s(self, now: float) -> float | None:
        """Seconds that the hold in force still takes at most; None outside a hold or when it counts requests."""
        return None if self.current is None else remaining_s(self.plan, self.current, now)

    def _enter(self, phase: Phase, now: float) -> None:
        self.phase, self._since = phase, now

    def _start(self, sight: Sight) -> None:
        if self.plan.warmup_s == 0:
            self._begin(sight, first=0)
        else:
            self._users = self._target(0)
            self._enter(Phase.WARMUP, sight.now)

    def _begin(self, sight: Sight, first: int) -> None:
        """Ask for the next level; `first` users are there already."""
        target = self._target(self._level)
        rate = self.climb.levels[self._level] if self.plan.rates else None
        part = self.climb.part(self._level)
        self._level += 1
        self._steps += 1
        self._users = target
        at_once = self.ramp_users_s or rate or part != Part.LEVEL
        self._spread_s = 0.0 if at_once else (sight.e2e_mean_s or 0.0)
        starts_at = sight.now + (LEAD_S if first else FIRST_LEAD_S) if rate else None
        self.current = Step(
            self._steps, self.repeat, target, asked_at=sight.now, first=first, rate=rate, level=self._level,
            starts_at=starts_at, part=part,
        )  # fmt: skip
        self._enter(Phase.CLIMB, sight.now)

    def _target(self, level: int) -> int:
        """Users of a level, by its place from 0."""
        return self.sources if self.plan.rates else int(self.climb.levels[level])

    def _advance(self, step: Step, sight: Sight) -> None:
        if step.reached_at is None:
            if sight.users != step.target:
                if sight.now > step.asked_at + self._ramp_s(step) + REACH_WITHIN_S:
                    self._next_after(step, sight, EndedBy.NOT_REACHED)
                return
            if step.starts_at is not None and sight.now < step.starts_at:
                return
            step.reached_at = sight.now
            self._settled_from = sight.now + (self._spread_s if step.first < step.target else 0.0)
        if step.hold_from is None:
            if sight.now < self._settled_from + settle_s(self.plan, step, sight):
                return
            step.hold_from = sight.now
            self._ok_before, self._ended_before, self._failed_before = sight.ok, sight.ended, sight.failed
            self._over_since = None
            return
        ok, ended = sight.ok - self._ok_before, sight.ended - self._ended_before
        if ok and step.served_at is None:
            step.served_at = sight.now
        if (reason := is_over(self.plan, step, sight, ok, ended)) and not self._loss_may_show(sight):
            watched = self.plan.until_failure and step.part == Part.LEVEL
            confirmed = watched and self._watch.confirms(ok, sight.failed - self._failed_before)
            self._next_after(step, sight, EndedBy.FAILURE if confirmed else reason)

    def _loss_may_show(self, sight: Sight) -> bool:
        """Whether to wait, so that an engine that just died is booked as gone and not for its last words."""
        if self._over_since is None:
            self._over_since = sight.now
        waited = sight.now - self._over_since
        return self.plan.until_failure and sight.unreached and waited < LOSS_SHOWS_WITHIN_S

    def _ramp_s(self, step: Step) -> float:
        return step.target / self.ramp_users_s if self.ramp_users_s else 0.0

    def _next_after(self, step: Step, sight: Sight, reason: EndedBy) -> None:
        self._end(step, sight.now, reason)
        confirmed = reason == EndedBy.FAILURE
        if step.part == Part.LEVEL:
            held = sight.held if reason in MEASURED and sight.held is not None else Held()
            self.held.append(replace(held, users=step.target, rate=step.rate, confirmed=confirmed))
        self.failed = self.failed or confirmed
        goes_on = not confirmed and self._level < len(self.climb.levels)
        if goes_on or (step.part == Part.LEVEL and self._goes_on_otherwise(step, reason)):
            self._begin(sight, first=step.target)
        else:
            self._enter(Phase.DRAIN, sight.now)

    def _goes_on_otherwise(self, step: Step, reason: EndedBy) -> bool:
        """Whether a climb that is over, or failed, is followed without a drain; what follows is begun then."""
        if reason != EndedBy.FAILURE and self._climbs_on(step.rate or step.target):
            return True
        return self.plan.recover and self.repeat >= self.plan.repeats and self._falls(step)

    def _falls(self, step: Step) -> bool:
        """Let the load fall, once; it is begun then."""
        if self._fell:
            return False
        self._fell = True
        self.climb = fall(self.plan, self.climb.levels, self.held, step.rate or step.target)
        self._level = len(self.climb.levels) - 1
        return True

    def _break_off(self, sight: Sight, reason: EndedBy) -> None:
        """The run ends, unless it is to be seen whether the target comes back: then that is all that is left."""
        step = self.current
        if step is not None and step.part == Part.RECOVERY:
            return
        if step is None or not (self.plan.recover or step.part == Part.SPIKE):
            self._give_up(sight.now, reason)
            return
        self._last_pass = True
        self.failed = self.failed or reason == EndedBy.TARGET_LOST
        self._end(step, sight.now, reason)
        if self.plan.recover:
            self._falls(step)
        self._level = len(self.climb.levels) - 1
        self._begin(sight, first=step.target)

    def _lose_users(self, sight: Sight) -> None:
        """A process went: the level ends, and the others climb the next one. A schedule lacks its share: it ends."""
        if self.plan.rates:
            self._give_up(sight.now, EndedBy.WORKER_LOST)
        elif self.current is not None:
            self._next_after(self.current, sight, EndedBy.WORKER_LOST)

    def _climbs_on(self, level: float) -> bool:
        """Whether the next climb goes on from this level; it is begun then."""
        climb = self.course.next_climb(self._climbs + 1, self.held)
        upwards = bool(climb.levels) and climb.levels[0] > level
        if upwards:
            self._take(climb)
        return upwards

    def _take(self, climb: Climb) -> None:
        self.climb, self._level = climb, 0
        self._climbs += 1

    def _give_up(self, now: float, reason: EndedBy) -> None:
        """No further level and no further pass."""
        self._last_pass = True
        if self.current is not None:
            self._end(self.current, now, reason)
        if self.phase not in (Phase.DRAIN, Phase.LEAVE, Phase.DONE):
            self._enter(Phase.DRAIN, now)

    def _next_pass(self, sight: Sight) -> None:
        if not self._last_pass and self._passes_on():
            self._begin(sight, first=0)
        else:
            self._enter(Phase.DONE, sight.now)

    def _passes_on(self) -> bool:
        """Whether there is another pass; it is taken then."""
        self._take(self.course.next_climb(self._climbs + 1, self.held))
        self.repeat += bool(self.climb.levels)
        self._watch = FailureWatch()
        return bool(self.climb.levels)

    def _end(self, step: Step, now: float, reason: EndedBy) -> None:
        if step.hold_from is not None:
            whole = reason in (EndedBy.HOLD, EndedBy.FAILURE) and step.part != Part.RECOVERY
            literal = literal_s(self.plan, step) if whole else None
            step.hold_to = step.hold_from + literal if literal is not None else now
        step.ended_by = reason
        self._ended = step
        self.current = None
