"""What the cells of a CSV file are: text, numbers, damage.

Knows: which columns are text, what no measurement can be, damaged lines. Must not know: files, what the numbers mean.

What is not a number in a column of numbers is unknown, never 0.
"""

import io
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


def typed(frame: pd.DataFrame, columns: Iterable[str]) -> tuple[pd.DataFrame, int]:
    """Exactly these columns in their order, numbers as float64; and how many cells are none.

    `frame`: text as str, with no unknown.
    """
    table: dict[str, Any] = {}
    strange = 0
    for column in columns:
        if column in TEXT:
            table[column] = frame.get(column, "")
        elif column in frame:
            table[column] = to_numbers(frame[column], signed=column in SIGNED)
            if table[column] is not frame[column]:
                strange += int((table[column].isna() & frame[column].notna()).sum())
        else:
            table[column] = np.nan
    return pd.DataFrame(table, columns=list(columns), index=frame.index), strange


def to_numbers(cells: "pd.Series[Any]", *, signed: bool = False) -> "pd.Series[float]":
    """Cells as floats; what no measurement can be is unknown."""
    if cells.dtype == np.float64 and _possible(cells.to_numpy(), signed=signed):
        return cells
    # through text: a whole number of 400 digits is parsed to an int that no float can hold
    plain = cells if cells.dtype.kind in "fiu" else cells.astype(str)
    numbers = pd.to_numeric(plain, errors="coerce").astype(np.float64)
    numbers = numbers.where(numbers.abs() < BEYOND_MEASURE)
    return numbers if signed else numbers.where(numbers >= 0)


def _possible(values: NDArray[np.float64], *, signed: bool) -> bool:
    """Whether each is a number that can be, or unknown already."""
    lowest = -BEYOND_MEASURE if signed else -0.0
    return not ((values >= BEYOND_MEASURE) | (values < lowest) | (values == -BEYOND_MEASURE)).any()
