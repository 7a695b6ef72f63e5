"""Warm-up before the first level, several passes over the levels, and a target that goes away."""

from dataclasses import replace
from itertools import groupby

import pytest

from loadband.load.course import Held
from loadband.load.holding import WARMUP_AT_MOST_S
from loadband.load.ladder import Ladder
from loadband.load.step import EndedBy, Step
from loadband.load.stillness import AUTO_HOLD_AT_LEAST_S
from loadband.plan import Plan, parse_hold
from tests.load.climbing import Run, plan

WARMUPS: list[tuple[float | None, float, float, str]] = [
    (None, 7.0, 7.0, "by itself: until every scenario was answered"),
    (None, 1e9, WARMUP_AT_MOST_S, "by itself: a minute at most"),
    (20.0, 3.0, 20.0, "as told"),
    (0.0, 1e9, 0.0, "none when told so"),
]


@pytest.mark.parametrize(("told", "warm_after_s", "lasts_s", "sentence"), WARMUPS, ids=[row[3] for row in WARMUPS])
def test_warm_up(told: float | None, warm_after_s: float, lasts_s: float, sentence: str) -> None:
    run = Run(Ladder(replace(plan("4,8", "10s"), warmup_s=told)), warm_after_s=warm_after_s)
    first, second = run.until_finished()
    assert first.asked_at - 1000.0 == lasts_s, sentence
    assert (first.step, first.target, first.first) == (1, 4, 4 if lasts_s else 0)
    assert (second.step, second.target, second.first) == (2, 8, 4)
    assert {action.users for action in run.actions[: int(lasts_s)]} <= {4}, "with the first level's users"


def test_passes_are_drained_and_climbed_again_from_the_bottom() -> None:
    run = Run(Ladder(replace(plan("2,8", "10s", 0.0), repeats=3)), drains_in_s=4.0)
    steps = run.until_finished()
    assert [(step.step, step.repeat, step.target, step.first) for step in steps] == [
        (1, 1, 2, 0), (2, 1, 8, 2), (3, 2, 2, 0), (4, 2, 8, 2), (5, 3, 2, 0), (6, 3, 8, 2),
    ]  # fmt: skip
    gates = [is_open for is_open, _ in groupby(action.gate_open for action in run.actions)]
    assert gates == [True, False] * 3
    between = [action.users for action in run.actions if not action.gate_open]
    assert between.count(0) >= 3, "the users go home before they come again"


DRAINS: list[tuple[float | None, int, str]] = [
    (None, 5, "by itself: until nothing is in flight"),
    (2.0, 2, "as told: what is in flight then is cut"),
    (0.0, 0, "not at all"),
    (60.0, 5, "no longer than needed"),
]


@pytest.mark.parametrize(("told", "waits", "sentence"), DRAINS, ids=[row[2] for row in DRAINS])
def test_draining(told: float | None, waits: int, sentence: str) -> None:
    run = Run(Ladder(replace(plan("4", "10s", 0.0), drain_s=told)), drains_in_s=5.0)
    run.until_finished()
    closed = [action.users for action in run.actions if not action.gate_open]
    assert closed.count(4) == waits, sentence


def test_a_lost_target_ends_the_step_and_the_run() -> None:
    run = Run(Ladder(replace(plan("2,8,16", "10s", 0.0), repeats=2)), lost_from=1016.0)
    steps = run.until_finished()
    assert [(step.target, step.ended_by) for step in steps] == [(2, EndedBy.HOLD), (8, EndedBy.TARGET_LOST)]
    assert steps[1].hold_to == 1016.0


def test_a_lost_target_may_be_waited_for() -> None:
    run = Run(Ladder(replace(plan("2,8", "10s", 0.0), stop_when_lost=False)), lost_from=1005.0)
    assert [step.ended_by for step in run.until_finished()] == [EndedBy.HOLD, EndedBy.HOLD]


def test_a_target_lost_while_warming_up_ends_the_run_without_a_step() -> None:
    run = Run(Ladder(replace(plan("2,8", "10s"), warmup_s=None)), warm_after_s=1e9, lost_from=1003.0)
    assert run.until_finished() == []


def test_an_auto_hold_in_which_everything_fails_ends_as_soon_as_it_may() -> None:
    run = Run(Ladder(plan("4", "auto", 0.0)), e2e_s=None, tokens_by_second=[0.0], ok_share=0.0)
    (step,) = run.until_finished()
    assert step.hold_to is not None and step.hold_from is not None
    assert step.hold_to - step.hold_from == AUTO_HOLD_AT_LEAST_S


def held(step: Step) -> Held:
    """Levels above 16 fail."""
    failed = 50 if step.target > 16 else 0
    return Held(seconds=10.0, ok=100 - failed, failed=failed, tokens=1000, e2e_sum_s=100.0)


ENDS: list[tuple[str, int, list[tuple[int, int]], str]] = [
    ("2,4,8,16", 2, [(3, 4)], "the middle level, the lower of two"),
    ("2,4,8", 3, [(4, 4)], "the middle of three"),
    ("4,8,16,32,64", 2, [(3, 8)], "of those that served"),
    ("2,4,8", 1, [], "one pass hides no drift behind another"),
    ("8", 3, [], "one level is its own book-end"),
    ("32,64", 2, [], "none served"),
]


@pytest.mark.parametrize(("levels", "repeats", "end", "sentence"), ENDS, ids=[row[3] for row in ENDS])
def test_several_passes_end_with_the_middle_level_once_more(
    levels: str, repeats: int, end: list[tuple[int, int]], sentence: str
) -> None:
    run = Run(Ladder(replace(plan(levels, "10s", 0.0), repeats=repeats)), comes_to=held)
    steps = run.until_finished()
    planned = len(levels.split(",")) * repeats
    assert [(step.repeat, step.target) for step in steps[planned:]] == end, sentence
    if end:
        assert run.ladder.plan.holds == len(steps)


def test_the_book_end_of_an_open_loop_is_a_rate() -> None:
    rates = Plan((), parse_hold("10s"), settle_s=0.0, warmup_s=0.0, rates=(0.5, 1.0, 2.0), repeats=2)
    steps = Run(Ladder(rates), comes_to=lambda _: Held(seconds=10.0, ok=100)).until_finished()
    assert [step.rate for step in steps] == [0.5, 1.0, 2.0] * 2 + [1.0]
