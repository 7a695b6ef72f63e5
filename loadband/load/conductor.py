"""One test as the master sees it: probe, run directory, pen, ladder, and the messages to the users' processes.

Knows: what belongs to a test, from start to end. Must not know: sockets, the wire, how records are made.
"""

import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gevent
from locust.env import Environment

from loadband.errors import LoadbandError
from loadband.load import progress
from loadband.load.aftermath import Aftermath
from loadband.load.agent import GATE, STEP, WORK
from loadband.load.guard_post import GuardPost
from loadband.load.hold_tally import tally_of
from loadband.load.ladder import Ladder
from loadband.load.locust_tables import LocustTables
from loadband.load.marks import mark_of, warmup_mark
from loadband.load.opening import open_again, open_new
from loadband.load.pen import Pen
from loadband.load.probe import Found
from loadband.load.resumption import Past
from loadband.load.roll import Roll
from loadband.load.run_json import run_of
from loadband.load.run_state import UNWRITABLE
from loadband.load.session import Work
from loadband.load.sighting import sight_of
from loadband.load.step import Action, EndedBy, Phase, Sight, Step
from loadband.plan import Plan
from loadband.record import Status

LOST_TARGET, LOST_WORKERS, FAILURE, GUARD = "target_lost", "workers_lost", "failure", "guard"

SPAWN_PER_SECOND = 100.0
"""Users that Locust spawns per second and worker without a warning; their starts are spread by the users themselves."""


class Conductor:
    """One test, from `begin` to `finish`."""

    def __init__(
        self,
        environment: Environment,
        roll: Roll | None,
        plan: Plan | None,
        ramp_users_s: float | None,
        console: progress.Progress,
        *,
        clock: Callable[[], float] = time.time,
        between_passes: Callable[[], None] = lambda: None,
        guards: GuardPost | None = None,
        aftermath: Aftermath | None = None,
        past: Past | None = None,
    ) -> None:
        """`ramp_users_s`: users per second of every level, None where their starts are spread by themselves.

        `between_passes` is called when the users of one pass are gone and before the next; it may raise LoadbandError.
        `past`: the run that is gone on with.
        """
        self._environment = environment
        self._roll = roll
        self._clock = clock
        self._progress = console
        self._failed_before = 0
        self._between_passes = between_passes
        self._guards = guards or GuardPost(None)
        self._aftermath = aftermath or Aftermath()
        self._guarded = False
        self._pass = 1
        self.workers_gone = 0
        """Workers that died or left while the test ran."""
        self.stopping = False
        """Locust stops the test: workers that leave now are not missed."""
        self.plan = plan
        self.ladder = Ladder(plan, ramp_users_s=ramp_users_s) if plan else None
        self._rate = ramp_users_s
        self._gate_open = True
        self._gate_epoch = 0
        self._past = past
        self._recovery: dict[str, Any] | None = None
        self.how: str | None = None
        self.unwritable = False
        """The disk took no more: the run ends."""
        self.path: Path | None = None
        self._ticker: gevent.Greenlet[[], None] | None = None

    def begin(self, path: Path, work: Work, found: Found, run: dict[str, Any]) -> None:
        """The test starts: its directory, its files, its work for every process. Raises UsageError."""
        facts, now = run_of(work, found, self.plan) | run, self._clock()
        if self._past is not None and self.ladder is not None:
            opened = open_again(self._past, self.ladder, facts, now)
            self._pass = self.ladder.repeat
            self._progress.say(self._past.sentence())
        else:
            opened = open_new(path, facts, now)
        self.path, self._opened, self._state = path, opened, opened.state
        self._scenarios = frozenset(work.mix)
        self._began_with = work.workers
        if self.ladder is not None:
            self.ladder.sources = work.workers
        self.pen = Pen(
            opened.directory,
            tells_users=not (self.plan and self.plan.rates),
            tally=tally_of(self.plan),
            shown=self._guards.add,
        )
        self._guards.begin()
        self._tables = LocustTables(self._environment, opened.tables)
        self._send(WORK, asdict(work))
        self._ticker = gevent.spawn(self._tick_each_second)

    def absorb(self, report: dict[str, Any]) -> None:
        """A report of one process."""
        if self.path is None or self.how is not None:
            return
        self._write(lambda: self._state.hear(report))
        self._write(lambda: self.pen.absorb(report, self._clock()))

    def look(self) -> Action:
        """One look of the ladder at the run, carried out."""
        ladder = self.ladder
        if ladder is None:
            raise RuntimeError("a ladder was looked at in a run without a plan")
        now = self._clock()
        before, phase, climb = ladder.current, ladder.phase, ladder.climb
        self._look_at_the_guards(now)
        sight = self._sight(now)
        action = ladder.look(sight)
        if action.ended is not None:
            self._step_ended(action.ended, sight)
        if ladder.climb is not climb and ladder.climb.why is not None:
            self._progress.say(ladder.climb.why)
        if ladder.current is not None and ladder.current is not before:
            self._next_pass(ladder.current.repeat)
            self._send(STEP, asdict(mark_of(ladder.current, action.spread_s)))
        elif ladder.phase != phase and ladder.phase == Phase.WARMUP:
            self._send(STEP, asdict(warmup_mark(ladder, action.users, now)))
        if ladder.current is not None and ladder.current.hold_from == now:
            self.pen.tally.begin(now)
            self._write(functools.partial(self.pen.write_step, ladder.current.row()))  # a kill must not lose the hold
        self._look_after(now, ladder.current)
        if action.gate_open != self._gate_open:
            self._move_gate(action.gate_open)
        if action.ended is not None:
            self._write(lambda: self._state.levels_came_to(ladder.held, self.plan))
        if action.finished:
            ended = GUARD if self._guarded else FAILURE if ladder.failed else "plan"
            self._state.ends(LOST_TARGET if self.pen.target_lost else ended)
        self._progress.live(progress.live_line(ladder, sight, self._told(sight)), progress.moment_of(ladder, sight))
        return action

    def _look_after(self, now: float, step: Step | None) -> None:
        """Of a step that follows too much load the report is to know more."""
        told = self._aftermath.look(now, step)
        if told is not None and told != self._recovery:
            self._recovery = told
            self._write(lambda: self._state.write(recovery=told))

    def _next_pass(self, repeat: int) -> None:
        """Do what is asked for between passes; where it fails, go on and tell it."""
        if repeat == self._pass:
            return
        self._pass = repeat
        try:
            self._between_passes()
        except LoadbandError as error:
            self._progress.say(str(error))
            self._state.find(f"before pass {repeat}: {error}")

    def call_the_roll(self) -> None:
        """Book what died with a worker, and say who came late."""
        if self._roll is None or self.stopping:
            return
        for name, left in self._roll.newly_gone():
            self.workers_gone += 1
            open_now = len(self.pen.workers[name].open) if name in self.pen.workers else 0
            what = "left" if left else f"was lost, with {open_now} requests in flight"
            counts = "this level ends and does not count" if self.ladder else "its users are gone until the next start"
            self._progress.say(f"worker {name} {what}: {counts}")
            if name in self.pen.workers:
                self._write(functools.partial(self.pen.lose, name, self._clock()))
        for sentence in self._roll.newly_late():
            self._progress.say(sentence)

    @property
    def spawn_rate(self) -> float:
        """Users per second for Locust's dispatcher."""
        return self._rate or SPAWN_PER_SECOND * max(self._began_with - self.workers_gone, 1)

    def finish(self, how: str) -> None:
        """The test is over: the last rows, `run.json`, closed files. May be called twice."""
        if self.path is None or self.how is not None:
            return
        if self._ticker is not None:
            self._ticker.kill()
        if self._roll is not None:
            self._roll.dismiss()
        self._guards.end()
        self._aftermath.end()
        now = self._clock()
        if self.workers_gone and not self.pen.workers:
            how = LOST_WORKERS
        self._state.ends(UNWRITABLE if self.unwritable else how)
        self.how = self._state.how
        with contextlib.suppress(OSError):
            self._tables.finish(now)
        with contextlib.suppress(OSError):
            if self.ladder is not None and (step := self.ladder.stop(now)) is not None:
                self.pen.write_step(step.row())
            self._book_the_silent(now)
            self.pen.finish(now)
        with contextlib.suppress(OSError):
            self._state.write(ended=now, guards=self._guards.rows())
        self._opened.claim.release()

    def _sight(self, now: float) -> Sight:
        return sight_of(
            self.pen, self.ladder.current if self.ladder else None, now,
            in_flight=self.pen.in_flight_since(self._gate_epoch, len(self.pen.workers)),
            shed_counts=self.plan is None or self.plan.shedding_fails,
            scenarios=self._scenarios,
            workers_gone=self.workers_gone,
            guarded=self._guarded,
        )  # fmt: skip

    def _look_at_the_guards(self, now: float) -> None:
        fired = self._guards.look(now)
        if fired is not None and not self._guarded:
            self._guarded = True
            self._progress.say(f"{fired.sentence()}: the run ends here (--stop-when)")

    def _told(self, sight: Sight) -> progress.Told:
        """What the console says of the level in force."""
        tokens = sight.tokens_by_second
        return progress.Told(
            steps=self.plan.holds if self.plan and not self.plan.chooses else None,
            in_flight=self.pen.in_flight,
            tokens_s=sum(tokens) / len(tokens) if tokens else None,
            ttft_p95_s=self.pen.ttft_p95_s,
            failed=self.pen.totals.by_status[Status.FAILED] - self._failed_before,
        )

    def _step_ended(self, step: Step, sight: Sight) -> None:
        self._write(lambda: self.pen.write_step(step.row()))
        self._progress.say(progress.step_line(step, self._told(sight)))
        self._failed_before = self.pen.totals.by_status[Status.FAILED]
        if step.ended_by == EndedBy.TARGET_LOST:
            self._progress.say(progress.loss_line(step, self.plan))
        if step.ended_by == EndedBy.FAILURE:
            self._progress.say(
                f"a failure is confirmed at level {step.rate or step.target:g}: no further level (--until-failure)"
            )

    def _move_gate(self, is_open: bool) -> None:
        self._gate_open = is_open
        self._gate_epoch += 1
        self._send(GATE, {"open": is_open, "epoch": self._gate_epoch})

    def _send(self, message: str, data: dict[str, Any]) -> None:
        if self._environment.runner is not None:
            self._environment.runner.send_message(message, data)

    def _tick_each_second(self) -> None:
        while True:
            now = self._clock()
            gevent.sleep(1.0 - now % 1.0 + 0.05)
            self.call_the_roll()
            self._write(lambda: self.pen.tick(self._clock()))

    def _book_the_silent(self, now: float) -> None:
        """What a worker had in flight when the test ended, and never told the end of, is lost."""
        for name in [name for name, worker in self.pen.workers.items() if worker.open]:
            lost = self.pen.lose(name, now)
            self._progress.say(
                f"worker {name} did not tell how its last {lost} requests ended: they are booked as lost"
            )

    def _write(self, action: Callable[[], object]) -> None:
        """Write; when the disk takes no more, say so once and end the run: what is there is kept."""
        if self.unwritable:
            return
        try:
            action()
        except OSError as error:
            self.unwritable = True
            self._progress.say(f"cannot write to {self.path} ({error.strerror}): the run ends, what is there is kept")
            if self._environment.runner is not None:
                gevent.spawn(self._environment.runner.quit)
