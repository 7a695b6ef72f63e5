"""Locust's own `<prefix>_stats_history.csv`, read into one timeline for each kind of row.

Knows: its columns, what is cumulative in them, when its rows were written. Must not know: levels.

Only three kinds of columns tell the truth about a stretch of time: `User Count`, the cumulative counts, and the
cumulative means. `Requests/s` is a mean over some ten seconds that freezes when nothing completes. Percentiles are over
about the same in a full history (`--csv-full-history`, rows of single entries), where 0 means *nothing ended*, and
since the start without it; both are read for nothing but the time that a slow request takes. `Average Content Size` is
bytes.
Rows of kinds other than `Aggregated` never enter it when Loadband wrote the file: `E2E`, `TTFT` and `TPOT` by scenario.
A failed request has no time there; of any other Locust file the failures' times are inside the means. Which rows of
other people's files are requests: `locust_rows`.

Time of a row. The writer sleeps one second between rows and stamps whole seconds, so a stretch of ten rows may read
as eleven seconds. The rows' own pace, a straight line through the stamps, held within the second that each stamp
names, is right to a few hundredths where the pace was steady and never worse than the stamps.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband import rundir
from loadband.analysis.cells import read_cells, to_numbers
from loadband.analysis.line_blocks import check_memory
from loadband.analysis.locust_header import check_columns, renamed
from loadband.analysis.locust_rows import COUNT, foreign_types, is_whole, last_test, read_totals, requests_alone
from loadband.errors import UnansweredError, UsageError

HISTORY = "_stats_history.csv"
STATS = "_stats.csv"
NEEDED = (
    "Timestamp", "User Count", "Type", "Name", "Total Request Count", "Total Failure Count",
    "Total Average Response Time",
)  # fmt: skip
SLOW = "95%"
OURS = "E2E"
"""A Type that only Loadband writes."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Cumulative counts and summed times of one kind of row, at the rows of `Aggregated`."""

    count: Floats
    failed: Floats
    time_ms: Floats
    """Sum of the response times that are in the mean."""
    timed: Floats
    """How many those are."""


@dataclass(frozen=True, slots=True)
class History:
    """One test's rows, in order."""

    at: Floats
    """Unix seconds."""
    users: Floats
    slow_ms: Floats
    """95 % of the requests of the last seconds took at most this; NaN when unknown."""
    requests: Timeline
    metrics: dict[str, Timeline]
    """`TTFT` and `TPOT`, when Loadband wrote the file."""
    ours: bool
    windowed: bool
    """Whether percentiles are over the last seconds; else since the start."""
    notes: tuple[str, ...]


def prefix_of(path: Path) -> Path | None:
    """The prefix when `path` is one of Locust's files, or names them; else None."""
    if not path.name:  # `.` or `/`
        return None
    for ending in (HISTORY, STATS):
        if path.name.endswith(ending):
            path = path.with_name(path.name.removesuffix(ending))
    return path if any(path.with_name(path.name + ending).is_file() for ending in (HISTORY, STATS)) else None


def read_history(prefix: Path) -> History:
    """The last test in a history file. Raises UsageError when it cannot be read or has not the columns."""
    path = prefix.with_name(prefix.name + HISTORY)
    notes: list[str] = []
    try:
        check_memory(path)
        text, torn = rundir.whole_lines(path)
    except FileNotFoundError:
        raise UnansweredError(
            f"{prefix}{STATS} holds totals since the start and no course of them: without {prefix}{HISTORY} no level "
            "can be told"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): check the file and its permissions") from error
    if torn:
        notes.append(f"the torn last line of {path.name} was dropped")
    table = read_cells(renamed(text), path.name, notes, text_columns=("Type", "Name"), unknown=("", "N/A"))
    check_columns(list(table.columns), NEEDED, path)
    for name in {*NEEDED, SLOW} - {"Type", "Name"}:
        table[name] = to_numbers(table[name]) if name in table else np.nan
    if SLOW not in text.partition("\n")[0]:
        notes.append(f"{path.name} has no {SLOW} percentile: how long a level settles is guessed from mean times")
    return _history(last_test(table[table["Timestamp"].notna()], notes), prefix, notes)


def _requests(table: pd.DataFrame, prefix: Path, notes: list[str]) -> pd.DataFrame:
    """The rows of requests, one for each time; what else was fired is taken out."""
    whole = table[is_whole(table)].drop_duplicates("Timestamp", keep="last").sort_values("Timestamp")
    totals = _totals(prefix)
    if strange := foreign_types(table):
        notes.append(f"rows of {', '.join(strange)} are no requests and stay out of all numbers; their unit is unknown")
        whole = requests_alone(table)
    elif (strange := foreign_types(totals)) and not len(table[~is_whole(table)]):
        raise UnansweredError(
            f"{prefix}{HISTORY} holds only Aggregated rows, and these count {', '.join(strange)} as requests: run "
            "Locust with --csv-full-history, or fire no metrics as requests"
        )
    counted = totals.loc[is_whole(totals), COUNT].max() if len(totals) else np.nan
    aggregated = table.loc[is_whole(table), COUNT].max()
    if counted > aggregated and not any("reset" in note for note in notes):
        notes.append(f"{prefix.name}{STATS} counts {counted:,.0f} requests, the history ends at {aggregated:,.0f}")
    return whole


def _totals(prefix: Path) -> pd.DataFrame:
    """`_stats.csv`; empty without one."""
    path = prefix.with_name(prefix.name + STATS)
    try:
        check_memory(path)
        text, _ = rundir.whole_lines(path)
    except OSError:
        text = ""
    return read_totals(renamed(text), path.name)


def _history(table: pd.DataFrame, prefix: Path, notes: list[str]) -> History:
    kinds = table["Type"].fillna("")
    full = bool((~is_whole(table)).any())
    ours = bool((kinds == OURS).any())
    if ours:
        whole = table[is_whole(table)].drop_duplicates("Timestamp", keep="last").sort_values("Timestamp")
    else:
        whole = _requests(table, prefix, notes)
        if len(whole):
            kind = "over some ten seconds (--csv-full-history)" if full else "since the start"
            notes.append(f"percentiles of this file are {kind}: of no level, and used for none")
    stamps = whole["Timestamp"].to_numpy(dtype=np.float64)
    metrics = {
        kind: _summed(table[kinds == kind], stamps) for kind in ("TTFT", "TPOT") if ours and bool((kinds == kind).any())
    }
    return History(
        at=written_at(stamps),
        users=whole["User Count"].to_numpy(dtype=np.float64),
        slow_ms=whole[SLOW].where(whole[SLOW] > 0).to_numpy(dtype=np.float64),
        requests=_timeline(whole, failures_are_timed=not ours),
        metrics=metrics,
        ours=ours,
        windowed=full,
        notes=tuple(notes),
    )


def written_at(stamps: Floats) -> Floats:
    """When rows were written whose whole seconds are known; see the module's text."""
    if stamps.size < 2:
        return stamps + 0.5
    place = np.arange(stamps.size, dtype=np.float64)
    pace, first = np.polyfit(place, stamps + 0.5, 1)
    line: Floats = np.clip(first + pace * place, stamps, stamps + 1.0)
    return line


def _timeline(rows: pd.DataFrame, *, failures_are_timed: bool) -> Timeline:
    """Of rows that stand at the times of `Aggregated`; what is not known at a row is as it was before."""
    known = rows[["Total Request Count", "Total Failure Count", "Total Average Response Time"]].ffill().fillna(0.0)
    count, failed, mean_ms = (known[name].to_numpy(dtype=np.float64) for name in known)
    failed = np.minimum(failed, count)  # else a damaged cell
    timed = count if failures_are_timed else count - failed
    return Timeline(count, failed, mean_ms * timed, timed)


def _summed(rows: pd.DataFrame, stamps: Floats) -> Timeline:
    """All names of one Type together, at the given stamps."""
    zeros = np.zeros(stamps.size)
    total = Timeline(zeros, zeros, zeros, zeros)
    for _, named in rows.groupby("Name", dropna=False):
        table = named.drop_duplicates("Timestamp", keep="last").set_index("Timestamp").sort_index()
        one = _timeline(table.reindex(stamps), failures_are_timed=True)
        total = Timeline(
            total.count + one.count, total.failed + one.failed, total.time_ms + one.time_ms, total.timed + one.timed
        )
    return total
