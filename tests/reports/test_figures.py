"""Figures by what they say, not by their pixels: panels, labels, regions, marks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from loadband.analysis.analyse import Analysis
from loadband.analysis.causes import Cause
from loadband.analysis.level import Grade, Level
from reports.error_figure import draw_errors
from reports.figure import save
from reports.panels import FIGURES, draw_goodput, draw_speeds, draw_throughput, draw_tpot, draw_ttft
from reports.write import write_report
from tests.analysis.make_levels import ladder, level, outage, verdict_of

SHARP = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 160.0, 32: 160.0, 64: 160.0}
TIMES = {f"{metric}_{name}_s": 0.1 for metric in ("ttft", "tpot") for name in ("p50", "p95", "p99")}
SERVED = {"req_s": 10.0, "goodput_req_s": 9.0}
FAILING = level(128, 150, failed=200, failures={"http_500": 150, "client": 50}, tok_s_user=20.0, **TIMES)


def analysis(levels: list[Level]) -> Analysis:
    return Analysis("m at http://gpu1:8000", verdict_of(levels))


def full() -> Analysis:
    return analysis([*ladder(SHARP, tok_s_user=40.0, **TIMES, **SERVED), FAILING])


def texts(figure: Figure | None) -> list[str]:
    assert figure is not None
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_the_four_regions_and_the_failure_point_are_marked() -> None:
    said = texts(draw_throughput(full()))
    assert {"linear", "best", "pressure", "failed", "failure at 128: errors", "operating point 16"} <= set(said)
    assert {"output tokens/s", "users", "measured", "line through the levels", "m at http://gpu1:8000"} <= set(said)


def test_a_curve_is_called_a_fit_only_where_it_leaves_its_points() -> None:
    assert "unimodal fit" in texts(draw_throughput(analysis(ladder({**SHARP, 8: 30.0}))))
    assert "line through the levels" not in texts(draw_throughput(analysis(ladder({**SHARP, 8: 30.0}))))


def test_the_failing_level_has_its_tick_however_near_its_neighbours() -> None:
    xs = {4: 40.0, 8: 80.0, 16: 160.0, 20: 160.0, 36: 160.0, 38: 160.0, 64: 160.0}
    figure = draw_throughput(analysis([*ladder(xs), level(40, 160, failed=200)]))
    assert figure is not None
    ticks = figure.axes[0].get_xticks().tolist()
    assert 40 in ticks
    assert 38 not in ticks
    assert ticks == sorted(ticks)


def test_what_is_only_a_direction_is_no_best_band() -> None:
    said = texts(draw_throughput(analysis(ladder({1: 10.0, 2: 20.0, 4: 40.0}))))
    assert not {"best", "operating point 4"} & set(said)
    assert "linear" in said


def test_between_linear_and_best_stands_a_name() -> None:
    xs = {4: 40.0, 8: 80.0, 16: 130.0, 24: 180.0, 32: 220.0, 40: 221.0, 64: 221.0}
    found = analysis(ladder(xs))
    upto, low = found.verdict.linear_upto, found.verdict.operating.low
    assert upto is not None
    assert low is not None
    assert upto < low
    figure = draw_throughput(found)
    assert "rising" in texts(figure)
    assert figure is not None
    spans = [patch.get_extents().transformed(figure.axes[0].transData.inverted()) for patch in figure.axes[0].patches]
    assert any((span.x0, span.x1) == (pytest.approx(upto), pytest.approx(low)) for span in spans)
    assert "rising" not in texts(draw_throughput(full()))


@pytest.mark.parametrize("draw", [draw_throughput, draw_ttft, draw_tpot, draw_goodput, draw_errors])
def test_the_legend_lies_outside_of_the_axes(draw: Callable[[Analysis], Figure | None]) -> None:
    figure = draw(full())
    assert figure is not None
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert figure.axes[0].get_legend() is None
    assert legend.get_window_extent().y1 < figure.axes[0].get_window_extent().y0


def test_the_linear_region_ends_where_the_text_says() -> None:
    found = full()
    upto, low = found.verdict.linear_upto, found.verdict.operating.low
    assert upto is not None
    assert low is not None
    assert upto > low
    figure = draw_throughput(found)
    assert figure is not None
    spans = [patch.get_extents().transformed(figure.axes[0].transData.inverted()) for patch in figure.axes[0].patches]
    assert any(span.x1 == pytest.approx(upto) for span in spans)


def test_levels_in_doubt_are_hollow_and_named() -> None:
    doubtful = level(32, 160, grade=Grade().mark("drifting", "tokens/s moved"))
    figure = draw_throughput(analysis([*ladder({1: 10.0, 8: 80.0, 16: 160.0}), doubtful]))
    assert "in doubt" in texts(figure)
    assert figure is not None
    (hollow,) = [line for line in figure.axes[0].lines if line.get_label() == "in doubt"]
    assert hollow.get_markerfacecolor() == "white"
    assert np.asarray(hollow.get_xdata()).tolist() == [32]
    few = level(32, 160, grade=Grade().mark("few_for_p99", "p99 of 500 requests"))
    assert "in doubt" not in texts(draw_throughput(analysis([*ladder({1: 10.0, 8: 80.0, 16: 160.0}), few])))


def test_a_failure_in_doubt_is_drawn_as_one() -> None:
    said = texts(draw_throughput(analysis([*ladder(SHARP), level(128, 160, n=1000, failed=25)])))
    assert "failure at 128: errors, unconfirmed" in said
    assert "failed" not in said


def test_levels_that_are_not_valid_are_told_apart() -> None:
    assert "not valid" in texts(draw_throughput(analysis([*ladder(SHARP), level(128, 100, grade=outage())])))


@pytest.mark.parametrize(("draw", "label"), [(draw_ttft, "time to first token"), (draw_tpot, "time per output token")])
def test_percentiles_over_users(draw: Callable[[Analysis], Figure | None], label: str) -> None:
    assert {"p50", "p95", "p99", label, "failure at 128: errors"} <= set(texts(draw(full())))
    assert draw(analysis(ladder(SHARP))) is None


def test_errors_by_class() -> None:
    figure = draw_errors(full())
    assert {"http 500", "client", "failed requests, %"} <= set(texts(figure))
    assert figure is not None
    heights = [bar.get_height() for container in figure.axes[0].containers for bar in container]
    assert sorted(heights)[-2:] == [5.0, 15.0]
    assert draw_errors(analysis(ladder(SHARP))) is None


def test_failures_outside_of_all_holds_are_drawn_too() -> None:
    causes = (Cause("connect", 384, 64.0, "connection refused"), Cause("stream_error", 61, None, ""))
    verdict = verdict_of([*ladder(SHARP), level(128, None, n=0, grade=outage())])
    figure = draw_errors(Analysis("m", replace(verdict, causes=causes)))
    said = texts(figure)
    assert {"connect\nfirst at 64 users", "stream error\nbefore the first level"} <= set(said)
    assert figure is not None
    assert [bar.get_width() for container in figure.axes[0].containers for bar in container] == [384, 61]


def test_a_title_from_outside_is_text_and_nothing_else(tmp_path: Path) -> None:
    figure = draw_throughput(Analysis("m\x1b[31m $x^ at host", full().verdict))
    assert figure is not None
    save(figure, tmp_path / "one.png")
    assert "m [31m $x^ at host" in texts(figure)
    ElementTree.parse(tmp_path / "one.svg")


def test_the_systems_speed_against_the_users() -> None:
    said = texts(draw_speeds(full()))
    assert {"1", "8", "16–64", "128", "output tokens/s of the system"} <= set(said)
    assert draw_speeds(analysis(ladder(SHARP))) is None
    assert draw_speeds(analysis([FAILING])) is None


def test_goodput_stands_beside_what_was_served() -> None:
    assert {"successful", "good: every own value within the SLO", "requests/s"} <= set(texts(draw_goodput(full())))
    assert draw_goodput(analysis(ladder(SHARP, req_s=10.0))) is None


def test_repeats_are_points_and_a_line_through_their_medians() -> None:
    levels = [level(n, 10.0 * n, repeat=r, ttft_p50_s=0.1 * r) for n in (1, 2, 4) for r in (1, 2, 3)]
    figure = draw_ttft(analysis(levels))
    assert figure is not None
    line = next(line for line in figure.axes[0].lines if line.get_label() == "p50")
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([0.2] * 3)


def test_the_same_data_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        figure = draw_throughput(full())
        assert figure is not None
        save(figure, tmp_path / f"{name}.png")
    for kind in ("png", "svg"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
    assert (tmp_path / "one.png").read_bytes()[1:4] == b"PNG"
    assert "<svg" in (tmp_path / "one.svg").read_text()


def test_a_figure_that_has_nothing_to_show_any_more_is_removed(tmp_path: Path) -> None:
    write_report(full(), tmp_path)
    assert len(list((tmp_path / "report" / "figures").iterdir())) == 2 * len(FIGURES)
    write_report(analysis(ladder(SHARP)), tmp_path)
    assert {path.name for path in (tmp_path / "report" / "figures").iterdir()} == {"throughput.png", "throughput.svg"}
    text = (tmp_path / "report" / "report.md").read_text()
    assert "ttft.png" not in text
    write_report(analysis([level(8, None, n=0)]), tmp_path)
    assert list((tmp_path / "report" / "figures").iterdir()) == []


def test_one_level_is_drawn_too(tmp_path: Path) -> None:
    write_report(analysis([level(8, 843.0, **TIMES)]), tmp_path)
    assert (tmp_path / "report" / "figures" / "ttft.png").exists()


def test_repeats_of_a_level_have_one_label_at_their_median() -> None:
    levels = [level(n, 10.0 * n + r, tok_s_user=60.0 - n - 3 * r, repeat=r) for n in (4, 16, 32) for r in (1, 2, 3)]
    figure = draw_speeds(analysis(levels))
    assert [text for text in texts(figure) if text in ("4", "16", "32")].count("16") == 1
    assert figure is not None
    line = next(line for line in figure.axes[0].lines if line.get_linestyle() == "-")
    assert np.asarray(line.get_ydata()).tolist() == [42.0, 162.0, 322.0]


def test_points_on_each_other_have_one_label() -> None:
    levels = [level(n, x, tok_s_user=40.0) for n, x in ((4, 40.0), (8, 80.0), (12, 80.5), (16, 80.0), (32, 60.0))]
    said = texts(draw_speeds(analysis(levels)))
    assert {"4", "8–16", "32"} <= set(said)
    assert "12" not in said
