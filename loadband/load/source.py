"""Arrivals that do not wait: one Locust user a process sends its share of the schedule, each arrival a greenlet.

Knows: Locust's user life, the schedule, how many may be open at once. Must not know: prompts, the wire, levels.

Nothing is asked early, and no answer delays an arrival. Two things can, and both are told: a process whose event loop
is late (`schedule_lag_s`), and one that has all its places taken (`waited`): then arrivals stay in the schedule, not
in memory, until a place is free. When the source is stopped its open requests end with it and are booked as cut.
"""

import random
import resource
from collections.abc import Iterator

import gevent
from gevent.pool import Pool

from loadband.load.arrivals import parse_arrival, recorded, schedule, share
from loadband.load.connection import Connection
from loadband.load.mix import scenario_classes
from loadband.load.session import StepMark
from loadband.load.user import Arrival, ModelUser, session_of

MOST_OPEN = 4096
"""Requests that one process keeps open at once; a stream costs about 30 kB."""

SPARE_DESCRIPTORS = 256

AHEAD_S = 0.25
"""An arrival connects and writes its prompt so long before its moment: neither must delay it."""

NOTICE_S = 0.2
"""How often a source that waits looks whether another step is in force; steps are told earlier than that."""


class SourceUser(ModelUser):
    """The source of one process's arrivals, of whatever scenario."""

    abstract = True
    scenario = "arrivals"

    def on_start(self) -> None:
        """Take this process's place among the sources."""
        self.session = session_of(self.environment)
        self.number = self.session.next_user()
        self.conversations = 0
        self._open = Pool(places())
        self._idle: list[Connection] = []

    def on_stop(self) -> None:
        """End what is open, then close the kept connections."""
        self._open.kill()
        for connection in self._idle:
            connection.close()

    def converse(self, source: random.Random) -> None:  # noqa: ARG002  each arrival draws from its own
        """Send what arrives until stopped."""
        while self.number >= self.session.work.workers:  # one source a process: its share is sent once
            gevent.sleep(NOTICE_S)
        while True:
            mark = self.session.step
            for number, planned in self._planned(mark):
                if not self._wait_for(planned, mark):
                    break
                self.session.gate.wait()
                self._admit(mark, number, planned)
            while mark is self.session.step:
                gevent.sleep(NOTICE_S)

    def _planned(self, mark: StepMark) -> Iterator[tuple[int, float]]:
        """Number and moment of this process's arrivals of a step; none where no rate is in force."""
        work = self.session.work
        if mark.rate is None:
            return
        seed = f"{work.seed}/arrivals/{mark.repeat}/{mark.level}"
        arrivals = parse_arrival(work.arrival)
        if arrivals.cv is None:
            moments = recorded(self.session.dataset.moments, mark.rate)
        else:
            moments = schedule(arrivals, mark.rate, seed)
        for number, moment in share(moments, self.number, work.workers):
            yield number, mark.starts_at + moment

    def _wait_for(self, planned: float, mark: StepMark) -> bool:
        """Wait until it is time to make an arrival ready; False when its moment lies in the next step already."""
        while True:
            following = self.session.step
            if following is not mark and planned >= following.starts_at:
                return False
            left = planned - AHEAD_S - self.session.wall()
            if left <= 0:
                return True
            gevent.sleep(min(left, NOTICE_S))

    def _admit(self, mark: StepMark, number: int, planned: float) -> None:
        """Let one arrival ask; wait for a place first when all are taken."""
        full = self._open.full()
        self._open.wait_available()
        self._open.spawn(self._ask_once, Arrival(mark, planned, full), number)

    def _ask_once(self, arrival: Arrival, number: int) -> None:
        connection = self._idle.pop() if self._idle else self.session.connection()
        connection.prepare(AHEAD_S / 2)
        source = self.session.book.source(number, arrival.step.level)
        user = self._pick(source)(self.environment)
        user.session, user.arrival, user.connection = self.session, arrival, connection
        user.number, user.conversations = number, arrival.step.level
        try:
            user.converse(source)
        finally:
            self._idle.append(connection)

    def _pick(self, source: random.Random) -> type[ModelUser]:
        shares, classes = self.session.work.mix, scenario_classes(self.environment)
        return classes[source.choices(list(shares), list(shares.values()))[0]]


def places() -> int:
    """Requests that may be open at once in this process: each takes a descriptor."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(min(MOST_OPEN, limit - SPARE_DESCRIPTORS), 1)
