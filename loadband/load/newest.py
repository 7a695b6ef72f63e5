"""The newest requests that ended: the load's own figures of this moment, for guards.

Knows: which columns of a record they come from. Must not know: what a value means, files, Locust.

A figure is of the requests that ended in the last `WINDOW_S` seconds, and where these are fewer than `FEWEST`, of the
newest so many: slow answers leave no guard blind. Requests of the warm-up are left out. The failure rate is that of the
verdict: what the client itself failed, what was cut and who left do not count, refusals only where they fail.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from loadband.load.token_clock import nearest_rank
from loadband.record import RECORD_COLUMNS, FailureClass, Status
from loadband.slo import SHARES, Limit

WINDOW_S = 30.0
FEWEST = 10

_COLUMN = {name: place for place, name in enumerate(RECORD_COLUMNS)}


class _End(NamedTuple):
    at: float
    ok: bool
    latencies: Sequence[float | None]


class Newest:
    """Keeps what ended of late."""

    def __init__(self, limits: Sequence[Limit], *, shedding_fails: bool = True) -> None:
        """`limits`: whose figures are asked for; `shedding_fails`: whether a refused request counts as failed."""
        self._metrics = sorted({limit.metric for limit in limits if limit.metric not in SHARES})
        self._shedding_fails = shedding_fails
        self._ends: deque[_End] = deque()

    def add(self, values: Sequence[Any]) -> None:
        """One record, in column order."""
        status, failure = values[_COLUMN["status"]], values[_COLUMN["failure_class"]]
        if "warmup" in (values[_COLUMN["flags"]] or "").split(";") or status not in (Status.OK, Status.FAILED):
            return
        if failure == FailureClass.CLIENT or (failure == FailureClass.THROTTLED and not self._shedding_fails):
            return
        at = values[_COLUMN["started_at"]] + (values[_COLUMN["duration_s"]] or 0.0)
        latencies = [values[_COLUMN[f"{metric}_s"]] for metric in self._metrics]
        self._ends.append(_End(at, status == Status.OK, latencies))

    def value(self, limit: Limit, now: float) -> float | None:
        """The figure that a limit names, in its unit; None before `FEWEST` requests of its kind have ended."""
        while len(self._ends) > FEWEST and self._ends[0].at < now - WINDOW_S:
            self._ends.popleft()
        if len(self._ends) < FEWEST:
            return None
        if limit.metric in SHARES:
            return sum(not end.ok for end in self._ends) / len(self._ends)
        place = self._metrics.index(limit.metric)
        told = [value for end in self._ends if end.ok and (value := end.latencies[place]) is not None]
        if not told:
            return None
        return sum(told) / len(told) if limit.percentile is None else nearest_rank(sorted(told), limit.percentile)
