"""`figures/throughput.png` and `.svg`: throughput and TTFT over users, with the regions of the verdict.

Knows: Matplotlib, colours, labels. Must not know: how a region was found. Drawn without pyplot: no window, no state.
"""

from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from loadband.analysis.analyse import Analysis
from loadband.analysis.curve import throughput
from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from loadband.analysis.verdict_json import pressure
from reports.wording import UNITS, users

INK, MUTED, CURVE = "#1f2933", "#7b8794", "#1d4ed8"
REGIONS = {"linear": "#dbeafe", "best": "#bbf7d0", "pressure": "#fed7aa", "failed": "#fecaca"}
PERCENTILES = (("ttft_p50_s", "p50", "#0f766e"), ("ttft_p95_s", "p95", "#b45309"), ("ttft_p99_s", "p99", "#b91c1c"))
LABEL_WIDTH = 0.035
"""Of the axis."""
LOGARITHMIC_FROM = 6.0
"""Levels that span more than this factor are drawn on a logarithmic axis."""


def draw(analysis: Analysis, path: Path) -> None:
    """Write `path` (PNG) and its SVG beside it."""
    rcParams["svg.hashsalt"] = "loadband"
    figure = Figure(figsize=(9.0, 7.2), layout="constrained", facecolor="white")
    levels = [level for level in analysis.verdict.levels if level.users]
    timed = any(level.numbers.ttft_p50_s is not None for level in levels)
    panels = figure.subplots(2 if timed else 1, 1, sharex=True, squeeze=False, height_ratios=[3, 2] if timed else [1])
    axes = [panels[row][0] for row in range(len(panels))]
    _span(axes[0], levels)
    for place, ax in enumerate(axes):
        _shade(ax, analysis.verdict, named=place == 0)
        _dress(ax)
    _throughput(axes[0], analysis.verdict, levels)
    if timed:
        _first_token(axes[1], levels)
    axes[-1].set_xlabel("users")
    figure.suptitle(analysis.title, x=0.02, ha="left", color=INK, fontsize=12, fontweight="bold")
    figure.savefig(path)
    figure.set_layout_engine("none")  # keeps the layout just made; making it again costs a third of the time
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _span(ax: Axes, levels: list[Level]) -> None:
    """The x axis: logarithmic for wide ladders, ticks at the tested levels."""
    tested = sorted({level.users for level in levels})
    low, high = tested[0], tested[-1]
    if high / low > LOGARITHMIC_FROM:
        ax.set_xscale("log", base=2)
        ax.set_xlim(low / 1.15, high * 1.15)
    else:
        room = max((high - low) * 0.06, 0.5)
        ax.set_xlim(low - room, high + room)
    ax.set_xticks(_legible(tested, ax))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _legible(tested: list[float], ax: Axes) -> list[float]:
    """The tested levels whose labels do not run into each other."""
    scale = np.log if ax.get_xscale() == "log" else np.asarray
    left, right = (float(scale(edge)) for edge in ax.get_xlim())
    shown = [tested[0]]
    for tick in tested[1:]:
        if float(scale(tick)) - float(scale(shown[-1])) > LABEL_WIDTH * (right - left):
            shown.append(tick)
    return shown


def _dress(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(colors=INK, labelcolor=INK)
    ax.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


def _shade(ax: Axes, verdict: Verdict, *, named: bool) -> None:
    """The regions as bands of colour; their names on the upper panel, in two rows so that narrow ones stay legible."""
    left, right = ax.get_xlim()
    rise = 0.0
    for name, begin, end in _regions(verdict, left, right):
        low, high = max(begin, left), min(end, right)
        if high <= low:
            continue
        ax.axvspan(low, high, color=REGIONS[name], alpha=0.75 if name == "best" else 0.5, linewidth=0, zorder=0)
        if named:
            middle = np.sqrt(low * high) if ax.get_xscale() == "log" else (low + high) / 2
            ax.annotate(
                name, (middle, 1.01 + rise), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                fontsize=9, color=INK, fontweight="bold" if name == "best" else "normal",
            )  # fmt: skip
            rise = 0.05 - rise


def _regions(verdict: Verdict, left: float, right: float) -> list[tuple[str, float, float]]:
    operating, failure = verdict.operating, verdict.failure
    regions = []
    if verdict.linear_upto is not None:
        upto = min(verdict.linear_upto, operating.low) if operating.low is not None else verdict.linear_upto
        regions.append(("linear", left, upto))
    if operating.low is not None and operating.high is not None:
        regions.append(("best", operating.low, operating.high))
    begin, end = pressure(verdict)
    if begin is not None and end is not None:
        regions.append(("pressure", begin, end if failure.at is not None else right))
    if failure.at is not None and failure.status == "found":
        regions.append(("failed", failure.at, right))
    return regions


def _throughput(ax: Axes, verdict: Verdict, levels: list[Level]) -> None:
    points = [(level.users, throughput(level, verdict.metric), level.grade.valid) for level in levels]
    for valid, marker, face, label in ((True, "o", CURVE, "measured"), (False, "X", "white", "not valid")):
        some = [(n, x) for n, x, ok in points if ok == valid and x is not None]
        if some:
            ax.plot(
                *zip(*some, strict=True), marker, color=CURVE if valid else MUTED, markerfacecolor=face, label=label
            )
    curve = verdict.curve
    if curve is not None and curve.users.size > 1:
        grid = np.geomspace(curve.users[0], curve.users[-1], 200)
        ax.plot(grid, [curve.x_at(float(n)) for n in grid], color=CURVE, linewidth=1.6, label="fitted")
    point = verdict.operating.users
    if point is not None and curve is not None and verdict.operating.status == "found":
        height = curve.x_at(point)
        ax.plot([point], [height], "o", markersize=13, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.5)
        ax.annotate(
            f"operating point {users(point)}", (point, height), xytext=(14, -34), textcoords="offset points",
            ha="left", color=INK, fontsize=9, arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
        )  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.set_ylabel(UNITS[verdict.metric])
    ax.legend(loc="lower right", frameon=False, fontsize=9)


def _first_token(ax: Axes, levels: list[Level]) -> None:
    """TTFT percentiles, of valid and invalid levels alike, on a logarithmic axis."""
    for column, label, colour in PERCENTILES:
        some = sorted((level.users, value) for level in levels if (value := level.numbers.get(column)))
        if some:
            ax.plot(*zip(*some, strict=True), "o-", color=colour, linewidth=1.4, markersize=4, label=label)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y * 1000:g} ms" if y < 1 else f"{y:g} s"))
    ax.set_ylabel("TTFT")
    ax.legend(loc="upper left", frameon=False, fontsize=9, ncols=3)
