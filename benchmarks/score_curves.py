"""Score the verdict on tables whose knee somebody has named: `python benchmarks/score_curves.py DIR`.

DIR holds `labels.csv` (columns `curve`, `knee_lo`, `knee_hi`, empty where there is no knee to find) and a table
`<curve>.csv` for each. A *hit*: the operating point, or the end of the saturation bracket, lies between 0.8 knee_lo
and 1.2 knee_hi. A *right abstention*: no number where the label has none. Not part of the test suite; no table is
kept in the project.
"""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from loadband.analysis.table_file import read_table
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Facts, Verdict, judge
from loadband.errors import LoadbandError

TOLERANCE = (0.8, 1.2)
NUMBERS = ("found", "at_or_below_first")
"""Status words with which the verdict claims to know where the optimum is."""


def outcome(verdict: Verdict, knee_lo: float | None, knee_hi: float | None) -> str:
    """`hit`, `miss`, `abstained` (rightly), `missed knee` (no number given) or `false knee`."""
    operating, saturation = verdict.operating, verdict.saturation
    claims = [operating.users] if operating.status in NUMBERS else []
    if knee_lo is None or knee_hi is None:
        return "false knee" if claims else "abstained"
    if saturation.status in NUMBERS:
        claims += [saturation.at]
    low, high = TOLERANCE[0] * knee_lo, TOLERANCE[1] * knee_hi
    if any(claim is not None and low <= claim <= high for claim in claims):
        return "hit"
    return "miss" if claims else "missed knee"


def main(folder: Path) -> None:
    """Print one line per table and the totals."""
    totals: dict[str, int] = {}
    limits = Thresholds()
    with (folder / "labels.csv").open(encoding="utf-8") as file:
        labels = list(csv.DictReader(file))
    for label in labels:
        knee = [float(label[name]) if label[name] else None for name in ("knee_lo", "knee_hi")]
        try:
            levels = read_table(folder / f"{label['curve']}.csv", None, (), limits)
        except LoadbandError as error:
            print(f"{label['curve']:50} {error}")
            continue
        verdict = judge(levels, (), limits, Facts())
        result = outcome(verdict, knee[0], knee[1])
        totals[result] = totals.get(result, 0) + 1
        found, saturation, failure = verdict.operating, verdict.saturation, verdict.failure
        users = "" if found.users is None else f"{found.users:g}"
        print(
            f"{label['curve'][:46]:46} knee {label['knee_lo'] or '-':>4}-{label['knee_hi'] or '-':<4} {result:12}"
            f" {found.status:17} {users:>5}  saturated {saturation.status} ({saturation.after}, {saturation.at}]"
            f"  failure {failure.status} ({failure.after}, {failure.at}] {failure.mode or ''}"
        )
        if found.reason:
            print(f"{'':46} {found.reason}")
    print(", ".join(f"{count} {name}" for name, count in sorted(totals.items())))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/score_curves.py DIR")
    main(Path(sys.argv[1]))
