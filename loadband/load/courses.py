"""From a plan to the course that chooses its levels.

Knows: which plan means which course. Must not know: how a course chooses, the ladder.
"""

from collections.abc import Sequence

from loadband.load.course import Climb, Course, Held
from loadband.load.failure_watch import ERROR_LIMIT
from loadband.load.recovering import spike
from loadband.load.refinement import RefineCourse
from loadband.load.search import SearchCourse
from loadband.plan import Plan


class FixedCourse:
    """The same levels, as often as there are repeats; after several passes the middle one once more.

    Passes climb in the same order, so a server that slows down with time looks like one that slows down with users: a
    level that is held again at the very end tells the two apart (the book-end).
    """

    def __init__(self, plan: Plan) -> None:
        self._climb = Climb(plan.rates or plan.levels) if plan.spike_s is None else spike(plan)
        self._repeats = plan.repeats

    def next_climb(self, climbs: int, held: Sequence[Held], /) -> Climb:
        """The levels of the plan, whatever was held, and their book-end."""
        if climbs < self._repeats:
            return self._climb
        middle = middle_of(held) if climbs == self._repeats > 1 else None
        if middle is None:
            return Climb()
        return Climb((middle,), f"{middle:g} once more: has the server drifted while the levels were repeated?")


def middle_of(held: Sequence[Held]) -> float | None:
    """The middle level of those that were held without surely failing; None where it is the last one held anyway."""
    bad = {each.level for each in held if each.seconds is None or each.surely_failing > ERROR_LIMIT}
    sound = sorted({each.level for each in held} - bad)
    if not sound:
        return None
    middle = sound[(len(sound) - 1) // 2]
    return middle if middle < held[-1].level else None


def course_of(plan: Plan) -> Course:
    """The course of a plan."""
    if plan.find is not None:
        return SearchCourse(plan)
    return RefineCourse(plan) if plan.refine else FixedCourse(plan)
