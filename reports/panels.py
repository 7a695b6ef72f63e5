"""What is drawn: throughput, first tokens, pace, goodput, and the system's speed against the user's.

Knows: columns, colours, legends. Must not know: how a region was found. Each function gives a figure, or None when
there is nothing to draw. Of repeats all points stand, and the line goes through their medians.
"""

import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadband.analysis.analyse import Analysis
from loadband.analysis.confidence import LOWERING
from loadband.analysis.curve import Curve, throughput
from loadband.analysis.level import Level
from loadband.analysis.regions import placed
from reports.error_figure import draw_errors
from reports.figure import INK, MUTED, legend, over_users, paper, time_axis
from reports.people import users
from reports.units import named, spoken, unit

CURVE = "#1d4ed8"
NEAR = 0.03
"""Of an axis: points nearer than this have one label."""
PERCENTILES = (("p50", "#0f766e"), ("p95", "#b45309"), ("p99", "#b91c1c"))
STYLES: dict[str, dict[str, Any]] = {
    "measured": {"marker": "o", "color": CURVE},
    "in doubt": {"marker": "o", "color": CURVE, "markerfacecolor": "white"},
    "not valid": {"marker": "X", "color": MUTED, "markerfacecolor": "white"},
}
"""Marker of a level by what it is worth; in doubt: with a mark that lowers the confidence."""
SAME = 0.005
"""Of throughput: a fit that is nowhere farther from its points than this looks like them."""
OPERATING: dict[str, Any] = {
    "markersize": 13,
    "markerfacecolor": "none",
    "markeredgecolor": INK,
    "markeredgewidth": 1.5,
}


def draw_throughput(analysis: Analysis) -> Figure | None:
    """Measured points, the curve, the operating point."""
    verdict, levels = analysis.verdict, _levels(analysis)
    if not any(throughput(level, verdict.metric) for level in levels):
        return None
    figure, ax = over_users(analysis.title, verdict, levels)
    for label, style in STYLES.items():
        some = [
            (level.users, x)
            for level in levels
            if _worth(level) == label and (x := throughput(level, verdict.metric)) is not None
        ]
        if some:
            ax.plot(*zip(*some, strict=True), label=label, linestyle="none", **style)
    curve, point = verdict.curve, verdict.operating.users
    if curve is not None and curve.users.size > 1:
        grid = np.geomspace(curve.users[0], curve.users[-1], 100)
        ax.plot(grid, [curve.x_at(float(n)) for n in grid], color=CURVE, linewidth=1.6, label=_curve_name(curve))
    if point is not None and curve is not None and verdict.operating.status == "found":
        height = curve.x_at(point)
        ax.plot([point], [height], "o", **OPERATING)
        ax.annotate(
            f"operating point {users(point)}", (point, height), xytext=(14, -34), textcoords="offset points",
            ha="left", color=INK, fontsize=9, arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
        )  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.set_ylabel(unit(verdict), color=INK)
    legend(ax)
    return figure


def _worth(level: Level) -> str:
    """The key of `STYLES` for a level."""
    if not level.grade.valid:
        return "not valid"
    return "in doubt" if LOWERING.intersection(level.grade.marks) else "measured"


def _curve_name(curve: Curve) -> str:
    """A fit that passes through every point is no more than a line between them."""
    apart = np.abs(curve.x / np.array([point.x for point in curve.points]) - 1).max()
    return "line through the levels" if apart < SAME else "unimodal fit"


def draw_ttft(analysis: Analysis) -> Figure | None:
    """Time to first token, on a logarithmic axis: a queue grows by factors."""
    return _percentiles(analysis, "ttft", "time to first token", logarithmic=True)


def draw_tpot(analysis: Analysis) -> Figure | None:
    """Time per output token, from 0."""
    return _percentiles(analysis, "tpot", "time per output token", logarithmic=False)


def _percentiles(analysis: Analysis, metric: str, label: str, *, logarithmic: bool) -> Figure | None:
    levels = _levels(analysis)
    lines = [(name, colour, _series(levels, f"{metric}_{name}_s")) for name, colour in PERCENTILES]
    if not any(points for _, _, points in lines):
        return None
    figure, ax = over_users(analysis.title, analysis.verdict, levels)
    for name, colour, points in lines:
        if points:
            _line(ax, points, colour, name)
    for limit in {each.limit for level in levels for each in level.measured if each.limit.metric == metric}:
        ax.axhline(limit.value, color=INK, linewidth=1.0, linestyle="--", label=f"SLO {limit}")
    time_axis(ax, logarithmic=logarithmic)
    ax.set_ylabel(named(label, analysis.verdict), color=INK)
    legend(ax)
    return figure


def draw_goodput(analysis: Analysis) -> Figure | None:
    """Good requests per second beside all successful ones; nothing without an SLO."""
    levels = _levels(analysis)
    good = _series(levels, "goodput_req_s")
    if not good:
        return None
    figure, ax = over_users(analysis.title, analysis.verdict, levels)
    if served := _series(levels, "served_req_s"):
        _line(ax, served, MUTED, "successful")
    _line(ax, good, CURVE, "good: every own value within the SLO")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("requests/s", color=INK)
    legend(ax)
    return figure


def draw_speeds(analysis: Analysis) -> Figure | None:
    """Output tokens/s of the system against tokens/s that a user sees: each level buys one with the other."""
    found = [
        (level.users, x, y)
        for level in _levels(analysis)
        if level.grade.valid and (x := level.numbers.tok_s_user) and (y := level.numbers.output_tok_s)
    ]
    if len(found) < 2:
        return None
    figure, ax = paper(analysis.title)
    ax.plot([x for _, x, _ in found], [y for _, _, y in found], "o", color=CURVE, markersize=4)
    middles = list(_middles(found))
    ax.plot([x for _, x, _ in middles], [y for _, _, y in middles], "-", color=CURVE, linewidth=1.4)
    widest, highest = max(x for _, x, _ in found), max(y for _, _, y in found)
    for names, x, y in _together(middles, widest, highest):
        ax.annotate(names, (x, y), xytext=(7, 5), textcoords="offset points", fontsize=9, color=INK)
    for level, x, y in middles:
        if level == analysis.verdict.operating.users and placed(analysis.verdict.operating):
            ax.plot([x], [y], "o", **OPERATING)
    ax.set_xlim(0, 1.12 * widest)
    ax.set_ylim(0, 1.12 * highest)
    label = spoken("tokens/s of one user (1 / mean TPOT); numbers are users", analysis.verdict)
    ax.set_xlabel(named(label, analysis.verdict), color=INK)
    ax.set_ylabel(named("output tokens/s of the system", analysis.verdict), color=INK)
    return figure


def _middles(points: list[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
    """Users, and the medians of both coordinates over the repeats, rising in users."""
    for level in sorted({at for at, _, _ in points}):
        xs, ys = zip(*((x, y) for at, x, y in points if at == level), strict=True)
        yield level, statistics.median(xs), statistics.median(ys)


def _together(
    points: list[tuple[float, float, float]], widest: float, highest: float
) -> Iterator[tuple[str, float, float]]:
    """One label where the points of neighbouring levels lie on each other: `12-16`."""
    first = last = points[0]
    for point in points[1:]:
        near = abs(point[1] - first[1]) < NEAR * widest and abs(point[2] - first[2]) < NEAR * highest
        if not near:
            yield _span_of(first[0], last[0]), first[1], first[2]
            first = point
        last = point
    yield _span_of(first[0], last[0]), first[1], first[2]


def _span_of(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


FIGURES: tuple[tuple[str, str, Callable[[Analysis], Figure | None]], ...] = (
    ("throughput", "Throughput over users", draw_throughput),
    ("ttft", "Time to first token over users", draw_ttft),
    ("tpot", "Time per output token over users", draw_tpot),
    ("goodput", "Goodput over users", draw_goodput),
    ("errors", "Failed requests by class", draw_errors),
    ("speeds", "Output tokens/s of the system against tokens/s of one user", draw_speeds),
)
"""File name, caption, function; in the order of the report."""


def _levels(analysis: Analysis) -> list[Level]:
    return [level for level in analysis.verdict.levels if level.users]


def _series(levels: Iterable[Level], column: str) -> list[tuple[float, float]]:
    """Users and value, rising in users."""
    return sorted((level.users, value) for level in levels if (value := level.numbers.get(column)) is not None)


def _line(ax: Axes, points: list[tuple[float, float]], colour: str, label: str) -> None:
    at = sorted({n for n, _ in points})
    medians = [statistics.median(value for n, value in points if n == one) for one in at]
    ax.plot(at, medians, "-", color=colour, linewidth=1.4, label=label)
    ax.plot(*zip(*points, strict=True), "o", color=colour, markersize=4)
