"""Locust's own `<prefix>_stats_history.csv`, read into one timeline for each kind of row.

Knows: its columns, what is cumulative in them, when its rows were written. Must not know: levels.

Only three kinds of columns tell the truth about a stretch of time: `User Count`, the cumulative counts, and the
cumulative means. `Requests/s` is a mean over some ten seconds that freezes when nothing completes; percentiles are
over about the same, or since the start, depending on an option; both are read for nothing but the time that a slow
request takes. `Average Content Size` is bytes. Rows of kinds other than `Aggregated` (Type empty) never enter it when
Loadband wrote the file: `E2E`, `TTFT` and `TPOT` by scenario. A failed request has no time there; of any other
Locust file the failures' times are inside the means.

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
from loadband.analysis.run_files import read_cells, to_numbers
from loadband.errors import UsageError

HISTORY = "_stats_history.csv"
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
    notes: tuple[str, ...]


def prefix_of(path: Path) -> Path | None:
    """The prefix when `path` is one of Locust's files, or names its history; else None."""
    if path.name.endswith(HISTORY):
        path = path.with_name(path.name.removesuffix(HISTORY))
    return path if path.with_name(path.name + HISTORY).is_file() else None


def read_history(prefix: Path) -> History:
    """The last test in a history file. Raises UsageError when it cannot be read or has not the columns."""
    path = prefix.with_name(prefix.name + HISTORY)
    notes: list[str] = []
    try:
        text, torn = rundir.whole_lines(path)
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): check the file and its permissions") from error
    if torn:
        notes.append(f"the torn last line of {path.name} was dropped")
    table = read_cells(text, path.name, notes, text_columns=("Type", "Name"), unknown=("", "N/A"))
    if missing := [name for name in NEEDED if name not in table]:
        raise UsageError(f"{path} has no column {', '.join(missing)}: it is not a history of Locust 2, or is damaged")
    for name in {*NEEDED, SLOW} - {"Type", "Name"}:
        table[name] = to_numbers(table[name]) if name in table else np.nan
    return _history(_last_test(table[table["Timestamp"].notna()], notes), notes)


def _last_test(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Rows after the last fall of the total: counts that fall are those of a new test, or were reset."""
    whole = table[table["Type"].fillna("") == ""]
    falls = whole.index[whole["Total Request Count"].diff() < 0]
    if not len(falls):
        return table
    notes.append(f"the counts start anew {len(falls)} times, a new test or --reset-stats: only the last part is used")
    begun = whole.at[falls[-1], "Timestamp"]
    last: pd.DataFrame = table[table["Timestamp"] >= begun]
    return last


def _history(table: pd.DataFrame, notes: list[str]) -> History:
    kinds = table["Type"].fillna("")
    whole = table[kinds == ""].drop_duplicates("Timestamp", keep="last").sort_values("Timestamp")
    stamps = whole["Timestamp"].to_numpy(dtype=np.float64)
    ours = bool((kinds == OURS).any())
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
