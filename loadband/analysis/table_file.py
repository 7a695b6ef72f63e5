"""A plain table of somebody's finished load test: one row per level (and repeat) becomes one level.

Knows: the column names that a table may use, in seconds or milliseconds. Must not know: the curve, what the numbers
are worth together (`table_checks`).
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import NUMBER_COLUMNS, Grade, Level, Numbers
from loadband.analysis.run_files import BEYOND_MEASURE
from loadband.analysis.table_checks import check_table, measured_of
from loadband.analysis.thresholds import Thresholds
from loadband.errors import UsageError
from loadband.slo import Limit

BELOW_MEASURE = 1e-12
RATES = ("output_tok_s", "total_tok_s", "req_s")
UNCHECKED = ("users", "client", "drift", "waves", "outage")

Row = dict[str, str]


def read_table(path: Path, think_s: float | None, slo: tuple[Limit, ...], limits: Thresholds) -> tuple[Level, ...]:
    """Levels of a table, by users and repeat. Raises UsageError when it is none."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): give a CSV table of levels") from error
    levels = [_level(row, where, think_s, slo) for where, row in _rows(text, path)]
    if not levels:
        raise UsageError(f"{path} has a header and no rows: give one row per level")
    levels = _numbered(levels)
    levels.sort(key=lambda level: (level.numbers.repeat, level.users, level.numbers.step or 0))
    checked = check_ladder(levels, limits)
    return check_table(checked, limits)


def _rows(text: str, path: Path) -> Iterator[tuple[str, Row]]:
    """Each row with its place. Raises UsageError of a header that says nothing and of a line that does not fit it."""
    reader = csv.reader(io.StringIO(text))
    header = [name.strip() for name in next(reader, [])]
    if "users" not in header or not any(rate in header for rate in RATES):
        raise UsageError(f"{path} needs the columns users and one of {', '.join(RATES)}: it has {', '.join(header)}")
    for cells in reader:
        where = f"{path}, line {reader.line_num}"
        if len(cells) > len(header):
            raise UsageError(f"{where} has {len(cells)} cells, the header {len(header)}: is a comma a decimal point?")
        if 0 < len(cells) < len(header) and reader.line_num == text.count("\n") + 1:
            raise UsageError(f"{where} is torn ({len(cells)} of {len(header)} cells): complete it or take it out")
        if any(cells):
            yield where, dict(zip(header, cells, strict=False))


def _numbered(levels: list[Level]) -> list[Level]:
    """Rows of the same users are repeats, also in a table that does not number them."""
    if any(level.numbers.repeat != 1 for level in levels):
        return levels
    seen: Counter[float] = Counter()
    numbered = []
    for level in levels:
        seen[level.users] += 1
        numbered.append(level.renumbered(repeat=seen[level.users]))
    return numbered


def _number(row: Row, name: str, where: str) -> float | None:
    """A cell as a number; None of an empty one. Raises UsageError of words and of what is not finite."""
    cell = row.get(name, "").strip()
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{where}: {name} is '{cell[:40]}', not a number: mend it or leave the cell empty")
    return value


def _value(row: Row, name: str, where: str) -> float | None:
    """A column by its name in seconds, or the same in milliseconds."""
    value = _number(row, name, where)
    if value is None and name.endswith("_s"):
        milliseconds = _number(row, f"{name.removesuffix('_s')}_ms", where)
        value = None if milliseconds is None else milliseconds / 1000
    if value is not None and value and not BELOW_MEASURE < abs(value) < BEYOND_MEASURE:
        raise UsageError(f"{where}: {name} is {value:g}: no measurement is so large or so small")
    if value is not None and value < 0 and name != "gain_pct":
        raise UsageError(f"{where}: {name} is {value:g}: it cannot be negative")
    return value


def _level(row: Row, where: str, think_s: float | None, slo: tuple[Limit, ...]) -> Level:
    """One row, graded as far as it says something about itself."""
    found = {name: _value(row, name, where) for name in NUMBER_COLUMNS}
    if not found["users"]:
        raise UsageError(f"{where}: users is '{row.get('users', '')}': give the number of users of the level")
    repeat, step = found.pop("repeat"), found.pop("step")
    numbers = Numbers(step=None if step is None else int(step), repeat=int(repeat or 1), **found)
    if numbers.error_rate is not None and numbers.error_rate > 1:
        raise UsageError(f"{where}: error_rate is {numbers.error_rate:g}: write a share between 0 and 1")
    grade = Grade(not_checked=UNCHECKED)
    if row.get("valid", "").strip() == "0":
        grade = grade.refuse(row.get("reasons", "").strip() or "marked as not valid in the table")
    failed = None
    if numbers.error_rate is not None and numbers.requests is not None:
        failed = numbers.error_rate * numbers.requests
        numbers = replace(
            numbers,
            ok=numbers.requests - failed if numbers.ok is None else numbers.ok,
            failed=failed if numbers.failed is None else numbers.failed,
        )
    if numbers.in_flight is None and numbers.e2e_mean_s is not None:
        served = numbers.served_req_s
        numbers = replace(numbers, in_flight=None if served is None else served * numbers.e2e_mean_s)
    own_think = _value(row, "think_s", where)
    return Level(
        numbers=numbers,
        grade=grade,
        server_failed=failed,
        think_s=own_think if own_think is not None else think_s,
        build=row.get("build", "").strip() or None,
        measured=tuple(measured_of(limit, numbers) for limit in slo),
    )
