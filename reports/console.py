"""What the terminal shows: the table of levels, the answer, where the report lies. The last thing on standard output.

Knows: rich, columns, colours. Must not know: files, formulas. Without a terminal it is plain text, wide enough that
no cell is cut.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loadband.analysis.analyse import Analysis
from loadband.analysis.curve import throughput
from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.baseline import look_at
from reports.cells import NOTHING
from reports.narrow import Column, fitted, table_of
from reports.output import report_console
from reports.parts import SCENARIO_HEADERS, cause_rows, scenario_rows, shown_level
from reports.serving_block import serving_block
from reports.units import axis, named, unit
from reports.wording import answer

WIDEST = 10_000
"""Without a terminal no table is too wide."""
SHORT_UNITS = {
    "output tokens/s": "tok/s", "tokens/s": "tok/s", "successful requests/s": "req/s", "output events/s": "events/s",
}  # fmt: skip
MOST_REASONS = 12
MOST_CAUSES = 5
SENTENCE_LENGTH = 120
TOLD_BY_COUNTS = ("few_for_p99", "errors_not_resolved")
"""Marks that the table shows anyway: p99 has no column, and errors stand with their number of requests."""


def print_report(analysis: Analysis, where: str | None) -> None:
    """Print everything; `where` is the path of the written report."""
    terminal = sys.stdout.isatty()
    console = report_console()
    wide = console if terminal else report_console(WIDEST)
    verdict = analysis.verdict
    console.print()
    if verdict.levels:
        console.print(Text(cells.printable(analysis.title), style="italic"), soft_wrap=True)
        for part in _table(verdict, wide.width):
            wide.print(part)
    shown = shown_level(verdict)
    if shown is not None and shown.scenarios:
        console.print()
        console.print(Text(f"By scenario at {shown.name}", style="italic"), soft_wrap=True)
        for part in _scenarios(shown, verdict, wide.width):
            wide.print(part)
    if shown is not None and analysis.run:
        console.print(f"\nAt {shown.name}:")
        console.print(Text(serving_block(analysis, shown)))
    for line in _remarks(analysis):
        console.print(Text(cells.printable(line)), style="yellow" if terminal else "")
    console.print()
    for place, sentence in enumerate(answer(analysis)):
        console.print(escape(sentence), style="bold" if place == 0 and terminal else "", soft_wrap=not terminal)
    console.print(
        escape(f"Confidence: {verdict.confidence} ({verdict.confidence_reason}). Exit code {int(verdict.exit_code)}.")
    )
    if where:
        console.print(Text(f"Report: {where}"), soft_wrap=True)


def _table(verdict: Verdict, width: int) -> list[Table | Text]:
    """The levels, and below them what a narrow terminal has no room for."""
    repeats = len({level.numbers.repeat for level in verdict.levels}) > 1
    x = unit(verdict)
    headers: list[tuple[str, str, int]] = [
        (axis(verdict), "", 9), ("achieved", "", 6), *([("repeat", "", 9)] if repeats else []),
        ("in flight", "", 2), (x, SHORT_UNITS.get(x, x), 9), ("gain %", "", 3), ("TTFT p50", "", 1),
        ("TTFT p95", "", 7), (named("TPOT p50", verdict), "", 5), ("E2E p50", "", 0), ("errors", "", 8),
        ("left", "", 2), ("remark", "", 4),
    ]  # fmt: skip
    rows = [_cells(level, verdict.metric, repeats=repeats) for level in verdict.levels]
    columns = [
        Column(header, tuple(row[place] for row in rows), short, left=header == "remark", dear=dear)
        for place, (header, short, dear) in enumerate(headers)
        if any(row[place] != NOTHING for row in rows)
    ]
    styles = ["" if level.grade.valid else "dim" for level in verdict.levels]
    marks = Column(
        "valid", tuple(", ".join([row[-1], *_doubts(level)]) for row, level in _beside(rows, verdict)), left=True
    )
    kept, out, short = fitted([*columns, replace(marks, dear=9)], width)
    if not out:
        return [table_of(kept, styles, short=short)]
    worth = Column("valid", tuple(row[-1] for row in rows), left=True, dear=9)
    kept, out, short = fitted([*columns, worth], width)
    below = [Text(line) for line in _marked(verdict)]
    if out:
        below.append(Text(f"No room for {', '.join(column.header for column in out)}: see report/step_table.csv"))
    return [table_of(kept, styles, short=short), *below]


def _beside(rows: list[list[str]], verdict: Verdict) -> Iterator[tuple[list[str], Level]]:
    return zip(rows, verdict.levels, strict=True)


def _marked(verdict: Verdict) -> list[str]:
    """Marks in lines of their own: levels with the same ones share a line."""
    groups: dict[str, list[str]] = {}
    for level in verdict.levels:
        if doubts := _doubts(level):
            groups.setdefault(", ".join(doubts), []).append(f"{level.users:g}")
    return [f"{', '.join(dict.fromkeys(where))}: {marks}" for marks, where in groups.items()]


def _doubts(level: Level) -> list[str]:
    return [mark.replace("_", " ") for mark in level.grade.marks if mark not in TOLD_BY_COUNTS]


def _scenarios(level: Level, verdict: Verdict, width: int) -> list[Table | Text]:
    """What each scenario of the mix felt at one level."""
    rows = scenario_rows(level)
    columns = [
        Column(
            named(header, verdict), tuple(row[place] for row in rows), left=header == "scenario",
            dear=len(SCENARIO_HEADERS) - place,
        )
        for place, header in enumerate(SCENARIO_HEADERS)
    ]  # fmt: skip
    kept, out, short = fitted(columns, width)
    below = [Text(f"No room for {', '.join(column.header for column in out)}: see report/report.md")] if out else []
    return [table_of(kept, [""] * len(rows), short=short), *below]


def _cells(level: Level, metric: str, *, repeats: bool) -> list[str]:
    numbers, grade = level.numbers, level.grade
    worth = "yes" if grade.valid else "client-limited" if grade.client_limited else "NO"
    return [
        cells.number(numbers.users if numbers.users is not None else numbers.offered_req_s),
        cells.number(None if numbers.offered_req_s is None else numbers.req_s),
        *([str(numbers.repeat)] if repeats else []),
        cells.number(numbers.in_flight),
        cells.number(throughput(level, metric), digits=4),
        NOTHING if numbers.gain_pct is None else f"{numbers.gain_pct:+.0f}",
        cells.time(numbers.ttft_p50_s),
        cells.time(numbers.ttft_p95_s),
        cells.time(numbers.tpot_p50_s),
        cells.time(numbers.e2e_p50_s),
        cells.errors(numbers.error_rate, level.judged),
        cells.number(numbers.abandoned),
        level.remark or NOTHING,
        worth,
    ]


def _remarks(analysis: Analysis) -> list[str]:
    """Findings before load, notes on files, why levels are not valid: each once, the worst first."""
    verdict = analysis.verdict
    lines = [f"Found: {finding}" for finding in analysis.findings]
    lines += [
        f"Failed: {count} × {name}, first at {where}: {sentence[:SENTENCE_LENGTH]}"
        for name, count, where, sentence in cause_rows(verdict)[:MOST_CAUSES]
    ]
    if (more := len(verdict.causes) - MOST_CAUSES) > 0:
        lines.append(f"... and {more} more classes of failures")
    lines += [f"Note: {note}" for note in (*analysis.notes, *verdict.notes)]
    faults = [f"{level.name}: {'; '.join(level.grade.faults)}" for level in verdict.levels if not level.grade.valid]
    more = len(faults) - MOST_REASONS
    lines += faults[:MOST_REASONS] + ([f"... and {more} more levels that are not valid"] if more > 0 else [])
    lines += [f"Look at {sentence}" for sentence in look_at(verdict)]
    unknown = sorted({word for level in verdict.levels for word in level.grade.undecided})
    unchecked = sorted({word for level in verdict.levels for word in level.grade.not_checked})
    if unknown:
        lines.append(f"Undecided, for want of data: {', '.join(unknown).replace('_', ' ')}")
    if unchecked:
        lines.append(f"Not checked, a table does not tell: {', '.join(unchecked).replace('_', ' ')}")
    return lines
