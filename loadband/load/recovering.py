"""`--recover` and `--spike`: to which level the load falls after too much of it.

Knows: which levels were held on the way up. Must not know: the ladder, files, how a recovery is judged.
"""

from collections.abc import Sequence

from loadband.load.course import Climb, Held, Part
from loadband.plan import Plan


def fall(plan: Plan, climbed: Sequence[float], held: Sequence[Held], top: float) -> Climb:
    """After the level `top`: the highest level up to half of it that was held, to compare with; else half of it.

    `climbed`: the levels of the climb that is over, which keep their places.
    """
    half = top / 2 if plan.rates else max(top // 2, 1)
    compared = max((each.level for each in held if each.seconds is not None and each.level <= top / 2), default=None)
    level = half if compared is None else compared
    unit = "requests/s" if plan.rates else "users"
    beside = "" if compared is not None else f"; no level up to {half:g} was held, so nothing tells when it is back"
    why = f"after {top:g} {unit} now {level:g}: how long until it is as on the way up? (--recover){beside}"
    return Climb((*climbed, level), why, (*[Part.LEVEL] * len(climbed), Part.RECOVERY))


def spike(plan: Plan) -> Climb:
    """Up all at once, and back."""
    return Climb(plan.levels, parts=(Part.LEVEL, Part.SPIKE, Part.RECOVERY))
