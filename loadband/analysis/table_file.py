"""A plain table of somebody's finished load test: one row per level (and repeat) becomes one level.

Knows: the column names that a table may use, in seconds or milliseconds. Must not know: the curve.

A table has been averaged by somebody else: most checks of D0 lack their data and are *not checked*, which caps the
confidence and blocks nothing. Two contradictions still show. *Never delivered*: Little's law, X_req (R + Z) / N, must
be near 1; where a table gives no mean E2E, its p95 or p99 is taken for every request, an upper bound, so that only a
failure can be concluded. *Two columns that contradict*: tokens/s over requests/s is the mean answer, which the load
alone should not change; it is compared with the median over the levels. Z is the `think_s` column, or `--think`; else
it is estimated from the lowest level (N/X - R) and used, marked *estimated*, only when it is as good as none: a long
estimated pause may as well be a fault of that one level, by which the others cannot be judged.
"""

import csv
import io
import math
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import NUMBER_COLUMNS, Grade, Level, Measured, Numbers
from loadband.analysis.run_files import BEYOND_MEASURE
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.validity import check_errors, grade_little
from loadband.errors import UsageError
from loadband.slo import LATENCIES, Limit

BELOW_MEASURE = 1e-12
RATES = ("output_tok_s", "total_tok_s", "req_s")
NO_PAUSE = 0.1
"""An estimated pause below this share of the mean E2E is none."""
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
    return _check_tokens(_check_delivery(checked, limits), limits)


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
        measured=tuple(_measured(limit, numbers) for limit in slo),
    )


def _measured(limit: Limit, numbers: Numbers) -> Measured:
    """An SLO limit against the column of its name. More failures than a percentile leaves room for are a miss."""
    column = f"{limit.quantity}_s" if limit.metric in LATENCIES else limit.quantity
    value = None if limit.scenario else numbers.get(column)
    if value is not None and limit.percentile is not None and (numbers.error_rate or 0) > 1 - limit.percentile / 100:
        value = math.inf
    misses = None
    if limit.metric == "error_rate" and numbers.error_rate is not None and numbers.requests:
        misses = numbers.error_rate * numbers.requests
    return Measured(limit, value, numbers.requests, misses)


def _check_delivery(levels: tuple[Level, ...], limits: Thresholds) -> tuple[Level, ...]:
    """Little's law, few rounds, unresolved errors."""
    think, estimated = _think_time(levels)
    first = min(level.users for level in levels)
    checked = []
    for level in levels:
        numbers, grade = level.numbers, level.grade
        e2e, served = numbers.e2e_mean_s, numbers.served_req_s
        bound = next((value for value in (numbers.e2e_p99_s, numbers.e2e_p95_s) if value), None)
        if served is None or think is None or (e2e is None and bound is None) or (estimated and level.users == first):
            grade = grade.not_check("little")
        elif e2e is not None:
            how = ", with an estimated think time" if estimated else ""
            grade = grade_little(grade, served * (e2e + think) / level.users, limits, how)
        else:
            grade = grade.not_check("little")
            if bound is not None and served * (bound + think) / level.users < limits.little_low:
                grade = grade.refuse("users were never delivered: even slow requests leave too few in flight (Little)")
        if numbers.ok is not None and numbers.ok / level.users < limits.few_rounds:
            grade = grade.mark("few_rounds", f"few rounds: {numbers.ok / level.users:.1f} successes per user")
        if numbers.error_rate is None:
            grade = grade.not_check("errors")
        checked.append(level.regraded(check_errors(grade, level.server_failed, level.judged, limits)))
    return tuple(checked)


def _think_time(levels: tuple[Level, ...]) -> tuple[float | None, bool]:
    """Mean pause, and whether it is estimated from the lowest level; None when neither given nor evidently absent."""
    given = [level.think_s for level in levels if level.think_s is not None]
    if given:
        return statistics.fmean(given), False
    lowest = min(levels, key=lambda level: level.users)
    e2e = lowest.numbers.e2e_mean_s or lowest.numbers.e2e_p50_s
    served = lowest.numbers.served_req_s
    if not e2e or not served:
        return None, False
    pause = max(lowest.users / served - e2e, 0.0)
    return (pause, True) if pause <= NO_PAUSE * e2e else (None, False)


def _check_tokens(levels: tuple[Level, ...], limits: Thresholds) -> tuple[Level, ...]:
    """Tokens per request against their median over the levels."""
    answers = {
        place: level.numbers.output_tok_s / served
        for place, level in enumerate(levels)
        if level.numbers.output_tok_s and (served := level.numbers.served_req_s)
    }
    if len(answers) < 3:
        return tuple(level.regraded(level.grade.not_check("tokens_against_requests")) for level in levels)
    usual = statistics.median(answers.values())
    checked = list(levels)
    for place, answer in answers.items():
        apart = abs(answer / usual - 1)
        grade = checked[place].grade
        sentence = f"tokens/s and requests/s contradict: {answer:.0f} tokens a request, {usual:.0f} at the other levels"
        if apart > limits.table_tokens_disagree:
            checked[place] = checked[place].regraded(grade.refuse(sentence))
        elif apart > limits.tokens_disagree:
            checked[place] = checked[place].regraded(grade.mark("tokens_per_request", sentence))
    return tuple(checked)
