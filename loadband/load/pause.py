"""A greenlet's pause until there is something for it, or its patience ends.

Knows: the event loop. Must not know: sockets, what it waits for.
"""

from collections.abc import Callable

import gevent
from gevent.hub import Waiter


class Pause:
    """Of one greenlet at a time, as often as it likes."""

    __slots__ = ("_waiter",)

    def __init__(self) -> None:
        self._waiter: Waiter[None] | None = None

    def end(self) -> None:
        """Let the greenlet go on, if it waits. Called in the event loop."""
        if self._waiter is not None:
            waiter, self._waiter = self._waiter, None
            waiter.switch(None)

    def wait(self, seconds: float, when_over: Callable[[], object]) -> None:
        """Wait until `end` is called; after so many seconds the event loop calls `when_over`, which sees to that."""
        hub = gevent.get_hub()
        waiter = self._waiter = Waiter(hub)
        timer = hub.loop.timer(max(seconds, 0.0))
        timer.start(when_over, update=True)
        try:
            waiter.get()
        finally:
            self._waiter = None
            timer.stop()
            timer.close()
