"""The master's roll of workers: who is here, whether it runs the same, who died.

Knows: Locust's workers and their states. Must not know: requests, files, what a lost worker means for a level.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gevent
from locust.runners import MasterRunner

from loadband.errors import UnansweredError, UsageError
from loadband.load.clock_sync import HELLO, version
from loadband.load.locust_patches import turn_away

SAY_EVERY_S = 5.0
HELLO_WITHIN_S = 5.0
"""A worker of ours says hello as soon as it is connected."""


class Gone(NamedTuple):
    """A worker that takes part no more."""

    name: str
    left: bool
    """It said goodbye; else it went missing."""


class Roll:
    """Who takes part. A worker that was lost stays lost: its requests are booked, it may not tell them again."""

    def __init__(self, runner: MasterRunner, clock: Callable[[], float] = time.time) -> None:
        self._runner = runner
        self._clock = clock
        self._versions: dict[str, str] = {}
        self._seen: dict[str, float] = {}
        """When a worker was first seen, monotonic seconds."""
        self._part: set[str] = set()
        """Who takes part in the test that runs."""
        self._told: set[str] = set()
        """Late ones of whom it was said."""
        self._struck_off: set[str] = set()
        self._new_gaps: list[Gone] = []
        runner.register_message(HELLO, self._on_hello)
        turn_away(runner, lambda client: client in self._struck_off)

    def enlist(self) -> int:
        """A test begins: who is here takes part in it, and nobody else. Returns how many.

        Raises UsageError for a worker that does not run the same as we do.
        """
        ready = [client.id for client in self._runner.clients.ready]
        for client in ready:
            self._check(client)
        self._part = {client for client in ready if client in self._versions}
        self._new_gaps = []
        return len(self._part)

    def may_work(self, client: str) -> bool:
        """Whether users may be given to a worker: it runs the same as we do, and did not come late."""
        return self._versions.get(client) == version() and (not self._part or client in self._part)

    def dismiss(self) -> None:
        """The test is over: until the next one begins, nobody is missed and nobody comes late."""
        self._part = set()

    def wait_for(self, wanted: int, within_s: float, say: Callable[[str], None]) -> None:
        """Wait until so many workers are here; `within_s` 0 waits for ever.

        Raises UnansweredError when they do not come, UsageError for a worker that does not run the same as we do.
        """
        begun = time.monotonic()
        said = 0.0
        while True:
            waited = time.monotonic() - begun
            ready = [client.id for client in self._runner.clients.ready]
            for client in ready:
                self._check(client)
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

    def strike_off(self, client: str) -> None:
        """A worker that takes part went missing or left: whatever it says from now on is not heard."""
        if client in self._part - self._struck_off:
            left = client not in self._runner.clients
            self._struck_off.add(client)
            self._new_gaps.append(Gone(self.name(client), left))

    def newly_gone(self) -> list[Gone]:
        """Workers that died or left since the last call."""
        gone, self._new_gaps = self._new_gaps, []
        return gone

    def newly_late(self) -> list[str]:
        """A sentence for each worker that came late since the last call; one of another kind is sent away."""
        sentences = []
        for client in set(self._runner.clients) - self._part - self._told if self._part else ():
            try:
                self._check(client)
            except UsageError as error:
                self._runner.send_message("quit", client_id=client)
                sentences.append(f"{error}; it is sent away")
            else:
                if client not in self._versions:
                    continue
                sentences.append(f"the worker on {_host(client)} came after the start: it takes no part in this run")
            self._told.add(client)
        return sentences

    def _check(self, client: str) -> None:
        theirs = self._versions.get(client)
        here_for_s = time.monotonic() - self._seen.setdefault(client, time.monotonic())
        if theirs is None and here_for_s > HELLO_WITHIN_S:
            raise UsageError(
                f"a worker on {_host(client)} has not said which Loadband it runs (one of another run?): start it with "
                "-f locustfile.py of this checkout"
            )
        if theirs is not None and theirs != version():
            raise UsageError(
                f"the worker on {_host(client)} runs {theirs}, the master {version()}: use the same checkout on all"
            )

    def _on_hello(self, msg: Any, **_: Any) -> None:
        self._versions[msg.node_id] = msg.data["version"]
        self._runner.send_message(HELLO, {"sent": msg.data["sent"], "master": self._clock()}, client_id=msg.node_id)


def _host(client: str) -> str:
    return client.rpartition("_")[0]
