"""No number is ever cut: columns are left out first, and marks stand below."""

import re
from pathlib import Path

import pytest
from rich.console import Console

from loadband.analysis.analyse import analyse_run
from loadband.analysis.thresholds import Thresholds
from reports.console import _table
from reports.narrow import Column, fitted
from tests.analysis.build_run import Build, Server, build_run

NUMBER = r"[\w.%+-]+(?:,\d+)*"


def shown(parts: list[object], width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160])
def test_every_number_of_the_table_is_whole_at_any_width(width: int, tmp_path: Path) -> None:
    build = Build(levels=(8, 16, 32), hold_s=12.0, server=Server(slots=16, tokens=(200, 2000), tpot_s=0.001))
    verdict = analyse_run(build_run(tmp_path / "run", build).path, None, Thresholds()).verdict
    narrow, wide = (shown(list(_table(verdict, each)), each) for each in (width, 1000))
    assert "…" not in "".join(narrow)
    words = set(re.findall(NUMBER, "\n".join(wide)))
    rows = narrow[1 : 1 + len(verdict.levels)]
    assert [row.split()[0] for row in rows] == ["8", "16", "32"]
    assert {word for row in rows for word in re.findall(NUMBER, row)} <= words
    assert max(len(row) for row in rows) <= width
    assert any("short" in line for line in narrow), "marks are told, beside or below"
    if width < 100:
        assert any(line.startswith("No room for") for line in narrow)


def test_the_cheapest_columns_go_first() -> None:
    columns = [Column("users", ("1",), dear=9), Column("a" * 20, ("1",), dear=1), Column("b", ("22",), dear=5)]
    kept, out, short = fitted(columns, 20)
    assert ([each.header for each in kept], [each.header for each in out], short) == (["users", "b"], ["a" * 20], True)
    assert fitted(columns, 100) == (columns, [], False)
    assert [each.header for each in fitted(columns, 1)[0]] == ["users"]
