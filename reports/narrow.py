"""A table that fits: whole columns are left out before any number is cut.

Knows: widths, rich. Must not know: what a column means, which of them are dear.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

PADDING = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column with all its cells."""

    header: str
    cells: tuple[str, ...]
    short: str = ""
    """The header where room is short; the same when empty."""
    left: bool = False
    """Text stands left, numbers right."""
    dear: int = 0
    """Columns of the lowest number are left out first, the rightmost of equals."""

    def width(self, *, short: bool) -> int:
        """Characters, padding included."""
        return max(len(self.named(short=short)), *(len(cell) for cell in self.cells), 0) + PADDING

    def named(self, *, short: bool) -> str:
        """The header."""
        return (self.short or self.header) if short else self.header


def fitted(columns: Sequence[Column], width: int) -> tuple[list[Column], list[Column], bool]:
    """The columns that fit in order, those left out, and whether headers must be short. At least one is kept."""
    if _total(columns, short=False) <= width:
        return list(columns), [], False
    kept, out = list(columns), []
    while len(kept) > 1 and _total(kept, short=True) > width:
        least = min(column.dear for column in kept)
        place = max(place for place, column in enumerate(kept) if column.dear == least)
        out.append(kept.pop(place))
    return kept, [column for column in columns if column in out], True


def _total(columns: Sequence[Column], *, short: bool) -> int:
    return sum(column.width(short=short) for column in columns)


def table_of(columns: Sequence[Column], styles: Sequence[str], *, short: bool) -> Table:
    """A rich table that never wraps or cuts a cell; a style for each row."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in columns:
        table.add_column(
            escape(column.named(short=short)),
            justify="left" if column.left else "right",
            no_wrap=True,
            min_width=column.width(short=short) - PADDING,
        )
    for row, style in enumerate(styles):
        table.add_row(*(escape(column.cells[row]) for column in columns), style=style)
    return table
