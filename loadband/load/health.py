"""Is this process late? Event-loop lag and its own CPU.

Knows: how to see that a load generator lies. Must not know: requests, files, what a level does with it.

A greenlet sleeps a short while and sees by how much it was woken too late: every stamp of this process may have
been late by as much. CPU % alone does not show it.
"""

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
        self._cpu = time.process_time()
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
        """Lags in seconds, and the share of one core used, since the last take; no share of no time."""
        lags, self._lags = self._lags, []
        now, cpu = self._clock(), time.process_time()
        share = (cpu - self._cpu) / (now - self._since) if now > self._since else None
        self._since, self._cpu = now, cpu
        return lags, share
