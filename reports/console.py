"""What the terminal shows: the table of levels, the answer, where the report lies. The last thing on standard output.

Knows: rich, columns, colours. Must not know: files, formulas. Without a terminal it is plain text, wide enough that
no cell is cut.
"""

import sys

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loadband.analysis.analyse import Analysis
from loadband.analysis.curve import throughput
from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.cells import NOTHING
from reports.parts import SCENARIO_HEADERS, cause_rows, scenario_rows, shown_level
from reports.serving_block import serving_block
from reports.units import axis, named, unit
from reports.wording import answer

PLAIN_WIDTH = 160
MOST_REASONS = 12
MOST_CAUSES = 5
SENTENCE_LENGTH = 120
TOLD_BY_COUNTS = ("few_for_p99", "errors_not_resolved")
"""Marks that the table shows anyway: p99 has no column, and errors stand with their number of requests."""


def print_report(analysis: Analysis, where: str | None) -> None:
    """Print everything; `where` is the path of the written report."""
    terminal = sys.stdout.isatty()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    console = Console(width=None if terminal else PLAIN_WIDTH, highlight=False)
    verdict = analysis.verdict
    console.print()
    if verdict.levels:
        console.print(Text(analysis.title, style="italic"), soft_wrap=True)
        console.print(_table(verdict))
    shown = shown_level(verdict)
    if shown is not None and shown.scenarios:
        console.print()
        console.print(Text(f"By scenario at {shown.name}", style="italic"), soft_wrap=True)
        console.print(_scenarios(shown, verdict))
    if shown is not None and analysis.run:
        console.print(f"\nAt {shown.name}:")
        console.print(Text(serving_block(analysis, shown)))
    for line in _remarks(analysis):
        console.print(Text(line), style="yellow" if terminal else "")
    console.print()
    for place, sentence in enumerate(answer(analysis)):
        console.print(escape(sentence), style="bold" if place == 0 and terminal else "", soft_wrap=not terminal)
    console.print(
        escape(f"Confidence: {verdict.confidence} ({verdict.confidence_reason}). Exit code {int(verdict.exit_code)}.")
    )
    if where:
        console.print(Text(f"Report: {where}"), soft_wrap=True)


def _table(verdict: Verdict) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    repeats = len({level.numbers.repeat for level in verdict.levels}) > 1
    headers = [axis(verdict), "achieved", *(["repeat"] if repeats else []), "in flight", unit(verdict), "gain %"]
    headers += ["TTFT p50", "TTFT p95", named("TPOT p50", verdict), "E2E p50", "errors"]
    rows = [_cells(level, verdict.metric, repeats=repeats) for level in verdict.levels]
    headers += ["left", "remark"]
    kept = [place for place, _ in enumerate(headers) if any(row[place] != NOTHING for row in rows)]
    for place in kept:
        table.add_column(headers[place], justify="left" if headers[place] == "remark" else "right")
    table.add_column("valid", overflow="fold")
    for level, row in zip(verdict.levels, rows, strict=True):
        table.add_row(*(row[place] for place in kept), row[-1], style="" if level.grade.valid else "dim")
    return table


def _scenarios(level: Level, verdict: Verdict) -> Table:
    """What each scenario of the mix felt at one level."""
    table = Table(box=None, padding=(0, 1))
    for header in SCENARIO_HEADERS:
        table.add_column(named(header, verdict), justify="left" if header == "scenario" else "right")
    for row in scenario_rows(level):
        table.add_row(*(escape(cell) for cell in row))
    return table


def _cells(level: Level, metric: str, *, repeats: bool) -> list[str]:
    numbers, grade = level.numbers, level.grade
    worth = "yes" if grade.valid else "client-limited" if grade.client_limited else "NO"
    doubts = [mark.replace("_", " ") for mark in grade.marks if mark not in TOLD_BY_COUNTS]
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
        ", ".join([worth, *doubts]),
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
    unknown = sorted({word for level in verdict.levels for word in level.grade.undecided})
    unchecked = sorted({word for level in verdict.levels for word in level.grade.not_checked})
    if unknown:
        lines.append(f"Undecided, for want of data: {', '.join(unknown).replace('_', ' ')}")
    if unchecked:
        lines.append(f"Not checked, a table does not tell: {', '.join(unchecked).replace('_', ' ')}")
    return lines
