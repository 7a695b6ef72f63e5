"""A level that was held for long: does the server drift, and by how much an hour?

Model. The hold is cut into minutes; throughput, TTFT and E2E of each are a straight line in time with noise of which
neighbours are alike (see `series.trend`). What is told is the slope per hour, relative to the mean, with its 95 %
interval. A leak, a cache that fills and a card that grows hot show so, long before a level is marked as *drifting*.

Fails when the change is no line: a drop after three hours of four reads as a gentle slope (the figures show it), and a
cycle longer than the hold as a drift.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import mean, percentile
from loadband.analysis.monotone import Floats
from loadband.analysis.series import trend
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Hold

MINUTE_S, HOUR_S = 60.0, 3600.0


@dataclass(frozen=True, slots=True)
class Drift:
    """One number over the minutes of a hold."""

    name: str
    """Its column in the step table."""
    per_hour: float
    """Relative change: -0.01 is one per cent less each hour."""
    low: float
    high: float
    """95 % interval."""

    @property
    def counts(self) -> bool:
        """Whether it is beyond noise."""
        return not self.low <= 0 <= self.high


def drifts_of(hold: Hold, seconds: pd.DataFrame, ok: pd.DataFrame, limits: Thresholds) -> tuple[Drift, ...]:
    """Of each number that the minutes tell; nothing of a hold below `soak_s`.

    `seconds`: those that the hold touches, with their weight; `ok`: the successes that ended in it.
    """
    minutes = int(hold.length // MINUTE_S)
    if hold.length < limits.soak_s:
        return ()
    tokens = windows.series(seconds, hold, "output_tokens_ok", "output_tokens_cut")
    of_second = np.minimum(np.arange(tokens.size) // int(MINUTE_S), minutes)
    of_request = ((ok["ended_at"].to_numpy(dtype=np.float64) - hold.begin) // MINUTE_S).astype(int)
    found = [_drift("output_tok_s", tokens, of_second, minutes, mean)]
    for name, column, value in (
        ("ttft_p50_s", "ttft_s", lambda values: percentile(values, 50)),
        ("ttft_p95_s", "ttft_s", lambda values: percentile(values, 95)),
        ("e2e_mean_s", "e2e_s", mean),
    ):
        found.append(_drift(name, ok[column].to_numpy(dtype=np.float64), of_request, minutes, value))
    return tuple(each for each in found if each is not None)


def _drift(
    name: str, values: Floats, minute: "np.ndarray[tuple[int], np.dtype[np.intp]]", minutes: int,
    value: Callable[[Floats], float | None],
) -> Drift | None:  # fmt: skip
    """None where too few minutes tell."""
    known = ~np.isnan(values)
    values, minute = values[known], minute[known]
    order = np.argsort(minute, kind="stable")
    edges = np.searchsorted(minute[order], np.arange(minutes + 1))
    told = [(at, value(values[order[edges[at] : edges[at + 1]]])) for at in range(minutes)]
    points = [(at, each) for at, each in told if each is not None]
    line = trend(np.array([at for at, _ in points], dtype=np.float64), np.array([each for _, each in points]))
    if line is None or not np.isfinite(line.half):
        return None
    hours = (points[-1][0] - points[0][0]) * MINUTE_S / HOUR_S
    return Drift(name, line.change / hours, (line.change - line.half) / hours, (line.change + line.half) / hours)
