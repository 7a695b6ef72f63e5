"""A process that runs users: worker or local.

Knows: the master's messages, and how this process reports. Must not know: files, levels, the target's faults.

Messages arrive in the order in which they were sent: `loadband_work` and `loadband_step` come before the spawn
message that acts on them.
"""

import gc
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import gevent
from locust.env import Environment
from locust.runners import LocalRunner, WorkerRunner

from loadband.errors import UnansweredError, complain
from loadband.load.clock_sync import ClockSync
from loadband.load.dataset import Dataset
from loadband.load.health import Health
from loadband.load.read_thread import read_lags
from loadband.load.session import Session, StepMark, Work
from loadband.load.token_clock import nearest_rank
from loadband.rundir import EVENT_LOOP

WORK, STEP, GATE, DATASET = "loadband_work", "loadband_step", "loadband_gate", "loadband_dataset"


STILL_WITHIN_S = 5.0
"""Users that are stopped have booked what they had in flight by then."""

DRAIN_SEEN_EVERY_S = 0.05


class Agent:
    """The users' side of one process, over all its tests."""

    def __init__(
        self, environment: Environment, runner: WorkerRunner | LocalRunner, send_report: Callable[[], None]
    ) -> None:
        """`send_report` sends the next report now, and not when its second is over."""
        self._environment = environment
        self._runner = runner
        self._send_report = send_report
        self._health = Health()
        self._clock = ClockSync(runner) if isinstance(runner, WorkerRunner) else None
        self._work: Work | None = None
        self._step = StepMark()
        self.session: Session | None = None
        self._dataset = Dataset()
        runner.register_message(DATASET, self._on_dataset)
        runner.register_message(WORK, self._on_work)
        runner.register_message(STEP, self._on_step)
        runner.register_message(GATE, self._on_gate)

    def begin(self) -> None:
        """A test starts. The work was sent before; none means that the master refused the test."""
        self.session = None
        self._environment.loadband_session = None  # type: ignore[attr-defined]
        if self._work is None:
            return
        if self._work.dataset != (self._dataset.digest if len(self._dataset) else None):
            complain(UnansweredError("the data set did not come whole from the master: start this worker anew"))
            self._runner.quit()
            return
        index = max(self._runner.worker_index, 0)
        name = "local" if isinstance(self._runner, LocalRunner) else f"w{index}"
        wall_offset = self._clock.wall_offset() if self._clock else time.time() - time.perf_counter()
        self.session = Session(self._work, name, index, wall_offset)
        self.session.step = self._step
        self.session.dataset = self._dataset
        self._environment.loadband_session = self.session  # type: ignore[attr-defined]
        self._health.start()
        _collect_seldom()

    def report(self) -> dict[str, Any] | None:
        """What happened since the last report; None before the first test."""
        session = self.session
        if session is None:
            return None
        lags, cpu = self._health.take()
        step, second = session.step.number, int(session.wall())
        session.ledger.observe("lag", lags, step, second)
        session.ledger.observe("read_lag", read_lags(), step, second)
        lags.sort()
        return {
            **session.take_report(),
            "users": self._runner.user_count,
            "lag_p50_s": nearest_rank(lags, 50),
            "lag_p99_s": nearest_rank(lags, 99),
            "cpu": cpu,
            "state": self._runner.state,
            "host": socket.gethostname(),
            "cores": os.cpu_count(),
            "reader": EVENT_LOOP if session.read_in_loop else "thread",
            "clock_offset_s": self._clock.offset_s if self._clock else None,
            "clock_error_s": self._clock.error_s if self._clock else None,
        }

    def tell_users(self) -> None:
        """The users that were asked for are there, or gone: the master waits for it."""
        if self.session is not None:
            self._send_report()

    def wait_until_still(self) -> None:
        """Wait until what was stopped is booked.

        Where this process is stopped twice at once, by its own signal and by the master, the second stop comes back
        before the first has ended the users.
        """
        until = time.monotonic() + STILL_WITHIN_S
        while self.session is not None and self.session.ledger.in_flight and time.monotonic() < until:
            gevent.sleep(0.01)

    def _on_work(self, msg: Any, **_: Any) -> None:
        self._work = Work(**msg.data) if msg.data else None
        self._step = StepMark()

    def _on_dataset(self, msg: Any, **_: Any) -> None:
        self._dataset.add(msg.data)

    def _on_step(self, msg: Any, **_: Any) -> None:
        self._step = StepMark(**msg.data)
        if self.session is not None:
            self.session.enter(self._step)

    def _on_gate(self, msg: Any, **_: Any) -> None:
        if self.session is None:
            return
        self.session.gate_epoch = msg.data["epoch"]
        if msg.data["open"]:
            self.session.gate.set()
        else:
            self.session.gate.clear()
            gevent.spawn(self._tell_when_drained, self.session, self.session.gate_epoch)

    def _tell_when_drained(self, session: Session, epoch: int) -> None:
        """The master waits for the last answer: it is told at once."""
        while session.ledger.in_flight:
            gevent.sleep(DRAIN_SEEN_EVERY_S)
        if session is self.session and session.gate_epoch == epoch:
            self._send_report()


def _collect_seldom() -> None:
    """Search for cycles a hundred times more seldom: reads and tokens make none, and each search would delay stamps."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(70_000, 20, 50)
