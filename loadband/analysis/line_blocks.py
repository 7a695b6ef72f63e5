"""Read a CSV file of ours in blocks of whole lines, so that a million requests need little more memory than they take.

Knows: blocks, torn and damaged lines, how much memory a file needs. Must not know: what the columns mean.

A block whose lines are all whole goes to pandas as it is, with the type of each column given; a block in which a cell
is not of its column's type is read again as pandas guesses it. Both ways give the same cells.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis.cells import TEXT, typed
from loadband.errors import UsageError

BLOCK = 4 << 20
"""Bytes read at once; twice as many change nothing."""

SMALL = 256 << 20
"""Files up to here fit in any machine's memory."""

MEMORY_SHARE = 6.0
"""Memory that a report needs for each byte of its files, at most: 223 MB of requests took 1.1 GB."""


@dataclass(slots=True)
class Lines:
    """The data rows of a file, typed, and what was wrong with it."""

    header: list[str] = field(default_factory=list)
    """Names in the first line; empty when the file is."""
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    torn_end: bool = False
    torn: int = 0
    """Lines with too few cells."""
    damaged: int = 0
    """Lines with too many cells, or a quote that never closes."""
    strange: int = 0
    """Cells that are no numbers that can be."""


def read_lines(path: Path, columns: Sequence[str]) -> Lines:
    """The rows of a file with exactly these columns. Raises OSError, and UsageError when memory will not do for it."""
    check_memory(path)
    found, parts = Lines(), []
    for block in _blocks(path, found):
        data = block
        if not found.header:
            first, _, data = block.removeprefix("\ufeff".encode()).partition(b"\n")
            found.header = _names(first.decode("utf-8", errors="replace"))
        if sound := _sound(data, len(found.header), found):
            parts.append(_parsed(sound, columns, found))
    if parts:
        found.table = pd.concat(parts, ignore_index=True)
    return found


def check_memory(path: Path) -> None:
    """Raise UsageError for a file that this machine cannot hold, OSError when it cannot be asked for."""
    size = path.stat().st_size
    if size <= SMALL:
        return
    import psutil  # noqa: PLC0415  (asked for large files only)

    needed, free = size * MEMORY_SHARE, psutil.virtual_memory().available
    if needed > free:
        raise UsageError(
            f"{path} has {size / 1e9:.1f} GB and takes about {needed / 1e9:.0f} GB of memory to analyse, "
            f"{free / 1e9:.0f} GB are free: use a larger machine, or a shorter run"
        )


def _blocks(path: Path, found: Lines) -> Iterator[bytes]:
    """Whole lines; a torn last line is left out and told."""
    rest = b""
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            end = data.rfind(b"\n") + 1
            if end:
                yield rest + data[:end]
                rest = data[end:]
            else:
                rest += data
    found.torn_end = bool(rest)


def _names(line: str) -> list[str]:
    """Names of the columns; a second one of a name is nobody's."""
    names: list[str] = []
    for place, cell in enumerate(line.split(",")):
        name = cell.strip().strip('"')
        names.append(name if name not in names else f"{name}.{place}")
    return names


def _sound(data: bytes, width: int, found: Lines) -> bytes:
    """The lines with a cell for each column."""
    lines = data.split(b"\n")
    odd = {line for line in lines if (line.count(b",") != width - 1 or b'"' in line) and line.strip()}
    torn = {line for line in odd if not line.count(b'"') % 2 and _cells_of(line) < width}
    damaged = {line for line in odd if line.count(b'"') % 2 or _cells_of(line) > width}
    if not torn and not damaged:
        return data if any(lines) else b""
    found.torn += sum(line in torn for line in lines)
    found.damaged += sum(line in damaged for line in lines)
    return b"\n".join(line for line in lines if line not in torn and line not in damaged).strip(b"\n")


def _cells_of(line: bytes) -> int:
    return line.count(b",") + 1 if b'"' not in line else len(next(csv.reader([line.decode(errors="replace")])))


def _parsed(data: bytes, columns: Sequence[str], found: Lines) -> pd.DataFrame:
    """Cells of their column's type; `data` has whole lines only."""
    texts = [name for name in found.header if name in TEXT]
    others = [name for name in found.header if name not in TEXT]

    def read(dtypes: Mapping[str, Any]) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(data), header=None, names=found.header, dtype=dtypes, keep_default_na=False,
            na_values={name: [""] for name in others}, index_col=False, low_memory=False, encoding_errors="replace",
            usecols=[name for name in found.header if name in columns],
        )  # fmt: skip

    as_text: dict[str, Any] = dict.fromkeys(texts, object)
    try:
        frame = read(as_text | dict.fromkeys((name for name in others if name in columns), np.float64))
    except ValueError:
        frame = read(as_text)
    table, strange = typed(frame, columns)
    found.strange += strange
    return table
