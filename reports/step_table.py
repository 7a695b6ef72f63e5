"""`step_table.csv`: one row per level, all numbers in their columns.

Knows: how a level becomes a row. Must not know: who reads it.
"""

import csv
import io

from loadband.analysis.level import STEP_TABLE_COLUMNS, Level
from loadband.rundir import cell


def step_table(levels: tuple[Level, ...]) -> str:
    """The file's text; `marks`, `reasons` and `failures` are `;` lists, `valid` is 0 or 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(STEP_TABLE_COLUMNS)
    for level in levels:
        grade = level.grade
        words = {
            "valid": cell(grade.valid), "marks": ";".join(grade.marks), "reasons": "; ".join(grade.reasons),
            "remark": level.remark, "evidence_of_failure": cell(str(grade.evidence) if grade.evidence else None),
            "failures": ";".join(f"{name}:{count}" for name, count in level.failures.items()),
        }  # fmt: skip
        writer.writerow(
            [
                words[name] if name in words else cell(_plain(getattr(level.numbers, name)))
                for name in STEP_TABLE_COLUMNS
            ]
        )
    return text.getvalue()


def _plain(value: float | None) -> float | int | None:
    """Whole numbers without a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
