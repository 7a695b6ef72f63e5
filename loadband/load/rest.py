"""Long work in slices: nobody's read waits for it.

Knows: the event loop. Must not know: which work.
"""

import time

import gevent
from gevent.lock import BoundedSemaphore

SLICE_S = 0.001
"""So long work goes on before others may run."""

PAUSE_S = 0.0001
"""A timer, not a turn in the queue: the loop looks at its sockets before it comes back."""


class Rest:
    """Called now and then by work that may be long, however many do such work at once.

    When the slice is over the caller waits: one of all waiting takes the next slice, after a look at the sockets.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._called = 0.0
        self._turn = BoundedSemaphore(1)

    def __call__(self) -> None:
        """Let others run if the slice is over."""
        now = time.perf_counter()
        if now >= self._until:
            if now - self._called < SLICE_S:
                with self._turn:
                    gevent.sleep(PAUSE_S)
                    now = time.perf_counter()
                    self._until = now + SLICE_S
            else:
                self._until = now + SLICE_S
        self._called = now
