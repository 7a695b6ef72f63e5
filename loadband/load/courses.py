"""From a plan to the course that chooses its levels.

Knows: which plan means which course. Must not know: how a course chooses, the ladder.
"""

from collections.abc import Sequence

from loadband.load.course import Climb, Course, Held
from loadband.load.recovering import spike
from loadband.load.refinement import RefineCourse
from loadband.load.search import SearchCourse
from loadband.plan import Plan


class FixedCourse:
    """The same levels, as often as there are repeats."""

    def __init__(self, plan: Plan) -> None:
        self._climb = Climb(plan.rates or plan.levels) if plan.spike_s is None else spike(plan)
        self._repeats = plan.repeats

    def next_climb(self, climbs: int, _held: Sequence[Held], /) -> Climb:
        """Whatever was held."""
        return self._climb if climbs < self._repeats else Climb()


def course_of(plan: Plan) -> Course:
    """The course of a plan."""
    if plan.find is not None:
        return SearchCourse(plan)
    return RefineCourse(plan) if plan.refine else FixedCourse(plan)
