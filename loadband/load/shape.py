"""The ladder as a Locust shape: looks five times a second, and hands Locust the number of users.

Knows: Locust's shape interface. Must not know: how a level is chosen or measured.
"""

from collections.abc import Callable

import gevent
from locust import LoadTestShape
from locust.runners import STATE_INIT, STATE_RUNNING, STATE_SPAWNING, Runner

LOOK_EVERY_S = 0.2
CLIMBING = (STATE_INIT, STATE_SPAWNING, STATE_RUNNING)
"""In any other state Locust asks its shape no more."""


class LadderShape(LoadTestShape):
    """Installed by the hooks when there is a plan; abstract, so that Locust does not take it by itself."""

    abstract = True

    def __init__(self, runner: Runner, look: Callable[[], tuple[int, float] | None]) -> None:
        """`look` gives users and users per second; None when the run is over."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._runner = runner
        self._look = look

    def tick(self) -> tuple[int, float] | None:
        """What Locust asks, once a second if it is answered at once: answered when Locust has something to do."""
        while (answer := self._look()) is not None and answer == self._runner.shape_last_tick:
            if self._runner.state not in CLIMBING:
                break
            gevent.sleep(LOOK_EVERY_S)
        return answer
