"""Other knee finders beside ours, on the same noisy tests of curves whose right answer is known.

    python -m benchmarks.knee_finders --kneed /tmp/kneed/bin/python --guidellm /tmp/guidellm/bin/python

Each tool is asked in an environment of its own, whose interpreter is given (`pip install kneed==0.9.0`,
`guidellm==0.8.1`); one that is not given is left out. Every level is climbed three times, CV 3 %; the others are given
the mean of each level. *Hit*: between 0.8 of the lower edge of the true best band and 1.2 of its upper edge. A *knee*
on a straight line is a false one.

Knows: how a tool is called. Must not know: how it finds.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.truth_shapes import FLAT, GRIDS, SHAPES, STRAIGHT, Shape, climbs, truth_of
from benchmarks.verdict_truth import table, verdict_of
from loadband.analysis.level import Level

Knees = list[float | None]
Curve = tuple[list[float], list[float]]
"""Users and mean throughput of each level."""

KNEED = """
import json, sys
import numpy as np
from kneed import KneeLocator
def find(x, y):
    return KneeLocator(x, y, S=1.0, curve="concave", direction="increasing").knee
def log(x, y):
    knee = find(np.log2(x), y)
    return None if knee is None else 2 ** float(knee)
axis = {"linear": find, "log": log}[sys.argv[1]]
knees = [axis(x, y) for x, y in json.load(sys.stdin)]
print(json.dumps([None if knee is None else float(knee) for knee in knees]))
"""
GUIDELLM = """
import json, sys
from guidellm.benchmark.analysis.knee import find_throughput_knee
print(json.dumps([find_throughput_knee(x, y).knee for x, y in json.load(sys.stdin)]))
"""

TOLERANCE = (0.8, 1.2)
CV, REPEATS = 0.03, 3


def asked(python: Path, code: str, *words: str) -> Callable[[Sequence[Curve]], Knees]:
    """A finder in another environment."""

    def find(curves: Sequence[Curve]) -> Knees:
        done = subprocess.run(
            [str(python), "-W", "ignore", "-c", code, *words], input=json.dumps(curves), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        knees: Knees = json.loads(done.stdout.splitlines()[-1])
        return knees

    return find


def ours(tests: Sequence[list[Level]]) -> Knees:
    """Operating points, where there is one between the levels or at the first."""
    verdicts = [verdict_of(levels).operating for levels in tests]
    return [each.users if each.status in ("found", "at_or_below_first") else None for each in verdicts]


def curve_of(levels: list[Level]) -> Curve:
    """Means over the repeats."""
    users = sorted({level.users for level in levels})
    found = [[level.numbers.output_tok_s or 0.0 for level in levels if level.users == at] for at in users]
    return users, [float(np.mean(each)) for each in found]


def tests_of(shape: Shape, runs: int, seed: int) -> dict[str, list[list[Level]]]:
    """Name of the levels -> noisy tests on them."""
    draw = np.random.default_rng(seed)
    return {name: [climbs(shape, grid, CV, REPEATS, draw) for _ in range(runs)] for name, grid in GRIDS.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="other knee finders beside ours")
    parser.add_argument("--kneed", type=Path, metavar="PYTHON", help="interpreter that has kneed")
    parser.add_argument("--guidellm", type=Path, metavar="PYTHON", help="interpreter that has GuideLLM")
    parser.add_argument("--runs", type=int, default=20, help="of each shape on each grid (20)")
    options = parser.parse_args()
    finders: dict[str, Callable[[Sequence[Curve]], Knees]] = {}
    if options.guidellm:
        finders["GuideLLM"] = asked(options.guidellm, GUIDELLM)
    if options.kneed:
        finders["Kneedle, linear axis"] = asked(options.kneed, KNEED, "linear")
        finders["Kneedle, log axis"] = asked(options.kneed, KNEED, "log")
    names = ("ours", *finders)
    rows = []
    for seed, (name, shape) in enumerate({**SHAPES, "straight line": STRAIGHT, "flat line": FLAT}.items()):
        for grid, tests in tests_of(shape, options.runs, seed).items():
            curves = [curve_of(levels) for levels in tests]
            knees = {"ours": ours(tests), **{title: find(curves) for title, find in finders.items()}}
            rows.append((name, grid, *(_told(name, shape, grid, knees, each) for each in names)))
            print(".", end="", file=sys.stderr, flush=True)
    print(table(("shape", "levels", *names), rows))


def _told(name: str, shape: Shape, grid: str, knees: Mapping[str, Knees], finder: str) -> str:
    """`18/20 hit`, or how many knees were found where there is none."""
    found = [knee for knee in knees[finder] if knee is not None]
    if name.endswith("line"):
        first = GRIDS[grid][0]
        return f"{sum(knee > first for knee in found)} knees"
    truth = truth_of(shape, GRIDS[grid])
    low, high = TOLERANCE[0] * truth.low, TOLERANCE[1] * truth.high
    hits = sum(low <= knee <= high for knee in found)
    return f"{hits} of {len(found)}"


if __name__ == "__main__":
    main()
