"""How a step is given up, how a run is drained and stopped, and what holds of every run."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.holding import SILENT_FOR_S
from loadband.load.ladder import REACH_WITHIN_S, Ladder
from loadband.load.step import EndedBy, Sight
from tests.load.climbing import Run, plan


def test_users_that_never_come_end_the_step_and_not_the_run() -> None:
    steps = Run(Ladder(plan("2,8,16", "10s")), most_users=8).until_finished()
    assert [step.ended_by for step in steps] == [EndedBy.HOLD, EndedBy.HOLD, EndedBy.NOT_REACHED]
    assert (steps[2].reached_at, steps[2].hold_from, steps[2].hold_to) == (None, None, None)
    lost = Run(Ladder(plan("1,8", "10s")), most_users=0).until_finished()
    assert [(step.target, step.ended_by) for step in lost] == [(1, "not_reached"), (8, "not_reached")]
    assert lost[1].asked_at - lost[0].asked_at == REACH_WITHIN_S + 1, "the next level is tried all the same"


def test_a_slow_ramp_has_its_time() -> None:
    (step,) = Run(Ladder(plan("100", "10s", 0.0), ramp_users_s=1.0), spawn_s=150).until_finished()
    assert step.ended_by == EndedBy.HOLD


def test_the_drain_keeps_the_users_until_nothing_is_in_flight() -> None:
    run = Run(Ladder(plan("1,4", "10s", 0.0)), drains_in_s=5.0)
    run.until_finished()
    closed = [action for action in run.actions if not action.gate_open]
    assert [action.users for action in closed] == [4, 4, 4, 4, 4, 0, 0], "users are taken down at zero in flight"
    assert [action.finished for action in closed] == [False] * 6 + [True]
    assert all(action.users for action in run.actions if action.gate_open)


def test_what_was_told_before_the_gate_closed_does_not_end_the_drain() -> None:
    ladder = Ladder(plan("1", "10s", 0.0))
    ladder.look(Sight(now=1000.0, users=1, in_flight=0, ok=0, ended=0))
    last = Sight(now=1010.0, users=1, in_flight=0, ok=9, ended=9)
    assert [ladder.look(last).users, ladder.look(last).users] == [1, 1]
    assert ladder.look(replace(last, now=1011.0, in_flight=None)).users == 1
    assert ladder.look(replace(last, now=1012.0)).users == 0


def test_a_silent_process_does_not_hold_up_the_end() -> None:
    run = Run(Ladder(plan("1", "10s", 0.0)), tells=False)
    run.until_finished()
    closed = [action.users for action in run.actions if not action.gate_open]
    assert closed.count(1) == SILENT_FOR_S


GONE: list[tuple[float, list[tuple[int, str]], str]] = [
    (1003.0, [(2, "worker_lost"), (4, "hold")], "while it settles"),
    (1020.0, [(2, "worker_lost"), (4, "hold")], "in mid-hold"),
    (1060.0, [(2, "hold"), (4, "worker_lost")], "at the last level"),
]


@pytest.mark.parametrize(("at", "ends", "sentence"), GONE, ids=[row[2] for row in GONE])
def test_a_level_ends_with_a_worker_and_the_others_go_on(at: float, ends: list[tuple[int, str]], sentence: str) -> None:
    steps = Run(Ladder(plan("2,4", "30s", 5.0)), worker_gone_at=at).until_finished()
    assert [(step.target, step.ended_by) for step in steps] == ends, sentence
    ended = next(step for step in steps if step.ended_by == EndedBy.WORKER_LOST)
    assert (ended.hold_to is None) == (ended.hold_from is None)
    assert ended.hold_to is None or ended.hold_to == at, "held until then, and no second longer"


def test_a_worker_that_goes_in_the_warm_up_ends_no_level() -> None:
    climbed = replace(plan("2,4", "30s", 5.0), warmup_s=10.0)
    steps = Run(Ladder(climbed), worker_gone_at=1004.0).until_finished()
    assert [(step.target, step.ended_by) for step in steps] == [(2, "hold"), (4, "hold")]


def test_a_schedule_that_lacks_a_workers_share_is_given_up() -> None:
    open_loop = replace(plan("1", "30s", 0.0), levels=(), rates=(1.0, 2.0, 4.0))
    steps = Run(Ladder(open_loop, sources=2), worker_gone_at=1010.0).until_finished()
    assert [(step.rate, step.ended_by) for step in steps] == [(1.0, "worker_lost")]


STOPS: list[tuple[int, tuple[float | None, float | None], str]] = [
    (4, (None, None), "while it settles"),
    (20, (1006.0, 1020.0), "in mid-hold"),
]


@pytest.mark.parametrize(("after", "held", "sentence"), STOPS, ids=[row[2] for row in STOPS])
def test_stopped(after: int, held: tuple[float | None, float | None], sentence: str) -> None:
    run = Run(Ladder(plan("2,64", "30s", 5.0)))
    for _ in range(after):
        run.look()
    step = run.ladder.stop(run.now)
    assert step is not None
    assert (step.hold_from, step.hold_to, step.ended_by) == (*held, EndedBy.STOPPED), sentence
    assert run.ladder.stop(run.now) is None, "once"
    run.until_finished()
    assert {action.users for action in run.actions} == {2, 0}, "no further users for a run that ends"


def test_stopped_before_it_began() -> None:
    ladder = Ladder(plan("2"))
    assert ladder.stop(1000.0) is None
    assert ladder.look(Sight(now=1001.0, users=0, in_flight=None, ok=0, ended=0)).users == 0
    assert ladder.stop(1002.0) is None
    assert ladder.look(Sight(now=1002.0, users=0, in_flight=0, ok=0, ended=0)).finished, "stopping twice is once"


@given(
    levels=st.lists(st.integers(1, 300), min_size=1, max_size=5, unique=True).map(sorted),
    hold=st.sampled_from(["5s", "60s", "40req", "auto"]),
    settle_s=st.none() | st.floats(0, 20),
    spawn_s=st.floats(0, 90),
    rate=st.floats(0, 4),
    e2e_s=st.none() | st.floats(0.1, 30),
    tokens=st.lists(st.floats(0, 1000), min_size=1, max_size=30),
    most_users=st.integers(1, 300),
)
def test_whatever_is_seen_a_run_climbs_and_ends(
    *, levels: list[int], hold: str, settle_s: float | None, spawn_s: float, rate: float, e2e_s: float | None,
    tokens: list[float], most_users: int,
) -> None:  # fmt: skip
    ladder = Ladder(plan(",".join(map(str, levels)), hold, settle_s, max_hold_s=120))
    steps = Run(ladder, spawn_s, most_users, rate, e2e_s, tokens).until_finished()
    assert [step.step for step in steps] == list(range(1, len(levels) + 1))
    assert [step.target for step in steps] == levels
    moments = [(step.asked_at, step.reached_at, step.hold_from, step.hold_to) for step in steps]
    told = [moment for row in moments for moment in row if moment is not None]
    assert told == sorted(told), "each moment comes after the one before, over all steps"
    for step in steps:
        assert (step.hold_from is None) == (step.ended_by == EndedBy.NOT_REACHED)
        assert step.row()[:3] == [step.step, 1, step.target]
    assert all(later.asked_at >= (step.hold_to or 0.0) for step, later in pairwise(steps)), "holds never overlap"
