"""After too much load: half of it, and a spike and back, without a drain between; and a target that stays dead."""

from dataclasses import replace
from typing import Any

import pytest

from loadband.errors import UsageError
from loadband.load.course import Held, Part
from loadband.load.holding import BACK_WITHIN_S, WATCHED_S
from loadband.load.ladder import Ladder
from loadband.load.purposes import check_purpose, parse_spike
from loadband.load.rates import parse_rates
from loadband.load.recovering import fall
from loadband.load.step import EndedBy, Step
from loadband.plan import Plan, parse_hold
from tests.load.climbing import Run, plan


def held(step: Step) -> Held:
    return Held(seconds=10.0, ok=100, tokens=1000, e2e_sum_s=100.0)


def climbed(levels: str, hold: str = "10s", *, run: dict[str, Any] | None = None, **changes: Any) -> Run:
    asked = replace(plan(levels, hold, 0.0), recover=True, **changes)
    return Run(Ladder(asked), comes_to=held, **(run or {}))


def told(steps: list[Step]) -> list[tuple[int, str, str | None]]:
    return [(step.target, step.part, step.ended_by) for step in steps]


def test_half_the_load_follows_the_top_level_without_a_drain() -> None:
    run = climbed("4,8,16")
    steps = run.until_finished()
    assert told(steps) == [(4, "", "hold"), (8, "", "hold"), (16, "", "hold"), (8, "recovery", "hold")]
    last = steps[-1]
    assert (last.step, last.repeat, last.first, last.level) == (4, 1, 16, 4)
    assert last.asked_at == steps[-2].hold_to, "at once"
    assert (last.hold_from, last.hold_to) == (last.reached_at, last.asked_at + 12), "from the first success on"
    gates = [action.gate_open for action in run.actions]
    assert gates.index(False) > gates.index(True) + last.asked_at - 1000, "the gate stays open"


def test_it_follows_the_level_that_failed_and_no_other() -> None:
    run = climbed("4,8,16,32", until_failure=True, run={"failing_from": 16, "failed_share": 0.5})
    assert told(run.until_finished()) == [
        (4, "", "hold"), (8, "", "hold"), (16, "", "failure"), (8, "recovery", "hold"),
    ]  # fmt: skip


def test_of_several_passes_it_follows_the_last() -> None:
    steps = climbed("4,8", repeats=2).until_finished()
    assert [(step.repeat, step.target, step.part) for step in steps[:5]] == [
        (1, 4, ""), (1, 8, ""), (2, 4, ""), (2, 8, ""), (2, 4, "recovery"),
    ]  # fmt: skip


def test_a_target_that_stays_dead_is_waited_for_a_bounded_time() -> None:
    run = climbed("4,8,16", run={"lost_from": 1025.0, "unreached_from": 1025.0, "dead_from": 1025.0})
    steps = run.until_finished()
    assert told(steps)[-2:] == [(16, "", EndedBy.TARGET_LOST), (8, "recovery", EndedBy.TARGET_LOST)]
    assert steps[-1].hold_from is not None
    assert steps[-1].hold_to == steps[-1].hold_from + BACK_WITHIN_S
    short = climbed("4,8,16", max_hold_s=15.0, run={"lost_from": 1025.0, "unreached_from": 1025.0, "dead_from": 1025.0})
    assert short.until_finished()[-1].hold_to == steps[-1].hold_from + 15.0


def test_a_target_that_comes_back_is_watched_from_its_first_success_on() -> None:
    run = climbed("4,8,16", run={"lost_from": 1025.0, "dead_from": 1025.0, "back_from": 1060.0})
    steps = run.until_finished()
    assert told(steps)[-2:] == [(16, "", EndedBy.TARGET_LOST), (8, "recovery", EndedBy.HOLD)]
    assert steps[-1].served_at == pytest.approx(1060, abs=2)
    assert steps[-1].hold_to == (steps[-1].served_at or 0) + 10
    assert run.ladder.failed


def test_with_an_automatic_hold_it_is_watched_for_a_minute() -> None:
    last = climbed("4,8,16", "auto").until_finished()[-1]
    assert last.served_at is not None
    assert last.hold_to == last.served_at + WATCHED_S


def test_a_target_lost_before_any_level_ends_the_run() -> None:
    run = Run(Ladder(replace(plan("4,8", "10s"), warmup_s=None, recover=True)), warm_after_s=1e9, lost_from=1003.0)
    assert run.until_finished() == []


def test_a_worker_that_is_lost_in_the_recovery_ends_it() -> None:
    steps = climbed("4,8", run={"worker_gone_at": 1024.0}).until_finished()
    assert told(steps)[-1] == (4, "recovery", EndedBy.WORKER_LOST)


def at(*levels: int) -> list[Held]:
    return [Held(level, 10.0) for level in levels]


FALLS: list[tuple[list[Held], float, float, str]] = [
    (at(4, 8, 16), 16, 8, "half was held"),
    (at(8, 24, 40, 56), 56, 24, "the highest below half"),
    ([*at(4), Held(8), *at(16)], 16, 4, "a level that was not held is none to compare with"),
    (at(10, 16), 16, 8, "nothing to compare with: half"),
    ([], 1, 1, "one user stays"),
]


@pytest.mark.parametrize(("holds", "top", "level", "sentence"), FALLS, ids=[row[3] for row in FALLS])
def test_to_which_level_the_load_falls(holds: list[Held], top: float, level: float, sentence: str) -> None:
    climb = fall(Plan((1,)), [1, 2], holds, top)
    levels, parts = (1, 2, level), (Part.LEVEL, Part.LEVEL, Part.RECOVERY)
    assert (climb.levels, climb.parts) == (levels, parts), sentence
    assert ("nothing tells" in (climb.why or "")) == (not any(each.seconds and each.level <= top / 2 for each in holds))


def test_a_schedule_falls_to_a_rate_that_was_held() -> None:
    rates = Plan((), parse_hold("10s"), settle_s=0.0, warmup_s=0.0, rates=parse_rates("0.5,1,4"), recover=True)
    steps = Run(Ladder(rates), comes_to=held).until_finished()
    assert [(step.rate, step.part) for step in steps] == [(0.5, ""), (1, ""), (4, ""), (1, "recovery")]


def spiked(**changes: Any) -> Run:
    asked = Plan((8, 64, 8), parse_hold("10s"), settle_s=3.0, warmup_s=0.0, spike_s=20.0)
    return Run(Ladder(asked), comes_to=held, **changes)


def test_a_spike_comes_at_once_lasts_as_told_and_goes() -> None:
    before, inside, after = spiked().until_finished()
    assert [(step.target, step.part, step.first) for step in (before, inside, after)] == [
        (8, "", 0), (64, "spike", 8), (8, "recovery", 64),
    ]  # fmt: skip
    assert inside.hold_from == inside.reached_at, "nothing settles in a spike"
    assert (inside.hold_to or 0) - (inside.hold_from or 0) == 20
    assert after.asked_at - inside.asked_at <= 23


def test_a_target_that_dies_in_a_spike_may_come_back_after_it() -> None:
    steps = spiked(lost_from=1020.0, dead_from=1020.0, back_from=1040.0).until_finished()
    assert told(steps) == [(8, "", "hold"), (64, "spike", "target_lost"), (8, "recovery", "hold")]


def test_the_words_of_a_spike() -> None:
    assert parse_spike("8:64:60s") == (8, 64, 60.0)
    assert parse_spike("1:2:1m") == (1, 2, 60.0)
    for text in ("8:64", "64:8:60s", "8:8:60s", "8:64:0.5s", "0:8:9s", "a:b:c", "8:64:soon"):
        with pytest.raises(UsageError):
            parse_spike(text)


def test_a_climb_that_cannot_be_compared_with_is_refused() -> None:
    check_purpose(Plan((8, 16), recover=True))
    with pytest.raises(UsageError, match="at most 8 too"):
        check_purpose(Plan((10, 16), recover=True))


def test_half_the_load_follows_a_guard_that_fired() -> None:
    steps = climbed("4,8,16", run={"guarded_from": 1025.0}).until_finished()
    assert told(steps)[-2:] == [(16, "", EndedBy.GUARD), (8, "recovery", EndedBy.HOLD)]
    alone = Run(Ladder(plan("4,8,16", "10s", 0.0)), comes_to=held, guarded_from=1025.0)
    assert told(alone.until_finished())[-1] == (16, "", EndedBy.GUARD)
