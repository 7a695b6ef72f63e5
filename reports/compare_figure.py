"""The curves of a comparison over each other.

Knows: Matplotlib through `figure`. Must not know: how a difference was judged.
"""

import numpy as np
from matplotlib.figure import Figure

from loadband.analysis.comparison import Comparison
from loadband.analysis.curve import throughput
from loadband.analysis.regions import placed
from reports.cells import printable
from reports.figure import INK, legend, paper, span_users
from reports.panels import OPERATING
from reports.units import UNITS, axis

COLOURS = ("#1d4ed8", "#b45309", "#0f766e", "#b91c1c", "#7c3aed", "#4d7c0f", "#be185d", "#0e7490")


def draw_comparison(comparison: Comparison) -> Figure:
    """Levels and curve of each side, operating points ringed; levels that are not valid are hollow."""
    figure, ax = paper(" against ".join(side.name for side in comparison.sides)[:110])
    span_users(ax, {level.users for side in comparison.sides for level in side.verdict.levels if level.users})
    for place, side in enumerate(comparison.sides):
        colour, curve = COLOURS[place % len(COLOURS)], side.verdict.curve
        shown = [
            (level.users, x, level.grade.valid)
            for level in side.verdict.levels
            if level.users and (x := throughput(level, comparison.metric)) is not None
        ]
        for valid, face in ((True, colour), (False, "white")):
            some = [(n, x) for n, x, worth in shown if worth is valid]
            if some:
                ax.plot(*zip(*some, strict=True), "o", color=colour, markerfacecolor=face, markersize=5)
        label = printable(side.name)
        if curve is not None and curve.users.size > 1 and curve.metric == comparison.metric:
            grid = np.geomspace(curve.users[0], curve.users[-1], 100)
            ax.plot(grid, [curve.x_at(float(n)) for n in grid], color=colour, linewidth=1.6, label=label)
            point = side.verdict.operating.users
            if point is not None and placed(side.verdict.operating):
                ax.plot([point], [curve.x_at(point)], "o", **OPERATING)
        else:
            ax.plot([], [], "o-", color=colour, label=label)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(axis(comparison.sides[0].verdict), color=INK)
    ax.set_ylabel(UNITS[comparison.metric], color=INK)
    legend(ax)
    return figure
