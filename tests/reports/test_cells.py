from pathlib import Path
from typing import Any

import pytest

from loadband.analysis.analyse import Analysis, analyse_run
from reports import cells
from reports.console import print_report
from reports.markdown import markdown
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS, ladder, verdict_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["interactive", "long"], "interactive long"),
        (
            {"levels": [1, 2], "hold": "90s", "settle_s": None, "max_hold_s": 600.0},
            "levels 1 2, hold 90s, max_hold_s 600",
        ),
        ({"sampling": {"ignore_eos": True}}, "sampling ignore_eos yes"),
        (1790000000.5, "1790000000.5"),
        ("words", "words"),
    ],
)
def test_facts_are_written_as_a_person_writes_them(value: Any, text: str) -> None:
    assert cells.plain(value) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.0123, "12.3 ms"), (2070.0, "2,070 s"), (1.5, "1.5 s"), (None, "-")])
def test_times_have_no_exponent(seconds: float | None, text: str) -> None:
    assert cells.time(seconds) == text


def test_report_md_has_no_python_in_it(tmp_path: Path) -> None:
    """Neither brackets and quotes around a list, nor rates as powers of ten."""
    built = build_run(tmp_path / "run", Build(levels=(2, 4), hold_s=32.0), run={"labels": {"card": "A"}})
    said = markdown(analyse_run(built.path, None, LIMITS), ())
    assert "- scenarios: interactive\n" in said
    assert "- plan: levels 2 4, hold 32s, max\\_hold\\_s 600\n" in said
    assert "- labels: card A\n" in said
    rates = [each.renumbered(req_s=2072.3, in_flight=1234.0) for each in ladder({2048: 123456.0, 4096: 223456.0})]
    assert "| 1,234 | 60 | 1000 | 0.00 | 123,456 |" in markdown(Analysis("m", verdict_of(rates)), ())
    assert "e+0" not in markdown(Analysis("m", verdict_of(rates)), ())


def test_a_narrow_terminal_breaks_no_title(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    title = "a-model-with-a-long-name/7B-instruct at http://gpu1.example.org:8000"
    print_report(Analysis(title, verdict_of(ladder({1: 10, 2: 20, 4: 40}))), None)
    assert title in capsys.readouterr().out.splitlines()[1]
