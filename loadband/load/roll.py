"""The master's roll of workers: who is here, whether it runs the same, who died.

Knows: Locust's workers and their states. Must not know: requests, files, what a lost worker means for a level.
"""

import time
from collections.abc import Callable
from typing import Any

import gevent
from locust.runners import STATE_MISSING, MasterRunner

from loadband.errors import UnansweredError, UsageError
from loadband.load.clock_sync import HELLO, version

SAY_EVERY_S = 5.0
HELLO_WITHIN_S = 5.0
"""A worker of ours says hello as soon as it is connected."""


class Roll:
    """Who takes part. A worker that was lost stays lost: its requests are booked, it may not tell them again."""

    def __init__(self, runner: MasterRunner, clock: Callable[[], float] = time.time) -> None:
        self._runner = runner
        self._clock = clock
        self._versions: dict[str, str] = {}
        self._lost: set[str] = set()
        runner.register_message(HELLO, self._on_hello)

    def wait_for(self, wanted: int, within_s: float, say: Callable[[str], None]) -> None:
        """Wait until so many workers are here; `within_s` 0 waits for ever.

        Raises UnansweredError when they do not come, UsageError for a worker that does not run the same as we do.
        """
        begun = time.monotonic()
        said = 0.0
        first_seen: dict[str, float] = {}
        while True:
            waited = time.monotonic() - begun
            ready = [client.id for client in self._runner.clients.ready]
            for client in ready:
                self._check(client, waited - first_seen.setdefault(client, waited))
            here = sum(client in self._versions for client in ready)
            if here >= wanted:
                return
            if within_s and waited >= within_s:
                raise UnansweredError(
                    f"{here} of {wanted} workers came within {within_s:g} s: start the others, or say how many to "
                    "expect with --expect-workers"
                )
            if waited - said >= SAY_EVERY_S:
                said = waited
                say(f"waiting for workers: {here} of {wanted} are here")
            gevent.sleep(0.1)

    def name(self, client: str) -> str:
        """A worker's name in every file."""
        return f"w{self._runner.get_worker_index(client)}"  # type: ignore[no-untyped-call]

    def is_lost(self, client: str) -> bool:
        """Whether it was lost. It is told to quit then: it may have come back."""
        if client not in self._lost:
            return False
        self._runner.send_message("quit", client_id=client)
        return True

    def newly_lost(self) -> list[str]:
        """Names of workers that died since the last call."""
        missing = [c.id for c in self._runner.clients.all if c.state == STATE_MISSING and c.id not in self._lost]
        self._lost.update(missing)
        return [self.name(client) for client in missing]

    def _check(self, client: str, here_for_s: float) -> None:
        host = client.rpartition("_")[0]
        theirs = self._versions.get(client)
        if theirs is None and here_for_s > HELLO_WITHIN_S:
            raise UsageError(
                f"the worker on {host} does not run Loadband: start it with -f locustfile.py of this checkout"
            )
        if theirs is not None and theirs != version():
            raise UsageError(
                f"the worker on {host} runs {theirs}, the master {version()}: use the same checkout on all"
            )

    def _on_hello(self, msg: Any, **_: Any) -> None:
        self._versions[msg.node_id] = msg.data["version"]
        self._runner.send_message(HELLO, {"sent": msg.data["sent"], "master": self._clock()}, client_id=msg.node_id)
