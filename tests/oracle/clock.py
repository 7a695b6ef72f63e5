"""Calls at exact times, many of them: one heap of our own and waits finer than a millisecond.

Knows: asyncio's loop. Must not know: what is called.
"""

import asyncio
import heapq
import select
import selectors
from collections.abc import Callable
from itertools import count

AT_ONCE = 256
"""Calls in a row before sockets are looked at again."""


class FineSelector(selectors.EpollSelector):
    """epoll whose time-out is not rounded up to whole milliseconds: `select()` waits on the epoll descriptor."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            select.select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


class Clock:
    """A heap of calls behind one timer of the loop. Nothing is cancelled: the called one knows if it is too late."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None

    def call_at(self, due: float, call: Callable[[], None]) -> None:
        """Call `call` at `due`, in seconds of the monotonic clock."""
        heapq.heappush(self._heap, (due, next(self._order), call))
        if self._timer is None or due < self._timer.when():
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._heap[0][0], self._fire) if self._heap else None

    def _fire(self) -> None:
        self._timer = None
        heap = self._heap
        try:
            for _ in range(AT_ONCE):
                if not heap or heap[0][0] > self._loop.time():
                    break
                heapq.heappop(heap)[2]()
        finally:
            self._arm()
