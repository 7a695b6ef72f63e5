"""Work that takes its turn: one piece at a time, and between two pieces all sockets that are readable are read.

Knows: the event loop. Must not know: sockets, requests, what the work is.

The loop would do all work that is due in one go, and a token that arrives meanwhile would be stamped late.
"""

import functools
import sys
from collections import deque
from collections.abc import Callable

import gevent
from gevent.hub import Waiter

AFTER_READS = -1
"""Priority below that of the sockets' watchers: called when they all were."""

_NAME = "loadband_turns"


class Turns:
    """The work that waits for its turn in one event loop."""

    def __init__(self) -> None:
        self._due: deque[Callable[[], object]] = deque()
        self._next = gevent.get_hub().loop.timer(0, priority=AFTER_READS)

    def wait_for(self, work: Callable[[], object]) -> None:
        """Call this in the event loop when its turn comes; it must not block."""
        if not self._due:
            self._next.start(self._do_one)
        self._due.append(work)

    def take(self) -> None:
        """Wait, in a greenlet, for one's turn."""
        waiter: Waiter[None] = Waiter()
        self.wait_for(functools.partial(waiter.switch, None))
        waiter.get()

    def _do_one(self) -> None:
        work = self._due.popleft()
        if self._due:
            self._next.start(self._do_one)
        try:
            work()
        except Exception:  # told, and no reason to keep the others waiting
            gevent.get_hub().handle_error(work, *sys.exc_info())


def turns() -> Turns:
    """Those of this thread's event loop, whichever greenlet asks."""
    hub = gevent.get_hub()
    found: Turns | None = getattr(hub, _NAME, None)
    if found is None:
        found = Turns()
        setattr(hub, _NAME, found)
    return found
