"""`step_table.csv`: one row per level, all numbers in their columns.

Knows: how a level becomes a row. Must not know: who reads it.
"""

import csv
import io

from loadband.analysis.level import NUMBER_COLUMNS, STEP_TABLE_COLUMNS, Level
from loadband.rundir import cell


def step_table(levels: tuple[Level, ...]) -> str:
    """The file's text; `marks` and `reasons` are `;` lists, `valid` is 0 or 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(STEP_TABLE_COLUMNS)
    for level in levels:
        numbers = [cell(_plain(getattr(level.numbers, name))) for name in NUMBER_COLUMNS]
        grade = level.grade
        writer.writerow([*numbers, cell(grade.valid), ";".join(grade.marks), "; ".join(grade.reasons), level.remark])
    return text.getvalue()


def _plain(value: float | None) -> float | int | None:
    """Whole numbers without a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
