"""Was the load generator itself the limit? Design: a client that is late lies.

Knows: event-loop lag, CPU, lost workers, descriptors; what each spoils. Must not know: the server.

Lag p99 is that of the worst worker, from its `lag` histograms over the hold; where those are missing, the mean over
the hold of its per-second p99. Lag shifts stamps: it spoils TTFT and single gaps long before it spoils TPOT or
tokens/s, which divide it by the number of tokens. Where a thread of its own stamps the reads, its lag (`read_lag`) is
what spoils gaps; the event loop's still delays what is sent, so TTFT.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import mean
from loadband.analysis.level import Grade, Numbers
from loadband.analysis.measure import HoldData
from loadband.analysis.queueing import gap_cv, unsent
from loadband.analysis.run_files import RunFiles
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Hold
from loadband.record import FailureClass, Status
from loadband.rundir import EVENT_LOOP

LOST_STATES = ("lost", "missing")
"""What `workers.csv` says of a worker that died."""

WORKER_LOST = "worker_lost"
"""The mark of a level during which a worker died."""

SILENT_S = 5.0
"""Workers report each second: one that does not for this long was lost, or as good as."""

NOTICED_S = 6.0
"""A worker died at most so long before the master called it missing."""

SCHEDULE_LAG_GROWTH_S = 0.1


def check_client(grade: Grade, numbers: Numbers, data: HoldData, files: RunFiles, limits: Thresholds) -> Grade:
    """The grade after all checks of the client itself."""
    hold, ended, workers = data.hold, data.ended, files.workers
    during = workers[(workers["second"] >= np.floor(hold.begin)) & (workers["second"] <= hold.end)]
    lags = worst_lag(files.histograms, workers, hold), read_lag(files.histograms, hold)
    grade = _check_lag(grade, numbers, *lags, limits)
    grade = _check_cpu(grade, during, limits)
    begun = files.requests.loc[files.requests["started_at"].between(hold.begin, hold.end), ["status", "worker"]]
    lost = begun[begun["status"] == Status.LOST]  # nobody knows when they ended
    gone = {*_gone(workers, hold), *_names(lost)}
    if gone:
        reason = f"a worker was lost ({', '.join(sorted(gone))})"
        grade = grade.refuse(reason, client_limited=True, word=WORKER_LOST)
    own = int((ended["failure_class"] == FailureClass.CLIENT).sum())
    if own:
        reason = f"the client ran out of descriptors or ports ({own} requests): raise `ulimit -n` or use more machines"
        grade = grade.refuse(reason, client_limited=True)
    rate = numbers.offered_req_s
    if rate is not None and (missing := unsent(files.requests, hold, rate, gap_cv(files.run))):
        grade = grade.refuse(missing, client_limited=True)
    if _schedule_slips(ended):
        grade = grade.refuse("arrivals fall ever further behind their schedule", client_limited=True)
    return grade


def notes_on_readers(run: Mapping[str, Any]) -> list[str]:
    """Which workers read in their event loop, where a thread of its own would have been better."""
    workers = [each for each in run.get("workers") or [] if isinstance(each, dict)]
    slow = [str(each.get("name")) for each in workers if each.get("reader") == EVENT_LOOP]
    if not slow:
        return []
    whose = "every worker" if len(slow) == len(workers) else ", ".join(slow)
    return [
        f"streams were read in the event loop by {whose}: dearer, and stamps are as late as the loop; "
        "make setup on that machine builds the reader in C, given a C compiler"
    ]


def _gone(workers: pd.DataFrame, hold: Hold) -> set[str]:
    """Workers that were called missing up to `NOTICED_S` after the hold, or fell silent in it without a word."""
    called = workers["state"].isin(LOST_STATES)
    missing, reports = workers[called], workers[~called & (workers["second"] <= hold.end)]
    during = missing[(missing["second"] >= hold.begin) & (missing["second"] - NOTICED_S <= hold.end)]
    last = reports.groupby("worker")["second"].max()
    silent = last.index[(last < hold.end - SILENT_S) & (last >= hold.begin - SILENT_S)]
    return _names(during) | ({str(name) for name in silent} - _names(missing))


def _names(rows: pd.DataFrame) -> set[str]:
    return {str(name) for name in rows["worker"]}


def worst_lag(histograms: pd.DataFrame, workers: pd.DataFrame, hold: Hold) -> float | None:
    """Event-loop lag p99 of the worst worker over the hold, seconds; None when nothing was written."""
    worst = _p99_by_worker(histograms, hold, "lag")
    if not worst:
        during = workers[(workers["second"] >= hold.begin) & (workers["second"] + 1 <= hold.end)]
        worst = [float(each) for each in during.groupby("worker")["lag_p99_s"].mean().dropna()]
    return max(worst) if worst else None


def read_lag(histograms: pd.DataFrame, hold: Hold) -> float | None:
    """Lag p99 of the worst worker's reading thread over the hold, seconds; None where the event loop reads."""
    return max(_p99_by_worker(histograms, hold, "read_lag"), default=None)


def _p99_by_worker(histograms: pd.DataFrame, hold: Hold, metric: str) -> list[float]:
    merged = windows.merged_histograms(histograms, hold, metric, by="worker")
    return [p99 for histogram in merged.values() if (p99 := histogram.percentile(99)) is not None]


def _check_lag(grade: Grade, numbers: Numbers, loop_s: float | None, read_s: float | None, limits: Thresholds) -> Grade:
    if loop_s is None:
        return grade.undecide("client_lag")
    words = f"event-loop lag p99 of {loop_s * 1000:.0f} ms"
    words += "" if read_s is None else f", reading thread's {read_s * 1000:.0f} ms"
    worst_s, stamps_s = max(loop_s, read_s or 0.0), loop_s if read_s is None else read_s
    if worst_s > limits.lag_client_limited_s:
        return grade.refuse(f"the client was the limit ({words}): use more workers or cores", client_limited=True)
    ttft, itl = numbers.ttft_p50_s, numbers.itl_p50_s
    if ttft is not None and worst_s > max(limits.lag_ttft_s, limits.lag_ttft_share * ttft):
        grade = grade.mark("lag_ttft", f"TTFT is finer than the client can see ({words})")
    if itl is not None and stamps_s > max(limits.lag_itl_s, limits.lag_itl_share * itl):
        grade = grade.mark("lag_itl", f"ITL percentiles are finer than the client can see ({words})")
    return grade


def _check_cpu(grade: Grade, during: pd.DataFrame, limits: Thresholds) -> Grade:
    shares = during.groupby("worker")["cpu"].mean().dropna()
    if shares.empty:
        return grade.undecide("client_cpu")
    if float(shares.max()) > limits.cpu_client_limited:
        reason = f"a worker used {float(shares.max()):.0%} of its core: use more workers"
        return grade.refuse(reason, client_limited=True)
    return grade


def _schedule_slips(ended: pd.DataFrame) -> bool:
    """Open loop: the lag behind the schedule in the last third of starts exceeds that of the first third."""
    rows = ended[ended["schedule_lag_s"].notna()].sort_values("started_at")
    third = len(rows) // 3
    if third < 10:
        return False
    lags = rows["schedule_lag_s"].to_numpy(dtype=np.float64)
    first, last = mean(lags[:third]), mean(lags[-third:])
    return first is not None and last is not None and last - first > SCHEDULE_LAG_GROWTH_S
