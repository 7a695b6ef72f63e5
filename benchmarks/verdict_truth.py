"""The verdict against truth: hits, false knees, coverage of its intervals: `make bench-verdict`.

Hundreds of noisy short tests of curves whose right answer is known (`truth_shapes`), and of the simulated engine in
virtual time, whose right answer a long run tells (`truth_engine`). *Noise coverage*: how often the 5-95 % noise
interval holds what the same levels say without noise. *Grid coverage*: how often the grid interval holds the right
answer itself, whatever the levels.

Knows: counting. Must not know: formulas of the analysis.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.truth_engine import SETTLE_S, level_of, long_run, truth_between, whole_of
from benchmarks.truth_shapes import (
    FLAT,
    GRIDS,
    SHAPES,
    STRAIGHT,
    Truth,
    client_limited,
    climbs,
    cold,
    drifting,
    failing,
    in_waves,
    near,
    one_climb,
    open_climb,
    truth_of,
)
from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Facts, Verdict, judge
from loadband.analysis.windows import Hold

EDGES = ("operating", "low", "high")
LIMITS = Thresholds()
QUICK = Thresholds(replicates=20)
"""For counts that no interval takes part in."""

Row = tuple[str, ...]


def verdict_of(levels: Iterable[Level], limits: Thresholds = LIMITS) -> Verdict:
    """Without an SLO."""
    return judge(list(levels), (), limits, Facts())


class Coverage:
    """Counts of intervals that held what they should."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], list[bool]] = defaultdict(list)
        self.width: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.found = self.hits = self.runs = 0

    def add(self, verdict: Verdict, same_levels: Verdict, truth: Truth) -> None:
        """One noisy test, beside the same levels without noise and the truth."""
        self.runs += 1
        operating, quiet = verdict.operating, same_levels.operating
        if operating.status != "found":
            return
        self.found += 1
        self.hits += near(operating.users, truth.best)
        silent = {"operating": quiet.users, "low": quiet.low, "high": quiet.high}
        right = {"operating": truth.best, "low": truth.low, "high": truth.high}
        for edge in EDGES:
            interval = verdict.sure.of(edge)
            for kind, ends, value in (("noise", interval.noise, silent[edge]), ("grid", interval.grid, right[edge])):
                if ends is not None and value is not None:
                    self.held[edge, kind].append(ends[0] * (1 - 1e-9) <= value <= ends[1] * (1 + 1e-9))
                    self.width[edge, kind].append(ends[1] / ends[0])

    def share(self, kind: str, edge: str | None = None) -> float:
        """Of the intervals of a kind (and an edge), those that held."""
        return float(
            np.mean([held for key, each in self.held.items() for held in each if _of(key, kind, edge)] or [False])
        )

    def cells(self, kind: str) -> Row:
        """Coverage of each edge, and the median width as a factor."""
        widths = [w for key, each in self.width.items() for w in each if key[1] == kind]
        return (*(f"{self.share(kind, edge):.0%}" for edge in EDGES), f"{np.median(widths):.2f}" if widths else "-")


def _of(key: tuple[str, str], kind: str, edge: str | None) -> bool:
    return key[1] == kind and edge in (None, key[0])


def coverage(runs: int, cv: float, repeats: int, seed: int) -> tuple[list[Row], Coverage]:
    """Every shape on every grid; rows, and all together."""
    rows: list[Row] = []
    whole = Coverage()
    for name, shape in SHAPES.items():
        for grid_name, grid in GRIDS.items():
            truth, quiet = (
                truth_of(shape, grid),
                verdict_of(climbs(shape, grid, 0.0, 1, np.random.default_rng(0)), QUICK),
            )
            draw, one = np.random.default_rng([seed, len(rows)]), Coverage()
            for _ in range(runs):
                verdict = verdict_of(climbs(shape, grid, cv, repeats, draw))
                for each in (one, whole):
                    each.add(verdict, quiet, truth)
            counts = (f"{one.found}/{one.runs}", f"{one.hits}/{one.found}")
            rows.append((name, grid_name, *counts, *one.cells("noise"), *one.cells("grid")))
    return rows, whole


def false_knees(runs: int, cv: float, repeats: int, seed: int) -> tuple[int, int]:
    """Interior optima found on straight lines, and of them those with more than low confidence."""
    draw, found, sure = np.random.default_rng(seed), 0, 0
    grids = list(GRIDS.values())
    for run in range(runs):
        grid = grids[run % len(grids)]
        once = repeats == 1
        verdict = verdict_of(one_climb(STRAIGHT, grid, cv, draw) if once else climbs(STRAIGHT, grid, cv, repeats, draw))
        found += verdict.operating.status == "found"
        sure += verdict.operating.status == "found" and verdict.confidence != "low"
    return found, sure


def false_failures(runs: int, seed: int) -> tuple[int, int]:
    """Failure points found on healthy servers, closed and open loop: one failure in 500 requests, 3 % noise, one climb.

    A server that declines by half does collapse, and is left out.
    """
    draw, closed, opened = np.random.default_rng(seed), 0, 0
    named = [(shape, grid) for name, shape in SHAPES.items() if name != "declining" for grid in GRIDS.values()]
    for run in range(runs):
        shape, grid = named[run % len(named)]
        closed += verdict_of(climbs(shape, grid, 0.03, 1, draw, error_rate=0.002), QUICK).failure.status == "found"
        opened += verdict_of(open_climb(draw), QUICK).failure.status == "found"
    return closed, opened


def failures(runs: int, seed: int) -> list[Row]:
    """How often each mode is found in the right bracket."""
    draw, rows = np.random.default_rng(seed), list[Row]()
    for mode in ("errors", "memory", "hang", "collapse"):
        right = 0
        for run in range(runs):
            grid = list(GRIDS.values())[run % len(GRIDS)]
            at = grid[-2]
            failure = verdict_of(
                failing(climbs(SHAPES["smooth"], grid, 0.02, 1, draw, error_rate=0.001), mode, at, draw), QUICK
            ).failure
            wanted = "outage" if mode in ("memory", "hang") else mode
            right += (failure.status, failure.at, failure.mode) == ("found", at, wanted)
        rows.append((mode, f"{right}/{runs}"))
    return rows


def disturbed(runs: int, seed: int) -> list[Row]:
    """Sharp and smooth curves with what goes wrong in practice: hits of those found, and of confidence above low."""
    changes: dict[str, Callable[[list[Level]], list[Level]]] = {
        "cold first level": cold,
        "3 % slower each climb": drifting,
        "in waves": in_waves,
        "client-limited": client_limited,
    }
    rows: list[Row] = []
    for name, change in changes.items():
        draw, one, sure = np.random.default_rng([seed, len(rows)]), Coverage(), 0
        for run in range(runs):
            shape = SHAPES[("sharp", "smooth")[run % 2]]
            truth = truth_of(shape, GRIDS["x 1.5"])
            verdict = verdict_of(change(climbs(shape, GRIDS["x 1.5"], 0.015, 3, draw)))
            one.add(verdict, verdict, truth)
            sure += verdict.operating.status == "found" and verdict.confidence != "low"
        rows.append(
            (name, f"{one.found}/{runs}", f"{one.hits}/{one.found}", f"{one.share('grid', 'operating'):.0%}", f"{sure}")
        )
    return rows


def flat(runs: int, seed: int) -> int:
    """Servers of one slot, for which an optimum above the first level is found."""
    draw = np.random.default_rng(seed)
    verdicts = [verdict_of(climbs(FLAT, GRIDS["powers of 2"], 0.02, 3, draw)) for _ in range(runs)]
    return sum(each.operating.status == "found" for each in verdicts)


def table(headers: Row, rows: Iterable[Row]) -> str:
    """Markdown."""
    return "\n".join(["| " + " | ".join(row) + " |" for row in (headers, ("---",) * len(headers), *rows)])


PROFILE = "a100-qwen2.5-32b-q4"
TESTED = (4, 8, 16, 20, 24, 28, 32, 36, 40, 48)
BETWEEN = (22, 26, 30, 31, 34, 38)
ENGINE_HEADERS = (
    "seconds of a level", "tests", "found", "within 20 %", "noise: point", "lower", "upper", "width", "grid: point",
    "lower", "upper", "width",
)  # fmt: skip


def engine(
    seconds: float, *, holds: tuple[float, ...] = (30.0, 60.0), tested: tuple[int, ...] = TESTED,
    between: tuple[int, ...] = BETWEEN,
) -> list[Row]:  # fmt: skip
    """Short tests cut out of long virtual runs of the simulated A100; levels `between` only tell the truth."""
    runs = {users: long_run(PROFILE, users, seconds) for users in sorted((*tested, *between))}
    whole = {users: whole_of(run, seconds) for users, run in runs.items()}
    truth, quiet = truth_between(list(whole.values())), verdict_of([whole[users] for users in tested], QUICK)
    rows: list[Row] = []
    for hold_s in holds:
        one = Coverage()
        for place in range(int(seconds / hold_s)):
            hold = Hold(SETTLE_S + place * hold_s, SETTLE_S + (place + 1) * hold_s)
            steps = enumerate(tested, place * len(tested))
            one.add(verdict_of([level_of(runs[users], hold, step, LIMITS) for step, users in steps]), quiet, truth)
        counts = (f"{one.runs}", f"{one.found}", f"{one.hits}")
        rows.append((f"{hold_s:g}", *counts, *one.cells("noise"), *one.cells("grid")))
    return rows


SHAPE_HEADERS = (
    "shape", "levels", "found", "within 20 %", "noise: point", "lower", "upper", "width",
    "grid: point", "lower", "upper", "width",
)  # fmt: skip


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="the verdict against truth")
    parser.add_argument("--runs", type=int, default=20, help="of each shape on each grid")
    parser.add_argument("--lines", type=int, default=500, help="straight lines, and healthy runs")
    parser.add_argument("--engine-s", type=float, default=900.0, help="virtual seconds of each level; 0: no engine")
    options = parser.parse_args()
    began = time.monotonic()
    for cv, repeats in ((0.015, 3), (0.03, 3), (0.03, 5)):
        rows, whole = coverage(options.runs, cv, repeats, seed=repeats)
        print(f"\n## {repeats} repeats, CV {cv:.1%}\n\n{table(SHAPE_HEADERS, rows)}\n")
        print(
            f"found {whole.found} of {whole.runs}, within 20 %: {whole.hits}. "
            f"Noise interval holds {whole.share('noise'):.1%}, grid interval {whole.share('grid'):.1%}."
        )
    lines = options.lines
    for repeats in (3, 1):
        found, sure = false_knees(lines, 0.03, repeats, 6 + repeats)
        print(
            f"Straight lines, CV 3 %, climbed {repeats} times: {found} of {lines} with an optimum inside, "
            f"{sure} above low."
        )
    print(f"Flat lines: {flat(options.runs * 5, 9)} of {options.runs * 5} with an optimum inside.")
    closed, opened = false_failures(lines, 10)
    print(f"Healthy runs with a failure point: {closed} of {lines} closed loop, {opened} of {lines} open loop.")
    print(f"\n{table(('failing by', 'found in its bracket'), failures(options.runs * 5, 11))}")
    headers = ("disturbed by", "found", "within 20 %", "grid holds", "above low")
    print(f"\n{table(headers, disturbed(options.runs * 2, 12))}")
    if options.engine_s:
        print(f"\n{table(ENGINE_HEADERS, engine(options.engine_s))}")
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
