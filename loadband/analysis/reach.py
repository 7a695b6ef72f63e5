"""Where an operating point may be, and P along the way.

Knows: admissible levels, stretches of them, P between them. Must not know: what a region is called.

A stretch is a run of neighbouring levels that are all admissible: nothing is concluded across a level that failed.
ln P is straight in ln N between levels, so its maximum is a node and a band's edges are exact crossings.
"""

import itertools
import math
from dataclasses import dataclass

from loadband.analysis.bounds import wilson
from loadband.analysis.curve import Curve, Point
from loadband.analysis.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the operating point may not exceed."""

    slo: float | None = None
    """N_SLO, users."""
    failure: float | None = None
    """First failing level, users."""


def admissible(point: Point, limits: Thresholds) -> bool:
    """Unless the lower bound of the failure rate exceeds the limit; without a number of requests the rate itself."""
    if point.judged:
        return wilson(point.failed or 0.0, point.judged)[0] <= limits.error_limit
    return (point.error_rate or 0.0) <= limits.error_limit


class Reach:
    """The nodes (levels, and N_SLO) that an operating point may be at, in stretches.

    `bounds.slo` must not lie below the first level.
    """

    def __init__(self, curve: Curve, bounds: Bounds, limits: Thresholds, weight: float | None = None) -> None:
        self._ends: dict[float, str] = {}
        self.stretches: list[list[float]] = []
        stretch: list[float] = []
        for point in curve.points:
            stop = self._stop(point, bounds, limits)
            if stop is None:
                stretch.append(point.users)
                continue
            if stop == "slo" and stretch and bounds.slo is not None and stretch[-1] < bounds.slo:
                stretch.append(bounds.slo)
            self._close(stretch, stop)
            stretch = []
            if stop in ("slo", "failure"):
                break
        self._close(stretch, "range" if bounds.failure is None else "failure")
        nodes = [node for each in self.stretches for node in each]
        powers = curve.log_power(nodes, limits.weight if weight is None else weight) if nodes else []
        self._powers = dict(zip(nodes, powers, strict=True))

    @staticmethod
    def _stop(point: Point, bounds: Bounds, limits: Thresholds) -> str | None:
        if bounds.failure is not None and point.users >= bounds.failure:
            return "failure"
        if not admissible(point, limits):
            return "errors"
        return "slo" if bounds.slo is not None and point.users > bounds.slo else None

    def _close(self, stretch: list[float], why: str) -> None:
        if stretch:
            self.stretches.append(stretch)
            self._ends[stretch[-1]] = why

    def power(self, node: float) -> float:
        """The logarithm of P."""
        return self._powers[node]

    def best(self) -> float | None:
        """Where P is largest; of equals the fewest users."""
        nodes = [node for stretch in self.stretches for node in stretch]
        return max(nodes, key=lambda node: (round(self.power(node), 9), -node), default=None)

    def end(self, users: float) -> str | None:
        """Why nothing follows this node: `slo errors failure range`; None when something does."""
        return self._ends.get(users)

    def band(self, around: float, share: float) -> tuple[float, float, str]:
        """The connected interval around a node with P >= share of P there, and what limits its upper edge."""
        stretch = next(each for each in self.stretches if around in each)
        floor = self.power(around) + math.log(share)
        place = stretch.index(around)
        high, why = self._walk(stretch[place:], floor)
        low, _ = self._walk(stretch[place::-1], floor)
        return low, high, "curve" if why else (self._ends[stretch[-1]])

    def _walk(self, nodes: list[float], floor: float) -> tuple[float, bool]:
        """The last users from nodes[0] on with ln P >= floor, and whether P fell below it."""
        for here, there in itertools.pairwise(nodes):
            at_here, at_there = self.power(here), self.power(there)
            if at_there < floor:
                share = (at_here - floor) / (at_here - at_there)
                return math.exp(math.log(here) + share * (math.log(there) - math.log(here))), True
        return nodes[-1], False

    def peaks(self, share: float) -> list[tuple[float, float]]:
        """Best node of each separate piece with P >= share of the maximum, with the deepest ln P before the next."""
        best = self.best()
        if best is None:
            return []
        floor = self.power(best) + math.log(share)
        nodes = [node for stretch in self.stretches for node in stretch]
        pieces: list[list[float]] = []
        dips: list[float] = []
        inside = False
        for node in nodes:
            if self.power(node) >= floor:
                if not inside:
                    pieces.append([])
                    dips.append(math.inf)
                pieces[-1].append(node)
                inside = True
            else:
                if dips:
                    dips[-1] = min(dips[-1], self.power(node))
                inside = False
        return [(max(piece, key=self.power), dip) for piece, dip in zip(pieces, dips, strict=True)]
