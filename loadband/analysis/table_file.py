"""A plain table of somebody's finished load test: one row per level (and repeat) becomes one level.

Knows: the columns of a level. Must not know: how a cell is read (`table_rows`), the curve, what the numbers are worth
together (`table_checks`).
"""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import NUMBER_COLUMNS, Evidence, Grade, Level, Numbers
from loadband.analysis.table_checks import check_table, measured_of
from loadband.analysis.table_rows import Row, repeat_of, rows_of, value_of
from loadband.analysis.thresholds import Thresholds
from loadband.errors import UsageError
from loadband.slo import Limit

LARGEST = 100_000_000
"""Bytes; a thousand levels with every column need a thousandth of it."""

UNCHECKED = ("users", "client", "drift", "waves", "outage")
EVIDENCE = re.compile(r"(?P<mode>outage|timeout|errors|collapse)(?P<healed> \(healed\))?: (?P<sentence>.*)", re.DOTALL)
"""A cell of `evidence_of_failure` in our own `step_table.csv`."""


def read_table(path: Path, think_s: float | None, slo: tuple[Limit, ...], limits: Thresholds) -> tuple[Level, ...]:
    """Levels of a table, by users and repeat. Raises UsageError when it is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path} is larger than {LARGEST:,} bytes: a table of levels has one row per level")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}): give a CSV table of levels") from error
    levels = [_level(row, where, think_s, slo) for where, row in rows_of(text, path)]
    if not levels:
        raise UsageError(f"{path} has a header and no rows: give one row per level")
    levels = numbered(levels)
    levels.sort(key=lambda level: (level.numbers.repeat, level.users, level.numbers.step or 0))
    checked = check_ladder(levels, limits)
    return check_table(checked, limits)


def numbered(levels: list[Level]) -> list[Level]:
    """Rows of the same users are repeats, also in a table that does not number them."""
    if any(level.numbers.repeat != 1 for level in levels):
        return levels
    seen: Counter[float] = Counter()
    repeats = []
    for level in levels:
        seen[level.users] += 1
        repeats.append(level.renumbered(repeat=seen[level.users]))
    return repeats


def _grade(row: Row) -> Grade:
    """What the table itself says of a level: ours say whether it is valid, and what it tells of a failing server."""
    grade = Grade(not_checked=UNCHECKED)
    if row.get("valid", "").strip() == "0":
        grade = grade.refuse(row.get("reasons", "").strip() or "marked as not valid in the table")
    if told := EVIDENCE.fullmatch(row.get("evidence_of_failure", "").strip()):
        grade = grade.witness(Evidence(told["mode"], told["sentence"], healed=bool(told["healed"])))
    return grade


def _level(row: Row, where: str, think_s: float | None, slo: tuple[Limit, ...]) -> Level:
    """One row, graded as far as it says something about itself."""
    found = {name: value_of(row, name, where) for name in NUMBER_COLUMNS if name != "repeat"}
    if not found["users"]:
        raise UsageError(f"{where}: users is '{row.get('users', '')}': give the number of users of the level")
    step = found.pop("step")
    numbers = Numbers(step=None if step is None else int(step), repeat=repeat_of(row, where), **found)
    if numbers.error_rate is not None and numbers.error_rate > 1:
        raise UsageError(f"{where}: error_rate is {numbers.error_rate:g}: write a share between 0 and 1")
    grade = _grade(row)
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
    own_think = value_of(row, "think_s", where)
    return Level(
        numbers=numbers,
        grade=grade,
        server_failed=failed,
        think_s=own_think if own_think is not None else think_s,
        build=row.get("build", "").strip() or None,
        measured=tuple(measured_of(limit, numbers) for limit in slo),
    )
