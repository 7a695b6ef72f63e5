"""The master's clock as a worker sees it: offset and error, from a few messages there and back.

Knows: how to estimate a clock's offset. Must not know: requests, files, what the time is used for.

The reply is taken to have been written halfway between sending and receiving, so the error is at most half the round
trip (Cristian, "Probabilistic clock synchronization", 1989); the quickest of several round trips counts. Within that
error the worker keeps its own clock: on the master's machine both are the same clock, exactly.
"""

import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

import gevent

import loadband

if TYPE_CHECKING:
    from locust.runners import WorkerRunner

HELLO = "loadband_hello"
"""A worker's question for the master's clock; it also says what the worker runs."""
ROUND_TRIPS = 8
EVERY_S = 0.05


def version() -> str:
    """What must be the same on all machines of a run."""
    return f"Loadband {loadband.__version__}, Locust {metadata.version('locust')}"


class ClockSync:
    """A worker's knowledge of the master's clock."""

    def __init__(self, runner: "WorkerRunner") -> None:
        self._runner = runner
        self.offset_s: float | None = None
        """The worker's wall clock minus the master's; None before a reply came."""
        self.error_s: float | None = None
        """The most by which `offset_s` can be wrong."""
        runner.register_message(HELLO, self._on_reply)
        gevent.spawn(self._ask)

    def _ask(self) -> None:
        for _ in range(ROUND_TRIPS):
            self._runner.send_message(HELLO, {"sent": time.time(), "version": version()})
            gevent.sleep(EVERY_S)

    def _on_reply(self, msg: Any, **_: Any) -> None:
        self.learn(msg.data["sent"], msg.data["master"], time.time())

    def learn(self, sent: float, master: float, received: float) -> None:
        """One round trip: Unix seconds on the worker's clock, with the master's in between."""
        error = max(received - sent, 0.0) / 2
        if self.error_s is None or error < self.error_s:
            self.offset_s, self.error_s = (sent + received) / 2 - master, error

    def wall_offset(self) -> float:
        """Unix seconds on the master's clock minus this process's monotonic clock."""
        own = time.time() - time.perf_counter()
        if self.offset_s is None or self.error_s is None or abs(self.offset_s) <= self.error_s:
            return own
        return own - self.offset_s
