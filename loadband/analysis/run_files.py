"""Read a run directory into tables, whatever state it was left in.

Knows: files, columns, what was wrong with them. Must not know: what the numbers mean.

A run may be going on, may have been killed, or may come from an older or newer version: a torn last line is dropped,
a missing column or file is empty, an unknown column is ignored. Each of these leaves a note. What is not a number
in a column of numbers is unknown, with a note, never 0.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from loadband import rundir
from loadband.analysis.cells import TEXT
from loadband.analysis.line_blocks import read_lines
from loadband.analysis.run_facts import sound_facts
from loadband.errors import UsageError
from loadband.record import Status

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
        found = read_lines(path, columns)
    except FileNotFoundError:
        notes.append(f"{path.name} is missing: what needs it is undecided")
        return _empty(columns)
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): check the file and its permissions") from error
    if found.torn_end:
        notes.append(f"the torn last line of {path.name} was dropped")
    if not any(found.header):
        notes.append(f"{path.name} is empty: what needs it is undecided")
        return _empty(columns)
    missing = [name for name in columns if name not in found.header]
    if needed := [name for name in NEEDED.get(path.name, ()) if name in missing]:
        raise UsageError(f"{path} has no column {', '.join(needed)}: it is not a file of a Loadband run, or is damaged")
    if missing:
        notes.append(f"{path.name} has no column {', '.join(missing)}: what needs it is unknown")
    if found.torn:
        notes.append(f"{found.torn} torn lines of {path.name} were dropped")
    if found.damaged:
        notes.append(f"{found.damaged} damaged lines of {path.name} were dropped")
    if found.table.empty:
        notes.append(_no_row(path.name))
        return _empty(columns)
    if found.strange:
        notes.append(f"{found.strange} cells of {path.name} are no numbers that can be, and count as unknown")
    return _known_words(found.table, path.name, notes)


def _known_words(table: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    """The table, with a note on how requests ended when nobody knows the word."""
    if "status" in table and (strange := int((~table["status"].isin(list(Status))).sum())):
        notes.append(f"{strange} lines of {name} have a status that is none of {', '.join(Status)}")
    return table


def _no_row(name: str) -> str:
    return f"{name} has no row: what needs it is undecided"


def _empty(columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=object if name in TEXT else np.float64) for name in columns})
