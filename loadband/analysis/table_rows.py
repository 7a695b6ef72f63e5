"""The cells of somebody's table, taken for nothing but what they say.

Knows: CSV, what a number looks like, names in seconds or milliseconds. Must not know: levels.

Every doubt is an error that names its line: a row that is torn, a column that stands twice, a number with `_` in it.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from loadband.analysis.cells import BEYOND_MEASURE
from loadband.errors import UsageError

BELOW_MEASURE = 1e-12
RATES = ("output_tok_s", "total_tok_s", "req_s")
SIGNED = ("gain_pct",)
COUNTS = ("step", "requests", "ok", "failed", "cut", "conversations", "conversations_failed")
PLAIN_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
SAME = 0.01
"""Relative difference up to which seconds and milliseconds of one quantity are the same value, rounded."""

Row = dict[str, str]


def rows_of(text: str, path: Path) -> Iterator[tuple[str, Row]]:
    """Each row with its place. Raises UsageError of a header that says nothing and of a line that does not fit it."""
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, path)
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(header):
                raise UsageError(
                    f"{where} has {len(cells)} cells, the header {len(header)}: is a comma a decimal point?"
                )
            if len(cells) < len(header):
                raise UsageError(f"{where} is torn ({len(cells)} of {len(header)} cells): complete it or take it out")
            yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num} is no CSV ({error}): is a quote never closed?") from error


def _check_header(header: list[str], path: Path) -> None:
    if "users" not in header or not any(rate in header for rate in RATES):
        names = ", ".join(header)[:200]
        raise UsageError(f"{path} needs the columns users and one of {', '.join(RATES)}: it has {names}")
    if twice := [name for name, count in Counter(header).items() if count > 1 and name]:
        raise UsageError(f"{path} has the column {', '.join(twice)} more than once: take one of each out")


def number_of(row: Row, name: str, where: str) -> float | None:
    """A cell as a number; None of an empty one. Raises UsageError of words and of what is not finite."""
    cell = row.get(name, "").strip()
    if not cell:
        return None
    value = float(cell) if PLAIN_NUMBER.fullmatch(cell) else math.nan
    if not math.isfinite(value):
        raise UsageError(f"{where}: {name} is '{cell[:40]}', not a number: mend it or leave the cell empty")
    return value


def value_of(row: Row, name: str, where: str) -> float | None:
    """A column by its name in seconds, or the same in milliseconds. Raises UsageError of what no measurement can be."""
    value = _in_seconds(row, name, where) if name.endswith("_s") else number_of(row, name, where)
    if value is not None and value and not BELOW_MEASURE < abs(value) < BEYOND_MEASURE:
        raise UsageError(f"{where}: {name} is {value:g}: no measurement is so large or so small")
    if value is not None and value < 0 and name not in SIGNED:
        raise UsageError(f"{where}: {name} is {value:g}: it cannot be negative")
    if value is not None and name in COUNTS and not value.is_integer():
        raise UsageError(f"{where}: {name} is {value:g}: it counts, so it is a whole number")
    return value


def repeat_of(row: Row, where: str) -> int:
    """The number of the repeat, from 1; 1 when it is not told."""
    value = number_of(row, "repeat", where)
    if value is None:
        return 1
    if value < 1 or not value.is_integer():
        raise UsageError(f"{where}: repeat is {value:g}: number the repeats 1, 2, 3")
    return int(value)


def _in_seconds(row: Row, name: str, where: str) -> float | None:
    seconds = number_of(row, name, where)
    other = f"{name.removesuffix('_s')}_ms"
    milliseconds = number_of(row, other, where)
    if milliseconds is None:
        return seconds
    if seconds is not None and not math.isclose(seconds, milliseconds / 1000, rel_tol=SAME, abs_tol=1e-6):
        raise UsageError(f"{where}: {name} is {seconds:g} and {other} is {milliseconds:g}: take the wrong one out")
    return milliseconds / 1000 if seconds is None else seconds
