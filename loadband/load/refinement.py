"""`--refine`: a coarse climb, then levels around its optimum.

Knows: which levels narrow what a coarse pass left open. Must not know: the ladder, files, the analysis.

The optimum of a coarse pass is the sound level with the largest X² / R, X being output tokens/s and R the mean E2E
(the quantity that the report maximises too). That is enough to choose levels by: the noise of a hold, some per cent,
moves the largest of coarse levels by one place at most where two are nearly alike, and then both lie inside the
neighbourhood. What the run says of the server is judged by the report, from all levels, with intervals.

The neighbourhood reaches to the nearest tested level on each side whose X² / R is below 90 % of the largest: between
them lie the optimum and both edges of the band. Four levels are put into its widest gaps, in ratios, none closer than
10 % to another, and the optimum is held once more: a drift between the two climbs shows there.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from loadband.load.course import Climb, Held
from loadband.load.failure_watch import ERROR_LIMIT
from loadband.plan import Plan

IN_BAND = 0.9
NEW_LEVELS = 4
CLOSEST = 1.1
LINEAR = 0.8
"""Growth of ln X over that of ln N: above it, doubling the users nearly doubles the tokens."""

CAREFUL = 1.4
"""Factor between levels from there on: a doubling would jump over the band, and kill a server just past it."""

GROWS_TO = 1024
"""Users; a coarse climb without `--steps` ends here."""


class RefineCourse:
    """The coarse levels of a plan, or a climb that grows until the optimum is passed; then the fine levels."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._coarse_climbs: int | None = None
        self._fine = Climb()

    def next_climb(self, climbs: int, held: Sequence[Held], /) -> Climb:
        """Coarse, then fine as often as there are repeats."""
        if climbs == 0:
            return Climb(self._plan.levels)
        if self._coarse_climbs is None:
            if self._plan.grows and (level := next_coarse(held)) is not None:
                return Climb((level,))
            self._coarse_climbs, self._fine = climbs, _fine(held)
        return self._fine if climbs - self._coarse_climbs < self._plan.repeats else Climb()


def _fine(held: Sequence[Held]) -> Climb:
    best = best_of(held)
    if best is None:
        return Climb((), "no level succeeded well enough to refine around it (--refine)")
    levels = around(held)
    named = ", ".join(f"{level}" for level in levels)
    return Climb(levels, f"the coarse pass is best near {best} users; now {named} (--refine)")


def next_coarse(held: Sequence[Held]) -> int | None:
    """The next level of a climb that grows; None when the optimum is passed, or nothing more can be learnt."""
    last = held[-1]
    if last.seconds is None or last.power < IN_BAND * max(each.power for each in held) or not _sound(last):
        return None
    level = next_up(held)
    return level if level <= GROWS_TO else None


def next_up(held: Sequence[Held]) -> int:
    """Users above all that were held: twice as many while that nearly doubles tokens/s, then `CAREFUL` times."""
    highest = max(each.users for each in held)
    factor = CAREFUL if _growth(held) < LINEAR else 2.0
    return max(math.floor(highest * factor + 0.5), highest + 1)


def _growth(held: Sequence[Held]) -> float:
    """Growth of ln tokens/s over that of ln users, of the two highest levels; 1 of one."""
    newest = {each.users: (each.tokens or each.ok) / each.seconds for each in held if each.seconds}
    highest = sorted(newest)[-2:]
    if len(highest) < 2 or not all(newest[users] for users in highest):
        return 1.0
    low, high = highest
    return math.log(newest[high] / newest[low]) / math.log(high / low)


def best_of(held: Sequence[Held]) -> int | None:
    """Users of the sound level with the largest X² / R; None where none is."""
    powers = _powers(held)
    best = max(powers, key=lambda users: powers[users], default=None)
    return best if best is not None and powers[best] > 0 else None


def around(held: Sequence[Held]) -> tuple[int, ...]:
    """The best level and at most four new ones around it, rising, none above those held; empty without a best."""
    best = best_of(held)
    if best is None:
        return ()
    powers = _powers(held)
    tested = sorted({each.users for each in held})
    outside = [users for users in tested if powers.get(users, 0.0) < IN_BAND * powers[best]]
    lowest = max((users for users in outside if users < best), default=tested[0])
    if best == tested[0]:
        lowest = max(1, best // 4)
    highest = min((users for users in outside if users > best), default=tested[-1])
    taken = sorted({users for users in tested if lowest <= users <= highest} | {lowest})
    new = [lowest] if lowest not in tested else []
    while len(new) < NEW_LEVELS:
        low, high = max(pairwise(taken), key=lambda gap: gap[1] / gap[0], default=(1, 1))
        middle = math.floor(math.sqrt(low * high) + 0.5)
        if high / low < CLOSEST**2 or middle in (low, high):
            break
        new.append(middle)
        taken = sorted([*taken, middle])
    return tuple(sorted([*new, best]))


def _powers(held: Sequence[Held]) -> dict[int, float]:
    """Users -> mean X² / R of the sound holds; a level with an unsound one is none."""
    unsound = {each.users for each in held if not _sound(each)}
    levels = {each.users for each in held} - unsound
    return {
        users: sum(powers) / len(powers)
        for users in sorted(levels)
        if (powers := [each.power for each in held if each.users == users and each.seconds is not None])
    }


def _sound(held: Held) -> bool:
    return held.surely_failing <= ERROR_LIMIT
