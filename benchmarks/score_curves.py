"""Score the verdict on tables whose knee somebody has named: `python benchmarks/score_curves.py DIR`.

With `--thresholds 0.2` each threshold is moved by 20 % both ways, the others kept: what depends on it is told.

DIR holds `labels.csv` (columns `curve`, `knee_lo`, `knee_hi`, empty where there is no knee to find) and a table
`<curve>.csv` for each. A *hit*: the operating point, or the end of the saturation bracket, lies between 0.8 knee_lo
and 1.2 knee_hi. A *right abstention*: no number where the label has none. Not part of the test suite; no table is
kept in the project.
"""

import argparse
import csv
import sys
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from loadband.analysis.table_file import read_table
from loadband.analysis.thresholds import LEVELS, RANGES, REQUESTS, Thresholds
from loadband.analysis.verdict import Facts, Verdict, judge
from loadband.errors import LoadbandError

TOLERANCE = (0.8, 1.2)
NUMBERS = ("found", "at_or_below_first")
"""Status words with which the verdict claims to know where the optimum is."""


def outcome(verdict: Verdict, knee_lo: float | None, knee_hi: float | None) -> str:
    """`hit`, `miss`, `refused`, `abstained` (rightly), `missed knee` (no number given) or `false knee`."""
    operating, saturation = verdict.operating, verdict.saturation
    if operating.status == "refused":
        return "refused"
    claims = [operating.users] if operating.status in NUMBERS else []
    if knee_lo is None or knee_hi is None:
        return "false knee" if claims else "abstained"
    if saturation.status in NUMBERS:
        claims += [saturation.at]
    low, high = TOLERANCE[0] * knee_lo, TOLERANCE[1] * knee_hi
    if any(claim is not None and low <= claim <= high for claim in claims):
        return "hit"
    return "miss" if claims else "missed knee"


@dataclass(frozen=True, slots=True)
class Scored:
    """One table and what came of it."""

    curve: str
    knee: tuple[str, str]
    """As the label has it; empty where there is none."""
    outcome: str
    verdict: Verdict | None
    """None of a table that was refused as it was read."""
    told: str = ""
    """Why it was refused."""


def score(folder: Path, limits: Thresholds) -> list[Scored]:
    """Every table of the folder, in the order of the labels."""
    with (folder / "labels.csv").open(encoding="utf-8") as file:
        labels = list(csv.DictReader(file))
    return [_scored(folder, label, limits) for label in labels]


def _scored(folder: Path, label: dict[str, str], limits: Thresholds) -> Scored:
    ends = (label["knee_lo"], label["knee_hi"])
    try:
        levels = read_table(folder / f"{label['curve']}.csv", None, (), limits)
    except LoadbandError as error:
        return Scored(label["curve"], ends, "refused", None, str(error))
    verdict = judge(levels, (), limits, Facts())
    low, high = (float(end) if end else None for end in ends)
    return Scored(label["curve"], ends, outcome(verdict, low, high), verdict)


def totals(scored: list[Scored]) -> str:
    """`14 hit, 5 abstained`."""
    counted = Counter(each.outcome for each in scored)
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))


def show(scored: list[Scored]) -> None:
    """One line per table and the totals."""
    for each in scored:
        if each.verdict is None:
            print(f"{each.curve:46} {each.told}")
            continue
        found, saturation, failure = each.verdict.operating, each.verdict.saturation, each.verdict.failure
        users = "" if found.users is None else f"{found.users:g}"
        print(
            f"{each.curve[:46]:46} knee {each.knee[0] or '-':>4}-{each.knee[1] or '-':<4} {each.outcome:12}"
            f" {found.status:17} {users:>5}  saturated {saturation.status} ({saturation.after}, {saturation.at}]"
            f"  failure {failure.status} ({failure.after}, {failure.at}] {failure.mode or ''}"
        )
        if found.reason:
            print(f"{'':46} {found.reason}")
    print(totals(scored))


def moved(limits: Thresholds, name: str, factor: float) -> Thresholds:
    """One threshold times a factor, kept in its range; whole numbers of levels and requests move by one at least."""
    low, high, what = RANGES[name]
    old = getattr(limits, name)
    new = old * factor
    if what in (LEVELS, REQUESTS):
        new = min(round(new), old - 1) if factor < 1 else max(round(new), old + 1)
    return replace(limits, **{name: min(max(new, low), high)})


def sensitivity(folder: Path, share: float) -> str:
    """A Markdown table: each threshold moved down and up by a share, all others kept, and what that changes."""
    limits = Thresholds()
    before = score(folder, limits)
    rows, quiet = [f"| as they are | | {totals(before)} | |"], []
    for field in fields(Thresholds):
        changes = [_changes(folder, before, moved(limits, field.name, factor)) for factor in (1 - share, 1 + share)]
        if not any(any(each[1:]) for each in changes):
            quiet.append(f"`{field.name}`")
            continue
        for (value, outcomes, points), sign in zip(changes, ("-", "+"), strict=True):
            told = f"{getattr(value, field.name):.4g}"
            rows.append(f"| `{field.name}` | {told} ({sign}{share:.0%}) | {outcomes or 'all the same'} | {points} |")
    head = "| threshold | value | outcome of tables | operating points that move |\n|---|---|---|---|"
    return "\n".join([head, *rows, "", f"Nothing changes by: {', '.join(quiet)}."])


def _changes(folder: Path, before: list[Scored], limits: Thresholds) -> tuple[Thresholds, str, int]:
    """The thresholds, which outcomes differ, and how many operating points do."""
    after = score(folder, limits)
    pairs = list(zip(before, after, strict=True))
    told = [f"{one.curve}: {one.outcome} → {two.outcome}" for one, two in pairs if one.outcome != two.outcome]
    return limits, "; ".join(told), sum(_point(one) != _point(two) for one, two in pairs)


def _point(scored: Scored) -> tuple[str, float | None]:
    return (
        ("refused", None)
        if scored.verdict is None
        else (scored.verdict.operating.status, scored.verdict.operating.users)
    )


def main() -> None:
    """Print the score, or how it depends on the thresholds."""
    parser = argparse.ArgumentParser(description="the verdict against labels of tables that somebody measured")
    parser.add_argument("folder", type=Path, help="labels.csv and the tables")
    parser.add_argument("--thresholds", type=float, metavar="SHARE", help="move each threshold by this share (0.2)")
    asked = parser.parse_args()
    if asked.thresholds is None:
        show(score(asked.folder, Thresholds()))
    else:
        print(sensitivity(asked.folder, asked.thresholds))


if __name__ == "__main__":
    main()
