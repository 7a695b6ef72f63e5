"""A level's own successes and requests end its hold, not those of the levels before."""

import pytest

from loadband.load.ladder import Ladder
from tests.load.climbing import Run, plan

ROUNDS = [
    ("auto", 48.0, "three rounds of the second level's users"),
    ("160req", 40.0, "as many requests as asked, again"),
]


@pytest.mark.parametrize(("hold", "held", "sentence"), ROUNDS, ids=[row[2] for row in ROUNDS])
def test_the_second_level_needs_its_own(hold: str, held: float, sentence: str) -> None:
    run = Run(Ladder(plan("63,64", hold, 0.0)), ended_per_user_s=0.0625, e2e_s=0.0)
    first, second = run.until_finished()
    assert first.ended_by == second.ended_by == "hold"
    assert (second.hold_to or 0) - (second.hold_from or 0) == held, sentence
