"""The frame that all figures share: paper, the axis of users, the regions of the verdict, saving.

Knows: Matplotlib, colours, where labels fit. Must not know: what is drawn in the frame (`panels`). Without pyplot:
no window, no state. Layout is fixed, not computed: that would cost more than the drawing.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from loadband.analysis.level import Level
from loadband.analysis.regions import placed
from loadband.analysis.verdict import Verdict
from loadband.analysis.verdict_json import pressure
from reports.cells import printable
from reports.units import axis

INK, MUTED, RULE = "#1f2933", "#7b8794", "#e4e7eb"
REGIONS = {"linear": "#dbeafe", "rising": "#f1f5f9", "best": "#bbf7d0", "pressure": "#fed7aa", "failed": "#fecaca"}
FAILED = "#b91c1c"
SIZE_INCHES, DPI = (8.4, 4.4), 110
LEFT, RIGHT, BOTTOM = 0.105, 0.975, 0.185
ROOM_FOR_REGIONS = 0.8
"""Top of the axes below the names of the regions."""
ROOM_ABOVE = 1.05
LABEL_WIDTH = 0.035
"""Of the axis."""
LOGARITHMIC_FROM = 6.0
"""Levels that span more than this factor are drawn on a logarithmic axis."""


def paper(title: str, top: float = 0.88) -> tuple[Figure, Axes]:
    """An empty figure with its title; `top` is where the axes end."""
    figure = Figure(figsize=SIZE_INCHES, dpi=DPI, facecolor="white")
    figure.subplots_adjust(left=LEFT, right=RIGHT, top=top, bottom=BOTTOM)
    figure.text(
        0.012, 0.975, printable(title), ha="left", va="top", color=INK, fontsize=11, fontweight="bold",
        parse_math=False,
    )  # fmt: skip
    ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(colors=INK, labelcolor=INK)
    ax.grid(axis="y", color=RULE, linewidth=0.8)
    ax.set_axisbelow(True)
    return figure, ax


def over_users(title: str, verdict: Verdict, levels: list[Level]) -> tuple[Figure, Axes]:
    """A figure whose axis is users or requests/s, with the regions behind it."""
    figure, ax = paper(title, ROOM_FOR_REGIONS)
    span_users(ax, {level.users for level in levels}, verdict.failure.at)
    _shade(ax, verdict)
    ax.set_xlabel(axis(verdict), color=INK)
    return figure, ax


def save(figure: Figure, path: Path) -> None:
    """Write `path` (PNG) and its SVG beside it, the same bytes for the same data."""
    rcParams["svg.hashsalt"] = "loadband"
    figure.savefig(path)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def legend(ax: Axes) -> None:
    """What the lines are, below the axis, where no line and no region lies under it."""
    ax.figure.legend(
        *ax.get_legend_handles_labels(), loc="lower center", bbox_to_anchor=((LEFT + RIGHT) / 2, 0.0), frameon=False,
        fontsize=9, ncols=5,
    )  # fmt: skip


def time_axis(ax: Axes, *, logarithmic: bool) -> None:
    """Seconds on the vertical axis, with their unit at each tick."""
    if logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_ylim(0, ax.get_ylim()[1] * ROOM_ABOVE)
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: "0" if not y else f"{y * 1e3:g} ms" if y < 1 else f"{y:g} s")
    )


def span_users(ax: Axes, users: Iterable[float], named: float | None = None) -> None:
    """The axis of users: logarithmic for wide ladders, ticks at the tested levels, always at the `named` one."""
    tested = sorted(users)
    low, high = tested[0], tested[-1]
    if high / low > LOGARITHMIC_FROM:
        ax.set_xscale("log", base=2)
        ax.set_xlim(low / 1.15, high * 1.15)
    else:
        room = max((high - low) * 0.06, 0.5)
        ax.set_xlim(low - room, high + room)
    ax.set_xticks(_legible(tested, named, ax))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _legible(tested: list[float], named: float | None, ax: Axes) -> list[float]:
    """The tested levels whose labels do not run into each other, nor into that of the `named` one."""
    scale = np.log if ax.get_xscale() == "log" else np.asarray
    left, right = (float(scale(edge)) for edge in ax.get_xlim())
    shown = [level for level in tested if level == named]
    for tick in tested:
        apart = min((abs(float(scale(tick)) - float(scale(other))) for other in shown), default=right - left)
        if apart > LABEL_WIDTH * (right - left):
            shown.append(tick)
    return sorted(shown)


def _shade(ax: Axes, verdict: Verdict) -> None:
    """The regions as bands of colour with their names in two rows, so that narrow ones stay legible; the failure."""
    left, right = ax.get_xlim()
    rise = 0.0
    for name, begin, end in _regions(verdict, left, right):
        low, high = max(begin, left), min(end, right)
        if high <= low:
            continue
        ax.axvspan(low, high, color=REGIONS[name], alpha=0.75 if name == "best" else 0.5, linewidth=0, zorder=0)
        middle = np.sqrt(low * high) if ax.get_xscale() == "log" else (low + high) / 2
        ax.annotate(
            name, (middle, 1.01 + rise), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=9,
            color=INK, fontweight="bold" if name == "best" else "normal",
        )  # fmt: skip
        rise = 0.06 - rise
    at, failure = verdict.failure.at, verdict.failure
    if at is not None:
        sure = failure.status == "found"
        ax.axvline(at, color=FAILED, linewidth=1.4, linestyle="-" if sure else ":")
        ax.annotate(
            f"failure at {at:g}: {failure.mode}{'' if sure else f', {failure.status}'}", (at, 1.14),
            xycoords=("data", "axes fraction"), ha="right" if at > np.sqrt(left * right) else "left", va="bottom",
            fontsize=9, color=FAILED,
        )  # fmt: skip


def _regions(verdict: Verdict, left: float, right: float) -> list[tuple[str, float, float]]:
    """Name, begin and end of each, from left to right; a best band only where the answer places one."""
    operating, failure = verdict.operating, verdict.failure
    regions = []
    if placed(operating) and operating.low is not None and operating.high is not None:
        regions.append(("best", operating.low, operating.high))
    begin, end = pressure(verdict)
    if begin is not None and end is not None:
        regions.append(("pressure", begin, end if failure.at is not None else right))
    if failure.at is not None and failure.status == "found":
        regions.append(("failed", failure.at, right))
    if verdict.linear_upto is None or verdict.curve is None:
        return regions
    peak = float(verdict.curve.users[int(verdict.curve.x.argmax())])
    ends = min([peak, *(low for _, low, _ in regions)])
    slower = [("rising", verdict.linear_upto, ends)] if ends > verdict.linear_upto else []
    return [("linear", left, verdict.linear_upto), *slower, *regions]
