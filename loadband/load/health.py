"""Is this process late? Event-loop lag and its own CPU.

Knows: how to see that a load generator lies. Must not know: requests, files, what a level does with it.

A greenlet sleeps a short while and sees by how much it was woken too late: whatever this process does may have been
late by as much. CPU % alone does not show it. Stamps of reads that a thread of its own takes (`read_thread.py`) have
a probe of their own.
"""

import os
import time
from collections.abc import Callable

import gevent

PERIOD_S = 0.02


class Health:
    """Lag samples and CPU since the last `take`."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lags: list[float] = []
        self._since = clock()
        self._loop_cpu, self._cpu = time.thread_time(), time.process_time()
        self._greenlet: gevent.Greenlet[[], None] | None = None

    def start(self) -> None:
        """Begin to probe, in a greenlet of its own."""
        if self._greenlet is None:
            self._greenlet = gevent.spawn(self._probe)

    def _probe(self) -> None:
        while True:
            before = self._clock()
            gevent.sleep(PERIOD_S)
            self._lags.append(max(self._clock() - before - PERIOD_S, 0.0))

    def take(self) -> tuple[list[float], float | None]:
        """Lags in seconds, and the share of its core that the busiest part used, since the last take.

        Parts are the event loop and all other threads; they share a core where the process has only one. To be called
        in the event loop. No share of no time.
        """
        lags, self._lags = self._lags, []
        now, loop_cpu, cpu = self._clock(), time.thread_time(), time.process_time()
        loop, whole, elapsed = loop_cpu - self._loop_cpu, cpu - self._cpu, now - self._since
        busiest = whole if _cores() == 1 else max(loop, whole - loop)
        self._since, self._loop_cpu, self._cpu = now, loop_cpu, cpu
        return lags, busiest / elapsed if elapsed > 0 else None


def _cores() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # no Linux
        return os.cpu_count() or 1
