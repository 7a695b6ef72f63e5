"""A file in blocks is the same file."""

from pathlib import Path

import pandas as pd
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.analysis import line_blocks
from loadband.analysis.line_blocks import Lines, read_lines
from loadband.errors import UsageError
from loadband.rundir import COLUMNS, WORKERS

HEADER = ",".join(COLUMNS[WORKERS])
SOUND = ["1,w1,2,1.5,0.001,0.002,0.3,running", '2,"w,1",2,,,,,""', "3,wö,2,1e3,,,,"]
BAD = ["1,w1,2", "1,w1,2,3,4,5,6,7,8", '1,"w1,2,3,4,5,6,7', "x,w1,-1,inf,nan,1e300,0,7"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([*SOUND, *BAD, ""]), max_size=12), st.integers(1, 400), st.booleans())
def test_any_size_of_block_gives_the_same_rows_and_counts(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int, torn: bool
) -> None:
    path = tmp_path_factory.mktemp("blocks") / WORKERS
    path.write_text("\n".join([HEADER, *lines]) + ("\n9,w" if torn else "\n"), encoding="utf-8")
    whole = read_lines(path, COLUMNS[WORKERS])
    before, line_blocks.BLOCK = line_blocks.BLOCK, size
    try:
        parts = read_lines(path, COLUMNS[WORKERS])
    finally:
        line_blocks.BLOCK = before
    assert _counts(parts) == _counts(whole)
    assert _counts(whole) == (torn, lines.count(BAD[0]), lines.count(BAD[1]) + lines.count(BAD[2]), _strange(lines))
    assert len(whole.table) == sum(line in (*SOUND, BAD[3]) for line in lines)
    pd.testing.assert_frame_equal(parts.table, whole.table)


def _counts(found: Lines) -> tuple[bool, int, int, int]:
    return found.torn_end, found.torn, found.damaged, found.strange


def _strange(lines: list[str]) -> int:
    """`x`, -1, inf, nan and 1e300 in a column of numbers, the last cell being text."""
    return 5 * lines.count(BAD[3])


def test_a_file_that_memory_cannot_hold_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / WORKERS).open("wb") as file:
        file.truncate(10_000_000_000)  # sparse: takes no room on the disk
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 8e9}))
    with pytest.raises(UsageError, match=r"has 10\.0 GB and takes about 60 GB of memory to analyse, 8 GB are free"):
        read_lines(tmp_path / WORKERS, COLUMNS[WORKERS])
