"""What was asked at each level and what came of it: a table for `report.md`.

Knows: headers, cells. Must not know: Markdown, formulas (docs/metrics.md).
"""

from collections.abc import Callable

from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.cells import NOTHING
from reports.units import axis, named

CACHE = "cache"
MOST_REASONS = 3
"""Finish reasons that one cell names."""


def share(value: float | None) -> str:
    """A share in percent."""
    return NOTHING if value is None else f"{value:.1%}"


def ratio(value: float | None) -> str:
    """A ratio near 1."""
    return NOTHING if value is None else f"{value:.3f}"


def _reasons(level: Level) -> str:
    told = list(level.workload.finish_reasons.items())
    if all(name == "unknown" for name, _ in told):
        return NOTHING
    more = ["..."] if len(told) > MOST_REASONS else []
    return ", ".join([*(f"{name} {value:.1%}" for name, value in told[:MOST_REASONS]), *more])


COLUMNS: tuple[tuple[str, Callable[[Level], str]], ...] = (
    ("prompt tokens ÷ asked p50", lambda level: ratio(level.numbers.prompt_ratio_p50)),
    ("worst prompt", lambda level: ratio(level.numbers.prompt_ratio_worst)),
    ("output tokens ÷ asked", lambda level: ratio(level.numbers.output_ratio)),
    ("ended by", _reasons),
    ("cached", lambda level: share(level.numbers.cached_share)),
    (CACHE, lambda level: level.workload.cache),
    ("conversations", lambda level: cells.number(level.numbers.conversations)),
    ("failed conversations", lambda level: cells.number(level.numbers.conversations_failed)),
)
"""Header and cell; a column that tells nothing at any level is left out. That of the cache may say *unknown*."""

QUIET = (NOTHING, "unknown")


def work_table(verdict: Verdict) -> tuple[list[str], list[list[str]]]:
    """Headers and a row for each level; both empty where nothing of it is known, as of a table."""
    levels = [level for level in verdict.levels if level.numbers.requests]
    quiet = {header for header, cell in COLUMNS if all(cell(level) in QUIET for level in levels)}
    told = [column for column in COLUMNS if column[0] not in quiet or column[0] == CACHE]
    if len(quiet) == len(COLUMNS):
        return [], []
    repeated = len({level.numbers.repeat for level in verdict.levels}) > 1
    headers = [axis(verdict), *(["repeat"] if repeated else []), *(named(header, verdict) for header, _ in told)]
    rows = [
        [f"{level.users:g}", *([str(level.numbers.repeat)] if repeated else []), *(cell(level) for _, cell in told)]
        for level in levels
    ]
    return headers, rows
