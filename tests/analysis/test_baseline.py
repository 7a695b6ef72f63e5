"""One level held k times: the interval of the next hold, and when a place is not fit to measure in."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadband.analysis.baseline import USUAL, Baseline, baseline_of, half_width
from loadband.analysis.level import Grade
from loadband.analysis.verdict import Facts
from loadband.errors import ExitCode
from reports.__main__ import main
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS, level, verdict_of
from tests.reports.test_reports_command import validated

FACTORS = [(2, 15.56), (3, 4.97), (4, 3.56), (10, 2.37)]
"""t(k - 1, 97.5 %) sqrt(1 + 1/k); 4.303 sqrt(4/3) = 4.97."""


@pytest.mark.parametrize(("holds", "factor"), FACTORS)
def test_half_width_in_standard_deviations(holds: int, factor: float) -> None:
    assert round(half_width(holds), 2) == factor


def holding(*xs: float, ttfts: tuple[float, ...] = (), **changes: Any) -> Baseline:
    """A baseline of 8 users of which three holds were asked for."""
    levels = [
        level(8, x, step=place + 1, repeat=place + 1, ttft_p95_s=ttfts[place] if ttfts else 0.2, **changes)
        for place, x in enumerate(xs)
    ]
    found = baseline_of(levels, "output_tok_s", 3, LIMITS)
    assert found is not None
    return found


def test_the_interval_of_the_next_hold() -> None:
    found = holding(99.0, 100.0, 101.0)
    x = found.numbers[0]
    assert (found.users, found.holds, found.stands) == (8, 3, True)
    assert (x.name, x.mean, x.deviation, x.cv) == ("output_tok_s", 100.0, 1.0, 0.01)
    assert x.half == pytest.approx(4.303 * math.sqrt(4 / 3), abs=1e-3)
    assert (x.low, x.high) == pytest.approx((95.03, 104.97), abs=1e-2)


def test_the_interval_holds_the_next_value_in_95_of_100_cases() -> None:
    draws = np.random.default_rng(20_261_129).normal(100, 1, (4000, 4))
    inside = 0
    for *three, following in draws.tolist():
        x = holding(*three).numbers[0]
        inside += x.low <= following <= x.high
    assert 0.94 < inside / 4000 < 0.96


UNSTEADY: list[tuple[tuple[float, ...], tuple[float, ...], list[str], str]] = [
    ((97.0, 100.0, 103.0), (), [], "3 % just so"),
    ((96.9, 100.0, 103.1), (), ["throughput varies by 3.1 % between equal holds (3 % is allowed)"], "throughput"),
    ((99.0, 100.0, 101.0), (0.17, 0.2, 0.23), [], "15 % just so"),
    ((99.0, 100.0, 101.0), (0.16, 0.2, 0.24), ["TTFT p95 varies by 20.0 % between equal holds (15 % is allowed)"],
     "the tail of the first token"),
]  # fmt: skip


@pytest.mark.parametrize(("xs", "ttfts", "sentences", "case"), UNSTEADY, ids=[row[3] for row in UNSTEADY])
def test_what_varies_too_much(xs: tuple[float, ...], ttfts: tuple[float, ...], sentences: list[str], case: str) -> None:
    found = holding(*xs, ttfts=ttfts)
    assert [sentence.replace("%", " %") for sentence in found.exceeded] == sentences, case
    assert found.stands is not bool(sentences)
    assert found.look_at == (USUAL if sentences else ())


def test_a_reason_that_the_run_shows_comes_first() -> None:
    found = holding(80.0, 100.0, 120.0, grade=Grade(marks=("short",)))
    assert "they are short" in found.look_at[0]
    assert found.look_at[1:] == USUAL


def test_a_hold_that_is_not_valid_is_left_out_and_then_the_baseline_does_not_stand() -> None:
    levels = [level(8, x, step=x, repeat=x, grade=Grade(valid=x != 101)) for x in (99, 100, 101)]
    found = baseline_of(levels, "output_tok_s", 3, LIMITS)
    assert found is not None
    assert (found.holds, round(found.factor or 0, 1), found.stands) == (2, 15.6, False)
    alone = baseline_of(levels[1:], "output_tok_s", 3, LIMITS)
    assert alone is not None
    assert (alone.holds, alone.factor, alone.numbers, alone.stands) == (1, None, (), False)


def test_a_number_that_a_hold_lacks_has_no_interval() -> None:
    levels = [level(8, 100.0, step=n, repeat=n, ttft_p95_s=None if n == 2 else 0.2) for n in (1, 2, 3)]
    found = baseline_of(levels, "output_tok_s", 3, LIMITS)
    assert found is not None
    assert "ttft_p95_s" not in [each.name for each in found.numbers]


@pytest.mark.parametrize(("xs", "code"), [((99, 100, 101), ExitCode.OK), ((90, 100, 110), ExitCode.UNANSWERED)])
def test_exit_codes(xs: tuple[float, ...], code: ExitCode) -> None:
    levels = [level(8, x, step=place, repeat=place) for place, x in enumerate(xs)]
    assert verdict_of(levels, Facts(ladder=False, baseline=3)).exit_code == code


def test_the_report_of_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = {"levels": [8], "hold": "40s", "settle_s": None, "max_hold_s": 600.0, "repeats": 3, "baseline": True}
    built = build_run(tmp_path / "run", Build(levels=(8,), repeats=3, run={"plan": plan}))
    assert main([str(built.path)]) == 0
    out = capsys.readouterr().out
    assert "Baseline of 3 holds at 8 users (95 %, ± 4.97 standard deviations): a next run lies within" in out
    told = validated((built.path / "report" / "verdict.json").read_text())["baseline"]
    assert (told["users"], told["offered_req_s"], told["asked"], told["holds"], told["stands"]) == (8, None, 3, 3, True)
    assert told["factor"] == pytest.approx(4.9684, abs=1e-3)
    x = told["numbers"][0]
    assert (x["name"], x["half"]) == ("output_tok_s", pytest.approx(told["factor"] * x["deviation"], rel=1e-4))
    report = (built.path / "report" / "report.md").read_text()
    assert "## Baseline" in report
    assert "| output tokens/s |" in report
    assert "What to look at" not in report


def test_the_report_of_one_that_is_too_unsteady(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = {"levels": [8], "hold": "40s", "settle_s": None, "max_hold_s": 600.0, "repeats": 3, "baseline": True}
    built = build_run(tmp_path / "run", Build(levels=(8,), repeats=3, run={"plan": plan}))
    assert main([str(built.path), "--no-write", "--threshold", "baseline_ttft_cv=0"]) == 3
    out = capsys.readouterr().out
    assert "Too unsteady to measure by: TTFT p95 varies by" in out
    assert f"Look at {USUAL[0]}" in out
