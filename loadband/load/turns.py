"""Work that takes its turn: a piece at a time, and between two pieces all sockets that are readable are read.

Knows: the event loop. Must not know: sockets, requests, what the work is.

The loop would do all work that is due in one go, and a token that arrives meanwhile would be stamped late.
"""

import functools
import sys
from collections import deque
from collections.abc import Callable

import gevent
from gevent.hub import Waiter

PATIENT = 8
"""For each so many that wait, one more is done at once: work must not come faster than it is done."""

_NAME = "loadband_turns"


class Turns:
    """The work that waits for its turn in one event loop."""

    def __init__(self) -> None:
        self._due: deque[Callable[[], object]] = deque()
        self._coming = False
        loop = gevent.get_hub().loop
        self._before_polling = loop.prepare()
        self._no_waiting = loop.idle()
        """Polls come at once while it is active. A timer of no time would let each wait for a millisecond."""

    def wait_for(self, work: Callable[[], object]) -> None:
        """Call this in the event loop when its turn comes; it must not block."""
        if not self._coming:
            self._coming = True
            self._before_polling.start(self._do_some)
            self._no_waiting.start(_nothing)
        self._due.append(work)

    def take(self) -> None:
        """Wait, in a greenlet, for one's turn."""
        waiter: Waiter[None] = Waiter()
        self.wait_for(functools.partial(waiter.switch, None))
        waiter.get()

    def _do_some(self) -> None:
        for _ in range(1 + len(self._due) // PATIENT):
            work = self._due.popleft()
            try:
                work()
            except Exception:  # told, and no reason to keep the others waiting
                gevent.get_hub().handle_error(work, *sys.exc_info())
        if not self._due:
            self._coming = False
            self._before_polling.stop()
            self._no_waiting.stop()


def _nothing() -> None:
    """Done when the loop is idle."""


def turns() -> Turns:
    """Those of this thread's event loop, whichever greenlet asks."""
    hub = gevent.get_hub()
    found: Turns | None = getattr(hub, _NAME, None)
    if found is None:
        found = Turns()
        setattr(hub, _NAME, found)
    return found
