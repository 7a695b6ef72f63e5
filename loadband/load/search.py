"""`--find`: the most users at which limits are kept.

Knows: which level decides most. Must not know: the ladder, files, the analysis.

Users are doubled until a limit is broken (past the linear region they grow by 1.4: a doubling may kill the server),
then the bracket (kept, broken] is halved in ratios until its ends lie within 10 % of each other.

A probe is *sure* when the interval of what it measured excludes the limit: one-sided 95 % Wilson bounds of the share of
requests that miss a percentile or that fail (a failed request misses every percentile), the normal interval of a mean.
The holds of a level count together. A break that is not sure is held again before the search turns down from it; at the
end so is the kept end of the bracket; no level is held more than three times. What is then still not sure goes by its
measured value, and the interval is wider than the bracket: from the most users that are surely kept to the fewest that
surely are not.

The bounds take requests for independent; those of one hold are not quite, which the report's own interval of N_SLO,
from the same files, takes into account.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadband.load.course import Climb, Held, Kept
from loadband.load.failure_watch import Z95, lowest_rate
from loadband.load.refinement import next_up
from loadband.plan import Plan
from loadband.slo import SHARES, Limit, parse_slo

BRACKET = 1.10
MOST_HOLDS = 3
"""Of one level."""

SEARCHED_TO = 4096
"""Users; limits that are kept here are kept as far as anybody asks."""


@dataclass(frozen=True, slots=True)
class Probe:
    """All holds of one level."""

    users: int
    holds: int
    kept: bool
    sure: bool

    @property
    def settled(self) -> bool:
        """Whether another hold would tell nothing, or is one too many."""
        return self.sure or self.holds >= MOST_HOLDS


class SearchCourse:
    """Probes one level after the other."""

    def __init__(self, plan: Plan) -> None:
        self._first = int(plan.levels[0])
        self._limits = parse_slo(plan.find or "")

    def next_climb(self, _climbs: int, held: Sequence[Held], /) -> Climb:
        """One level, until the bracket is narrow and its ends are settled."""
        if not held:
            return Climb((self._first,))
        level = None if held[-1].seconds is None else next_probe(probes_of(held, self._limits), next_up(held))
        if level is None:
            return Climb((), answer_of(held, self._limits).sentence())
        low, high = bracket(probes_of(held, self._limits))
        inside = f"between {low} and {high} users" if high is not None else f"kept at {low} users"
        return Climb((level,), f"{inside}: now {level} (--find)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found. Users; None where there is no such level."""

    limits: str
    kept: int | None
    """N_SLO: the most users at which the limits were kept, and below every level at which they were not."""
    broken: int | None
    surely_kept: int | None
    surely_broken: int | None
    levels: int
    holds: int
    complete: bool
    """Whether the bracket is as narrow as asked, or the search met its end."""

    def sentence(self) -> str:
        """For a console."""
        spent = f"{self.levels} levels in {self.holds} holds"
        if not self.complete:
            return f"the search for {self.limits} ended early: {self._bracket()}; {spent}"
        return f"{self._bracket()} ({self.limits}); {spent}"

    def _bracket(self) -> str:
        if self.kept is None:
            return "N_SLO: not kept at any level held" + (f", down to {self.broken} users" if self.broken else "")
        if self.broken is None:
            return f"N_SLO at least {self.kept} users: kept there, broken nowhere"
        low = "below what was tested" if self.surely_kept is None else f"{self.surely_kept}"
        high = "above what was tested" if self.surely_broken is None else f"{self.surely_broken}"
        return f"N_SLO {self.kept} users: kept there, broken at {self.broken}; interval {low} to {high}"

    def as_json(self) -> dict[str, Any]:
        """For `run.json`."""
        return {
            "limits": self.limits, "n_slo": self.kept, "broken_at": self.broken, "n_slo_low": self.surely_kept,
            "n_slo_high": self.surely_broken, "levels": self.levels, "holds": self.holds, "complete": self.complete,
        }  # fmt: skip


def answer_of(held: Sequence[Held], limits: Sequence[Limit]) -> Answer:
    """What the levels held so far say."""
    probes = probes_of(held, limits)
    low, high = bracket(probes)
    surely_broken = min((probe.users for probe in probes if probe.sure and not probe.kept), default=None)
    surely_kept = max(
        (each.users for each in probes if each.sure and each.kept and each.users < (surely_broken or math.inf)),
        default=None,
    )
    return Answer(
        limits=",".join(map(str, limits)), kept=low or None, broken=high, surely_kept=surely_kept,
        surely_broken=surely_broken, levels=len(probes), holds=sum(probe.holds for probe in probes),
        complete=bool(held) and held[-1].seconds is not None and next_probe(probes, next_up(held)) is None,
    )  # fmt: skip


def next_probe(probes: Sequence[Probe], upwards: int) -> int | None:
    """Users to hold next; None when the search is over. `upwards`: the level to try while nothing is broken."""
    low, high = bracket(probes)
    by_users = {probe.users: probe for probe in probes}
    if high is None:
        return upwards if upwards <= SEARCHED_TO else None
    if not by_users[high].settled:
        return high
    middle = math.floor(math.sqrt(max(low, 0.5) * high) + 0.5)
    if middle not in (low, high) and high > BRACKET * low:
        return middle
    return low if low and not by_users[low].settled else None


def bracket(probes: Sequence[Probe]) -> tuple[int, int | None]:
    """Most users at which all limits are kept, below any break (0: nowhere), and the fewest at a break (None)."""
    high = min((probe.users for probe in probes if not probe.kept), default=None)
    low = max((each.users for each in probes if each.kept and (high is None or each.users < high)), default=0)
    return low, high


def probes_of(held: Sequence[Held], limits: Sequence[Limit]) -> tuple[Probe, ...]:
    """The levels that were held, rising in users."""
    levels = sorted({each.users for each in held if each.seconds is not None})
    return tuple(_probe(users, [h for h in held if h.users == users and h.seconds is not None], limits)
                 for users in levels)  # fmt: skip


def _probe(users: int, holds: Sequence[Held], limits: Sequence[Limit]) -> Probe:
    judged = [
        judge(limit, sum((each.kept[place] for each in holds), start=Kept())) for place, limit in enumerate(limits)
    ]
    kept = all(is_kept for is_kept, _ in judged)
    sure = all(sure for _, sure in judged) if kept else any(sure for is_kept, sure in judged if not is_kept)
    return Probe(users, len(holds), kept, sure)


def judge(limit: Limit, seen: Kept) -> tuple[bool, bool]:
    """Whether a limit is kept by what was measured, and whether the interval excludes it. Nothing seen: not kept."""
    if seen.n == 0:
        return False, False
    if limit.metric not in SHARES and limit.percentile is None:
        mean = seen.total / seen.n
        spread = math.sqrt(max(seen.squares / seen.n - mean * mean, 0.0) / max(seen.n - 1, 1))
        return mean <= limit.value, seen.n > 1 and abs(mean - limit.value) > Z95 * spread
    allowed = limit.value if limit.metric in SHARES else 1 - (limit.percentile or 0.0) / 100
    kept = seen.missed <= allowed * seen.n + 1e-9
    lowest, highest = lowest_rate(seen.missed, seen.n), 1 - lowest_rate(seen.n - seen.missed, seen.n)
    return kept, highest < allowed if kept else lowest > allowed
