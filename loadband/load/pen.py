"""The master's pen: workers' reports in, the files of the run directory out.

Knows: which part of a report belongs into which file, and the sums that the ladder needs.
Must not know: Locust, sockets, how a level is chosen.

A second is written when it is over: first a row with its users, then its counters, and a row with its requests in
flight when all workers have told of the whole second. Rows of past seconds follow whenever a request ends that had
tokens in them. Records are flushed as they come, so that a kill loses at most what workers had not reported.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadband import rundir
from loadband.load.hold_tally import HoldTally
from loadband.load.ledger import COUNTERS, Open
from loadband.load.token_clock import nearest_rank
from loadband.record import RECORD_COLUMNS, FailureClass, Status
from loadband.rundir import RunDirectory

NEWEST = 200
"""Successes that stand for `now` in the ladder's E2E."""

LONGEST_PAUSE_S = 60
"""Seconds missed by a busy master are told as the one after them; of a longer pause the rest stays unknown."""

DOWN_AFTER, DOWN_AFTER_S = 3, 3.0
"""So many failures to connect in a row, over all workers and over so many seconds: the target counts as gone."""

GONE_AFTER_S = 4.0
"""A worker that has not reported for this long is gone: its users and requests count no more."""

_OK, _CUT = COUNTERS.index("output_tokens_ok"), COUNTERS.index("output_tokens_cut")
_STATUS = RECORD_COLUMNS.index("status")
_CLASS = RECORD_COLUMNS.index("failure_class")
_SCENARIO = RECORD_COLUMNS.index("scenario")
_E2E = RECORD_COLUMNS.index("e2e_s")
_TTFT = RECORD_COLUMNS.index("ttft_s")
_UNREACHED = frozenset({FailureClass.CONNECT, FailureClass.TIMEOUT_CONNECT, FailureClass.TLS})


@dataclass(slots=True)
class Worker:
    """What the master last heard of a worker."""

    users: int = 0
    in_flight: float = 0.0
    """Mean over its last report interval."""
    in_flight_now: int = 0
    told: int = 0
    """The second in which its last report was made: those before it are told in full."""
    gate_epoch: int = 0
    heard_at: float = 0.0
    open: list[list[Any]] = field(default_factory=list)
    """Requests in flight at its last report."""


@dataclass(slots=True)
class Totals:
    """Sums over the run so far."""

    started: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    failed_by_server: int = 0
    """Failed, and not for want of the client's own resources."""
    throttled: int = 0
    """Of these, refused with 429, 503 or 529."""

    @property
    def ended(self) -> int:
        """Requests that ended, in any way."""
        return self.by_status.total()


class Pen:
    """Writes one run's files."""

    def __init__(
        self,
        directory: RunDirectory,
        *,
        tells_users: bool = True,
        tally: HoldTally | None = None,
        shown: Callable[[Sequence[Any]], None] | None = None,
    ) -> None:
        """`tells_users`: whether the files say how many users there are; in an open loop nobody waits for an answer.

        `tally` is shown every record, and so is `shown`.
        """
        self.tally = tally or HoldTally()
        self._shown = shown
        self._directory = directory
        self._tells_users = tells_users
        self.workers: dict[str, Worker] = {}
        self.totals = Totals()
        self._e2e: deque[float] = deque(maxlen=NEWEST)
        self._ttft: deque[float] = deque(maxlen=NEWEST)
        self.answered: set[str] = set()
        """Scenarios that had a success."""
        self._waiting: list[list[Any]] = []
        self._tokens: Counter[int] = Counter()
        self._unreached = 0
        self._unreached_since = 0.0
        self._now = 0.0
        self._told: int | None = None
        """The newest second whose users are written."""
        self._untold: deque[int] = deque()
        """Seconds whose requests in flight are not written yet, the oldest first."""
        self._open_seconds: dict[int, float] = {}
        """Request-seconds of all workers, of seconds that are not written yet."""
        for name in rundir.COLUMNS:
            directory.appender(name)

    def absorb(self, report: dict[str, Any], now: float) -> None:
        """Take in one report of one worker, received at Unix second `now`."""
        worker = self.workers.setdefault(report["worker"], Worker())
        worker.users = report["users"]
        worker.in_flight = report["in_flight"]
        worker.in_flight_now = report["in_flight_now"]
        for second, open_seconds in report["open_seconds"]:
            self._open_seconds[second] = self._open_seconds.get(second, 0.0) + open_seconds
            worker.told = second
        worker.gate_epoch = report["gate_epoch"]
        worker.open = report["open"]
        worker.heard_at = self._now = now
        self._write_records(report["records"])
        for name, started_at, text, seconds in report["texts"]:
            line = {"id": name, "started_at": rundir.cell(started_at), "text": text, "seconds": seconds}
            self._directory.append_line(rundir.TEXTS, line)
        for row in report["counters"]:
            self.totals.started += row[2]
            self._tokens[row[0]] += row[2 + _OK] + row[2 + _CUT]
        self._waiting.extend(report["counters"])
        self._write_health(report, math.floor(now))
        self._directory.flush()

    def tick(self, now: float) -> None:
        """Write what is known of the seconds before `now`. Called about once a second; a second is written once."""
        self._now = now
        over = math.floor(now) - 1
        self._write_seconds(over, [row for row in self._waiting if row[0] <= over])
        self._waiting = [row for row in self._waiting if row[0] > over]
        self._write_in_flight(min((worker.told for worker in self._present()), default=over + 1))
        self._directory.flush()

    def lose(self, name: str, now: float) -> int:
        """A worker died: what it had in flight is lost. Returns how many requests that were."""
        worker = self.workers.pop(name)
        lost = [Open(*row).lost(name) for row in worker.open]
        self._write_records([record.values() for record in lost])
        self._directory.appender(rundir.WORKERS).append([math.floor(now), name, 0, 0, None, None, None, "missing"])
        self._directory.flush()
        return len(lost)

    def write_step(self, row: list[Any]) -> None:
        """A step that ended."""
        self._directory.appender(rundir.STEPS).append(row)
        self._directory.flush()

    def finish(self, now: float) -> None:
        """Write what still waits and close the files."""
        self._write_seconds(math.floor(now), self._waiting)
        self._waiting = []
        self._write_in_flight(math.floor(now) + 1)
        self._directory.close()

    @property
    def users(self) -> int:
        """Users over all workers that are there, as last reported."""
        return sum(worker.users for worker in self._present())

    def in_flight_since(self, gate_epoch: int, workers: int) -> int | None:
        """Requests in flight now; None until `workers` workers reported since the gate last moved."""
        told = [worker for worker in self._present() if worker.gate_epoch == gate_epoch]
        return sum(worker.in_flight_now for worker in told) if len(told) >= max(workers, 1) else None

    @property
    def e2e_mean_s(self) -> float | None:
        """Mean E2E of the newest successes."""
        return sum(self._e2e) / len(self._e2e) if self._e2e else None

    @property
    def e2e_p95_s(self) -> float | None:
        """95th percentile of E2E of the newest successes."""
        return nearest_rank(sorted(self._e2e), 95)

    @property
    def target_lost(self) -> bool:
        """Whether the newest requests found no server at all, several of them and for a while."""
        return self.unreached and self._now - self._unreached_since >= DOWN_AFTER_S

    @property
    def unreached(self) -> bool:
        """Whether the newest requests, several of them, found no server: perhaps it is gone."""
        return self._unreached >= DOWN_AFTER

    @property
    def in_flight(self) -> float:
        """Requests in flight, mean over the last report interval, over all workers that are there."""
        return sum(worker.in_flight for worker in self._present())

    @property
    def ttft_p95_s(self) -> float | None:
        """95th percentile of TTFT of the newest successes."""
        return nearest_rank(sorted(self._ttft), 95)

    def tokens_between(self, start: float, end: float) -> list[float]:
        """Output tokens of ok and cut requests in each whole second from `start` on, before `end`.

        Seconds before `start` are forgotten: a caller never asks for an earlier one again.
        """
        first, last = math.ceil(start), math.floor(end)
        for second in [second for second in self._tokens if second < first]:
            del self._tokens[second]
        return [float(self._tokens[second]) for second in range(first, last)]

    def _present(self) -> list[Worker]:
        return [worker for worker in self.workers.values() if self._now - worker.heard_at < GONE_AFTER_S]

    def _write_seconds(self, over: int, rows: list[list[Any]]) -> None:
        """The first row of each second up to `over` that has none, then these counters."""
        appender = self._directory.appender(rundir.SECONDS)
        first = over if self._told is None else max(self._told + 1, over + 1 - LONGEST_PAUSE_S)
        for second in range(first, over + 1):
            users = self.users if self._tells_users else None
            appender.append([second, "", users, None, *[0] * len(COUNTERS)])
            self._told = second
            self._untold.append(second)
        for second, scenario, *counts in sorted(rows):
            appender.append([second, scenario, None, None, *counts])

    def _write_in_flight(self, before: int) -> None:
        """Of each second before that one; none of a second that no worker told of."""
        while self._untold and self._untold[0] < before:
            second = self._untold.popleft()
            if second in self._open_seconds:
                row = [second, "", None, self._open_seconds[second], *[0] * len(COUNTERS)]
                self._directory.appender(rundir.SECONDS).append(row)
        for second in [second for second in self._open_seconds if second < before]:
            del self._open_seconds[second]

    def _write_records(self, records: list[list[Any]]) -> None:
        appender = self._directory.appender(rundir.REQUESTS)
        for values in records:
            appender.append(values)
            self.tally.add(values)
            if self._shown is not None:
                self._shown(values)
            status = values[_STATUS]
            self.totals.by_status[status] += 1
            if status == Status.OK:
                self.answered.add(values[_SCENARIO])
                if values[_E2E] is not None:
                    self._e2e.append(values[_E2E])
                if values[_TTFT] is not None:
                    self._ttft.append(values[_TTFT])
            if status == Status.FAILED and values[_CLASS] != FailureClass.CLIENT:
                self.totals.failed_by_server += 1
                self.totals.throttled += values[_CLASS] == FailureClass.THROTTLED
            if values[_CLASS] in _UNREACHED:
                self._unreached_since = self._unreached_since if self._unreached else self._now
                self._unreached += 1
            elif status not in (Status.CUT, Status.LOST, Status.ABANDONED) and values[_CLASS] != FailureClass.CLIENT:
                self._unreached = 0

    def _write_health(self, report: dict[str, Any], second: int) -> None:
        histograms = self._directory.appender(rundir.HISTOGRAMS)
        for step, of_second, scenario, metric, *cells in report["histograms"]:
            histograms.append([step, of_second, of_second, scenario, metric, *cells, report["worker"]])
        self._directory.appender(rundir.WORKERS).append(
            [
                second, report["worker"], report["users"] if self._tells_users else None, report["in_flight"],
                report["lag_p50_s"], report["lag_p99_s"], report["cpu"], report["state"],
            ]
        )  # fmt: skip
