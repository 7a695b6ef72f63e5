"""How the master's or the only process ends when a signal comes, at whatever moment that is.

Knows: the moments of Locust's `main`: preparing, climbing, the web page, leaving. Must not know: what is booked, files.
"""

import sys

import gevent
from greenlet import greenlet
from locust.runners import Runner

from loadband.errors import ExitCode, UnansweredError
from loadband.load.signals import raise_in
from loadband.load.steward import Steward


class Ending:
    """What Ctrl-C and SIGTERM do."""

    def __init__(self, runner: Runner, main: greenlet) -> None:
        self._runner = runner
        self._main = main
        self.steward: Steward | None = None
        self.prepared = False
        """The target was asked and the workers are there: Locust's `main` goes on."""
        self.error = UnansweredError("stopped before any load")
        """What is said when it came while preparing."""
        self._came = False

    def refuse(self) -> None:
        """The program is refused and ends by itself: no signal is needed."""
        self._came = True

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._end("Ctrl-C", terminated=False)

    def terminate(self) -> None:
        """SIGTERM, or the terminal was closed. The page's process is ended by Locust's own handler."""
        self._end("told to end (SIGTERM)", terminated=True)

    def _end(self, by: str, *, terminated: bool) -> None:
        steward = self.steward
        if steward is not None:
            steward.terminated = steward.terminated or terminated
        if not self.prepared or steward is None:
            if not self._came:
                self.error = UnansweredError(f"{by}: stopped before any load")
                raise_in(self._main, KeyboardInterrupt())
        elif steward.headless:
            self._end_headless(by)
        elif not terminated and not steward.leaving:
            raise_in(self._main, KeyboardInterrupt())
        self._came = True

    def _end_headless(self, by: str) -> None:
        """Once the shape ends, Locust's `main` takes its way to the end by itself."""
        shape = self._runner.shape_greenlet
        if shape is not None:
            already = self._came or (self.steward is not None and self.steward.leaving)
            say = "ending already" if already else "ending: what is in flight is cut and booked"
            print(f"loadband: {by}: {say}", file=sys.stderr, flush=True)
            gevent.spawn(shape.kill)
        elif self.steward is not None and self.steward.conductor is None and not self._came:
            raise_in(self._main, SystemExit(int(ExitCode.UNANSWERED)))
