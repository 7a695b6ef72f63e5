"""The ladder over whole runs, by an imagined clock: what is asked for, when it is measured, for how long."""

import pytest

from loadband.load.ladder import Ladder
from loadband.load.step import EndedBy, Sight
from loadband.load.stillness import relative_error
from tests.load.climbing import Run, plan


def test_each_level_is_held_exactly_as_long_as_asked() -> None:
    steps = Run(Ladder(plan("1,2,8", "37.5s"))).until_finished()
    assert [(step.step, step.repeat, step.target) for step in steps] == [(1, 1, 1), (2, 1, 2), (3, 1, 8)]
    assert [(step.hold_to or 0) - (step.hold_from or 0) for step in steps] == [37.5, 37.5, 37.5]
    assert {step.ended_by for step in steps} == {EndedBy.HOLD}


def test_a_literal_hold_may_be_longer_than_the_longest_of_auto() -> None:
    (step,) = Run(Ladder(plan("1", "90s", max_hold_s=60))).until_finished()
    assert ((step.hold_to or 0) - (step.hold_from or 0), step.ended_by) == (90, EndedBy.HOLD)


SETTLES: list[tuple[float | None, float | None, float, str]] = [
    (0.0, 1.0, 0.0, "nothing is cut off when told so"),
    (7.0, 1.0, 7.0, "as told"),
    (None, 6.0, 9.0, "by itself: one E2E p95"),
    (None, 0.1, 2.0, "by itself: at least two seconds"),
    (None, None, 3.0, "by itself: when ten have failed and none succeeded"),
]


@pytest.mark.parametrize(("told", "e2e_s", "waited", "sentence"), SETTLES, ids=[row[3] for row in SETTLES])
def test_settling(told: float | None, e2e_s: float | None, waited: float, sentence: str) -> None:
    (step,) = Run(Ladder(plan("4", "10s", told, max_hold_s=40)), e2e_s=e2e_s).until_finished()
    assert step.reached_at == 1001.0
    assert (step.hold_from or 0) - step.reached_at == waited, sentence


def test_settling_waits_for_the_first_answer() -> None:
    run = Run(Ladder(plan("4", "10s")), ended_per_user_s=0.0, e2e_s=2.0)
    for _ in range(100):
        run.look()
    assert run.ladder.current is not None
    assert run.ladder.current.hold_from is None
    run.ended = 1
    run.look()
    assert run.ladder.current.hold_from == 1100.0, "its E2E has long passed"


def test_the_hold_begins_when_the_users_are_there() -> None:
    (step,) = Run(Ladder(plan("8", "10s", 0.0)), spawn_s=20).until_finished()
    assert (step.asked_at, step.reached_at, step.hold_from) == (1000.0, 1020.0, 1020.0)


def test_a_levels_new_users_begin_spread_over_the_mean_e2e_before() -> None:
    run = Run(Ladder(plan("1,2", "10s", 0.0)), e2e_s=5.0)
    first, second = run.until_finished()
    spreads = {action.users: action.spread_s for action in run.actions if action.users}
    assert spreads[1] == 0.0, "nothing is known yet"
    assert (first.hold_from or 0) - (first.reached_at or 0) == 0.0
    assert run.actions[20].spread_s == 5.0
    assert (second.hold_from or 0) - (second.reached_at or 0) == 5.0, "settling begins when all have begun"


def test_a_ramp_replaces_the_spread() -> None:
    run = Run(Ladder(plan("1,40", "10s", 0.0), ramp_users_s=2.0), e2e_s=5.0, spawn_s=20)
    steps = run.until_finished()
    assert {action.spread_s for action in run.actions} == {0.0}
    assert [step.ended_by for step in steps] == [EndedBy.HOLD] * 2


def test_a_hold_of_requests_ends_with_the_last_of_them() -> None:
    run = Run(Ladder(plan("4", "256req", 0.0)))
    (step,) = run.until_finished()
    assert ((step.hold_to or 0) - (step.hold_from or 0), step.ended_by) == (64.0, EndedBy.HOLD)


def test_a_hold_of_requests_that_do_not_end_is_given_up() -> None:
    run = Run(Ladder(plan("4", "256req", 0.0, max_hold_s=50)), ended_per_user_s=0.1)
    (step,) = run.until_finished()
    assert ((step.hold_to or 0) - (step.hold_from or 0), step.ended_by) == (50.0, EndedBy.MAX_HOLD)


AUTOS: list[tuple[str, float, list[float], float, EndedBy, str]] = [
    ("4", 5.0, [100.0], 30.0, EndedBy.HOLD, "all is still: not before 30 seconds"),
    ("4", 0.125, [100.0], 60.0, EndedBy.HOLD, "30 successes"),
    ("64", 0.0625, [100.0], 48.0, EndedBy.HOLD, "3 rounds of the users"),
    ("4", 5.0, [0.0] * 20 + [200.0] * 20, 200.0, EndedBy.MAX_HOLD, "tokens that never stand still"),
    ("4", 0.01, [100.0], 200.0, EndedBy.MAX_HOLD, "successes that never suffice"),
    ("4", 5.0, [0.0], 200.0, EndedBy.MAX_HOLD, "no token at all"),
]


@pytest.mark.parametrize(("level", "rate", "tokens", "held", "by", "sentence"), AUTOS, ids=[row[5] for row in AUTOS])
def test_an_auto_hold(*, level: str, rate: float, tokens: list[float], held: float, by: EndedBy, sentence: str) -> None:
    run = Run(Ladder(plan(level, "auto", 0.0, max_hold_s=200)), ended_per_user_s=rate, tokens_by_second=tokens)
    (step,) = run.until_finished()
    assert step.ended_by == by, sentence
    assert (step.hold_to or 0) - (step.hold_from or 0) == held, sentence


def test_what_remains_of_a_hold() -> None:
    ladder = Ladder(plan("1", "30s", 0.0))
    assert ladder.remaining_s(1000.0) is None
    ladder.look(Sight(now=1000.0, users=1, in_flight=1, ok=0, ended=0))
    assert (ladder.remaining_s(1010.0), ladder.remaining_s(1099.0)) == (20.0, 0.0)
    counted = Ladder(plan("1", "9req", 0.0))
    counted.look(Sight(now=1000.0, users=1, in_flight=1, ok=0, ended=0))
    assert counted.remaining_s(1001.0) is None
    auto = Ladder(plan("1", "auto", 0.0, max_hold_s=90))
    auto.look(Sight(now=1000.0, users=1, in_flight=1, ok=0, ended=0))
    assert auto.remaining_s(1010.0) == 80.0


ERRORS: list[tuple[list[float], float | None, str]] = [
    ([], None, "nothing"),
    ([5.0] * 19, None, "fewer than two values a batch"),
    ([5.0] * 20, 0.0, "all alike"),
    ([0.0] * 40, None, "no mean to relate to"),
    ([1.0, 1.0, 3.0, 3.0] * 5, 1.0 / 9**0.5 / 2.0, "batches of two, five of 1 and five of 3"),
    ([1.0, 3.0] * 10, 0.0, "what evens out within a batch is no error"),
]


@pytest.mark.parametrize(("values", "error", "sentence"), ERRORS, ids=[row[2] for row in ERRORS])
def test_relative_error(values: list[float], error: float | None, sentence: str) -> None:
    assert relative_error(values) == (None if error is None else pytest.approx(error)), sentence
