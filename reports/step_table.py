"""`step_table.csv`: one row per level, all numbers in their columns.

Knows: how a level becomes a row. Must not know: who reads it.
"""

import csv
import io
import re
from collections.abc import Mapping

from loadband.analysis.level import STEP_TABLE_COLUMNS, Level
from loadband.rundir import cell


def step_table(levels: tuple[Level, ...]) -> str:
    """The file's text; `marks`, `reasons`, `failures`, `finish_reasons` and shares are `;` lists, `valid` is 0 or 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(STEP_TABLE_COLUMNS)
    for level in levels:
        grade = level.grade
        words = {
            "valid": cell(grade.valid), "marks": ";".join(grade.marks), "reasons": "; ".join(grade.reasons),
            "remark": level.remark, "evidence_of_failure": cell(str(grade.evidence) if grade.evidence else None),
            "failures": _listed(level.failures),
            "cache": level.workload.cache,
            "finish_reasons": _listed(level.workload.finish_reasons),
            "asked_shares": _listed({part.scenario: part.asked_share for part in level.scenarios}),
            "completed_shares": _listed({part.scenario: part.completed_share for part in level.scenarios}),
        }  # fmt: skip
        writer.writerow(
            [
                words[name] if name in words else cell(_plain(getattr(level.numbers, name)))
                for name in STEP_TABLE_COLUMNS
            ]
        )
    return text.getvalue()


def _listed(values: Mapping[str, float | None]) -> str:
    """`stop:0.97;length:0.03`; what is unknown is left out, and signs that would end a word are replaced."""
    words = ((re.sub(r"[;:\s]+", "_", name), value) for name, value in values.items() if value is not None)
    return ";".join(f"{name}:{cell(_plain(value))}" for name, value in words)


def _plain(value: float | None) -> float | int | None:
    """Whole numbers without a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
