"""Why requests failed, drawn: shares by class at each level; or their numbers, where no hold saw one.

Knows: failure classes, colours. Must not know: what a failure point is.
"""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure

from loadband.analysis.analyse import Analysis
from loadband.record import FailureClass
from reports.cells import printable
from reports.figure import INK, MUTED, legend, paper
from reports.parts import cause_rows
from reports.units import axis

CLASSES = ("#b91c1c", "#b45309", "#7c3aed", "#0e7490", "#be185d", "#4d7c0f", "#1d4ed8", "#a16207")
ROOM_FOR_NAMES = 0.27
"""Of the figure, left of the bars."""


def draw_errors(analysis: Analysis) -> Figure | None:
    """Failed requests by class, share of those that ended at the level; the client's own in grey.

    Where all of them ended outside the holds: their number in the whole run.
    """
    levels = [level for level in analysis.verdict.levels if level.users and level.numbers.requests]
    classes = sorted(
        {name for level in levels for name in level.failures}, key=lambda name: name == FailureClass.CLIENT
    )
    if not classes:
        return _outside_the_holds(analysis)
    figure, ax = paper(analysis.title)
    bottom = np.zeros(len(levels))
    colours = dict(zip((name for name in classes if name != FailureClass.CLIENT), _cycle(CLASSES), strict=False))
    for name in classes:
        shares = np.array([100 * level.failures.get(name, 0) / (level.numbers.requests or 1.0) for level in levels])
        ax.bar(range(len(levels)), shares, 0.6, bottom, color=colours.get(name, MUTED), label=_class(name))
        bottom += shares
    repeated = len({level.numbers.repeat for level in levels}) > 1
    names = [f"{level.users:g}" + (f"\n({level.numbers.repeat})" if repeated else "") for level in levels]
    ax.set_xticks(range(len(levels)), names)
    ax.set_xlabel(axis(analysis.verdict) + (" (repeat)" if repeated else ""), color=INK)
    ax.set_ylabel("failed requests, %", color=INK)
    legend(ax)
    return figure


def _outside_the_holds(analysis: Analysis) -> Figure | None:
    """Failed requests of the whole run by class, with the level at which each came first."""
    rows = cause_rows(analysis.verdict)
    if not rows:
        return None
    figure, ax = paper(analysis.title)
    figure.subplots_adjust(left=ROOM_FOR_NAMES)
    counts = [cause.count for cause in analysis.verdict.causes]
    colours = [MUTED if name == FailureClass.CLIENT else CLASSES[0] for name, *_ in rows]
    bars = ax.barh(range(len(rows)), counts, 0.6, color=colours)
    ax.bar_label(bars, [f" {count}" for _, count, *_ in rows], color=INK, fontsize=9)
    ax.set_yticks(range(len(rows)), [f"{_class(name)}\n{_since(where)}" for name, _, where, _ in rows], fontsize=9)
    ax.set_ylim(max(len(rows), 3) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("failed requests, all outside of the holds", color=INK)
    return figure


def _since(where: str) -> str:
    return where if where.startswith("before") else f"first at {where}"


def _class(name: str) -> str:
    """A failure class in words; of a damaged file it may be any text."""
    return printable(name).replace("_", " ").replace("$", " ").strip() or "unknown"


def _cycle(colours: tuple[str, ...]) -> Iterable[str]:
    while True:
        yield from colours
