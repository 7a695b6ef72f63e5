"""The doctor's table on the terminal.

Knows: rich, signs, colours. Must not know: what is checked. Without a terminal it is plain text.
"""

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadband.tuning.doctor.check import Examination, Mark

SIGNS = {Mark.GOOD: "✓", Mark.WARN: "!", Mark.BAD: "✗", Mark.UNKNOWN: "?"}
STYLES = {Mark.GOOD: "green", Mark.WARN: "yellow", Mark.BAD: "bold red", Mark.UNKNOWN: "dim"}
PLAIN_WIDTH = 120


def print_table(examination: Examination) -> None:
    """Print the checks, each with its next step, and the sum."""
    terminal = sys.stdout.isatty()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    console = Console(width=None if terminal else PLAIN_WIDTH, highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in examination.checks:
        style = STYLES[check.mark] if terminal else ""
        table.add_row(Text(SIGNS[check.mark], style), Text(check.name), Text(check.said))
        if check.step:
            table.add_row("", "", Text(f"→ {check.step}", style))
    console.print(Text(examination.target))
    console.print(table)
    console.print(Text(summary(examination)))


def summary(examination: Examination) -> str:
    """How many of which, and the exit code."""
    counts = [sum(check.mark == mark for check in examination.checks) for mark in Mark]
    words = ("good", "to know before you read the numbers", "bad", "not to be found out")
    told = ", ".join(f"{count} {word}" for count, word in zip(counts, words, strict=True) if count)
    return f"{told}. Exit code {int(examination.exit_code)}."
