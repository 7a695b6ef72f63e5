"""Read a run directory into tables, whatever state it was left in.

Knows: files, columns, torn lines, damaged cells. Must not know: what the numbers mean.

A run may be going on, may have been killed, or may come from an older or newer version: a torn last line is dropped,
a missing column or file is empty, an unknown column is ignored. Each of these leaves a note. What is not a number
in a column of numbers is unknown, with a note, never 0.
"""

import csv
import io
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from loadband import rundir
from loadband.analysis.run_facts import sound_facts
from loadband.errors import UsageError
from loadband.record import Status

TEXT = frozenset(
    {
        *("id", "worker", "scenario", "kind", "status", "failure_class", "message", "token_source", "finish_reason"),
        *("model_answered", "adapter", "backend", "flags", "metric", "buckets", "ended_by", "state"),
    }
)
"""Columns of text; all others are numbers. Empty text is the empty string, an unknown number NaN."""

SIGNED = frozenset({"schedule_lag_s", "sum", "min", "max"})
"""Columns that may be below 0; in all others a negative number is a damaged cell."""

BEYOND_MEASURE = 1e15
"""No time, count or rate is as large: such a cell is damaged, and its square would overflow."""

NEEDED = {
    rundir.REQUESTS: ("started_at", "status", "duration_s"),
    rundir.SECONDS: ("second", "users", "output_tokens_ok", "output_tokens_cut"),
    rundir.STEPS: ("step", "target", "hold_from", "hold_to"),
}
"""Columns without which a file says nothing: their absence is an error that names them."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one run; a file that is missing is an empty table."""

    run: dict[str, Any]
    requests: pd.DataFrame
    seconds: pd.DataFrame
    histograms: pd.DataFrame
    steps: pd.DataFrame
    workers: pd.DataFrame
    notes: tuple[str, ...]
    unread: frozenset[str] = frozenset()
    """Keys of `run.json` that are there and of a wrong kind."""


def read_run_files(path: Path) -> RunFiles:
    """All tables of a run directory. Raises UsageError when it is none, or a needed column is missing."""
    told = rundir.read_run(path)
    run, notes = sound_facts(told)
    if run.get("ended") is None:
        notes.append("the run has not ended or was killed: this covers what it had written so far")
    if (path / rundir.TEXTS).exists():
        notes.append("answers without usage wait to be counted: python -m reports RUN_DIR --tokenizer NAME does it")
    tables = {name: read_file(path / name, notes) for name in rundir.COLUMNS}
    if run.get("plan") is None and tables[rundir.STEPS].empty:
        notes = [note for note in notes if note != _no_row(rundir.STEPS)]
    return RunFiles(
        run=run,
        requests=tables[rundir.REQUESTS],
        seconds=tables[rundir.SECONDS],
        histograms=tables[rundir.HISTOGRAMS],
        steps=tables[rundir.STEPS],
        workers=tables[rundir.WORKERS],
        notes=tuple(notes),
        unread=frozenset(told) - frozenset(run),
    )


def read_file(path: Path, notes: list[str]) -> pd.DataFrame:
    """One table with exactly the columns of its kind."""
    columns = rundir.COLUMNS[path.name]
    try:
        text, torn = rundir.whole_lines(path)
    except FileNotFoundError:
        notes.append(f"{path.name} is missing: what needs it is undecided")
        return _empty(columns)
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): check the file and its permissions") from error
    if torn:
        notes.append(f"the torn last line of {path.name} was dropped")
    if not text.strip():
        notes.append(f"{path.name} is empty: what needs it is undecided")
        return _empty(columns)
    header = [cell.strip().strip('"') for cell in text.split("\n", 1)[0].split(",")]
    missing = [name for name in columns if name not in header]
    if needed := [name for name in NEEDED.get(path.name, ()) if name in missing]:
        raise UsageError(f"{path} has no column {', '.join(needed)}: it is not a file of a Loadband run, or is damaged")
    if missing:
        notes.append(f"{path.name} has no column {', '.join(missing)}: what needs it is unknown")
    cells = read_cells(_whole_rows(text, len(header), path.name, notes), path.name, notes)
    if cells.empty:
        notes.append(_no_row(path.name))
    return _known_words(_typed(cells, columns, path.name, notes), path.name, notes)


def _whole_rows(text: str, width: int, name: str, notes: list[str]) -> str:
    """The lines with a cell for each of `width` columns, header first; those that are torn are dropped, with a note."""
    lines = text.split("\n")
    whole = [line for line in lines if _cells_of(line) >= width or not line or line.count('"') % 2]
    if torn := len(lines) - len(whole):
        notes.append(f"{torn} torn lines of {name} were dropped")
    return "\n".join(whole)


def _cells_of(line: str) -> int:
    return line.count(",") + 1 if '"' not in line else len(next(csv.reader([line])))


def _known_words(table: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    """The table, with a note on how requests ended when nobody knows the word."""
    if "status" in table and (strange := int((~table["status"].isin(list(Status))).sum())):
        notes.append(f"{strange} lines of {name} have a status that is none of {', '.join(Status)}")
    return table


def _no_row(name: str) -> str:
    return f"{name} has no row: what needs it is undecided"


def _empty(columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=object if name in TEXT else np.float64) for name in columns})


def read_cells(
    text: str, name: str, notes: list[str], text_columns: Iterable[str] = TEXT, unknown: Sequence[str] = ("",)
) -> pd.DataFrame:
    """Cells as pandas guesses them; damaged lines (too many cells, a quote that never closes) are dropped, with a note.

    One record is one line, so a quote never closes in a later line; a reader that lets it would swallow all between.
    """
    lines = text.split("\n")
    sound = [line for line in lines if line.count('"') % 2 == 0]
    if not any(line.strip() for line in sound):
        return pd.DataFrame()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = pd.read_csv(
            io.StringIO("\n".join(sound)),
            dtype=dict.fromkeys(text_columns, object),
            keep_default_na=False,
            na_values=list(unknown),
            on_bad_lines="warn",
            index_col=False,
            low_memory=False,
        )
    damaged = len(lines) - len(sound) + sum(str(warning.message).count("Skipping line") for warning in caught)
    if damaged:
        notes.append(f"{damaged} damaged lines of {name} were dropped")
    return frame


def _typed(frame: pd.DataFrame, columns: tuple[str, ...], name: str, notes: list[str]) -> pd.DataFrame:
    """Known columns in their order, text as str, numbers as float64."""
    typed: dict[str, Any] = {}
    strange = 0
    for column in columns:
        if column in TEXT:
            typed[column] = frame[column].fillna("").astype(object) if column in frame else ""
        elif column in frame:
            typed[column] = to_numbers(frame[column], signed=column in SIGNED)
            strange += int((typed[column].isna() & frame[column].notna()).sum())
        else:
            typed[column] = np.nan
    if strange:
        notes.append(f"{strange} cells of {name} are no numbers that can be, and count as unknown")
    return pd.DataFrame(typed, columns=list(columns), index=frame.index)


def to_numbers(cells: "pd.Series[Any]", *, signed: bool = False) -> "pd.Series[float]":
    """Cells as floats; what no measurement can be is unknown."""
    # through text: a whole number of 400 digits is parsed to an int that no float can hold
    plain = cells if cells.dtype.kind in "fiu" else cells.astype(str)
    numbers = pd.to_numeric(plain, errors="coerce").astype(np.float64)
    numbers = numbers.where(numbers.abs() < BEYOND_MEASURE)
    return numbers if signed else numbers.where(numbers >= 0)
