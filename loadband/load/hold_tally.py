"""Sums over the hold in force, for choosing the next level.

Knows: which columns of a record they come from, and which requests belong to a hold. Must not know: how a level is
chosen, files, Locust. One record costs a few additions, whatever the length of a hold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadband.load.course import Held, Kept
from loadband.plan import Plan
from loadband.record import RECORD_COLUMNS, FailureClass, Status
from loadband.slo import SHARES, Limit, parse_slo

_COLUMN = {name: place for place, name in enumerate(RECORD_COLUMNS)}


@dataclass(slots=True)
class _LimitSums:
    limit: Limit
    n: int = 0
    missed: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, values: Sequence[Any], *, ok: bool) -> None:
        """One request that ended; a failure misses every percentile, and has no part in a mean."""
        limit = self.limit
        if limit.scenario and values[_COLUMN["scenario"]] != limit.scenario:
            return
        if limit.metric in SHARES:
            self.n += 1
            self.missed += not ok
            return
        value = values[_COLUMN[f"{limit.metric}_s"]]
        if limit.percentile is None:
            if ok and value is not None:
                self.n += 1
                self.total += value
                self.squares += value * value
        elif not ok or value is not None:
            self.n += 1
            self.missed += not ok or not limit.holds(value)

    def kept(self) -> Kept:
        return Kept(self.n, self.missed, self.total, self.squares)


class HoldTally:
    """Counts what ends inside a hold."""

    def __init__(self, limits: Sequence[Limit] = (), *, shedding_fails: bool = True) -> None:
        """`limits`: those that are searched for. `shedding_fails`: whether a refused request counts as failed."""
        self._limits = tuple(limits)
        self._shedding_fails = shedding_fails
        self.begin(math.inf)

    def begin(self, hold_from: float) -> None:
        """A hold begins, Unix seconds; what ended before is not of it."""
        self._from = hold_from
        self._ok = self._failed = self._tokens = 0
        self._e2e_sum_s = 0.0
        self._sums = [_LimitSums(limit) for limit in self._limits]

    def add(self, values: Sequence[Any]) -> None:
        """One record, in column order."""
        if values[_COLUMN["started_at"]] + (values[_COLUMN["duration_s"]] or 0.0) < self._from:
            return
        ok, failure = values[_COLUMN["status"]] == Status.OK, values[_COLUMN["failure_class"]]
        if not ok:
            throttled = failure == FailureClass.THROTTLED and not self._shedding_fails
            if values[_COLUMN["status"]] != Status.FAILED or failure == FailureClass.CLIENT or throttled:
                return
            self._failed += 1
        else:
            self._ok += 1
            self._tokens += values[_COLUMN["output_tokens"]] or 0
            self._e2e_sum_s += values[_COLUMN["e2e_s"]] or 0.0
        for sums in self._sums:
            sums.add(values, ok=ok)

    def held(self, now: float) -> Held | None:
        """The hold as far as it came; None outside one."""
        if math.isinf(self._from):
            return None
        return Held(
            seconds=now - self._from, ok=self._ok, failed=self._failed, tokens=self._tokens,
            e2e_sum_s=self._e2e_sum_s, kept=tuple(sums.kept() for sums in self._sums),
        )  # fmt: skip


def tally_of(plan: Plan | None) -> HoldTally:
    """What the course of a plan is told of its holds."""
    limits = parse_slo(plan.find) if plan and plan.find else ()
    return HoldTally(limits, shedding_fails=plan is None or plan.shedding_fails)
