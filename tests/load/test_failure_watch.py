"""`--until-failure`: which levels confirm a failure, and what the ladder makes of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.analysis.bounds import Z95 as ANALYSIS_Z95
from loadband.analysis.bounds import wilson
from loadband.analysis.thresholds import Thresholds
from loadband.load.failure_watch import ERROR_CERTAIN, ERROR_LIMIT, Z95, FailureWatch, lowest_rate
from loadband.load.ladder import LOSS_SHOWS_WITHIN_S, Ladder
from loadband.load.step import EndedBy
from tests.load.climbing import Run, plan

CLIMBS: list[tuple[list[tuple[int, int]], int | None, str]] = [
    ([(100, 0), (100, 0), (100, 0)], None, "no errors"),
    ([(100, 0), (90, 10), (90, 10)], 1, "10 of 100 are more than 5 %, surely"),
    ([(100, 0), (95, 5), (100, 0)], None, "5 of 100 are surely more than 1 %, but not 5, and the next level is sound"),
    ([(100, 0), (95, 5), (95, 5)], 2, "twice in a row is enough"),
    ([(95, 5), (100, 0), (95, 5), (100, 0)], None, "twice, but not in a row"),
    ([(99, 1), (99, 1), (99, 1)], None, "one of 100 may be chance, however often"),
    ([(9, 1), (9, 1)], 1, "one of ten is not above 5 %, yet twice above 1 %"),
    ([(0, 3)], 0, "nothing but failures"),
    ([(0, 0), (0, 0)], None, "nothing ended: nothing is known"),
    ([(97, 4), (0, 0), (97, 4)], None, "a level of which nothing is known confirms nothing"),
]


@pytest.mark.parametrize(("ends", "at", "sentence"), CLIMBS, ids=[row[2] for row in CLIMBS])
def test_which_level_confirms_a_failure(ends: list[tuple[int, int]], at: int | None, sentence: str) -> None:
    watch = FailureWatch()
    confirmed = [watch.confirms(ok, failed) for ok, failed in ends]
    assert (confirmed.index(True) if any(confirmed) else None) == at, sentence


@given(ok=st.integers(0, 10_000), failed=st.integers(0, 10_000))
def test_the_rule_is_that_of_the_report(ok: int, failed: int) -> None:
    assert lowest_rate(failed, ok + failed) == pytest.approx(wilson(failed, ok + failed)[0], abs=1e-12)
    assert (ANALYSIS_Z95, Thresholds().error_limit, Thresholds().error_certain) == (Z95, ERROR_LIMIT, ERROR_CERTAIN)


def failing(**how: float) -> Run:
    """Levels 2, 8, 16 and 32 of 10 s; requests fail from 16 users on."""
    ladder = Ladder(replace(plan("2,8,16,32", "10s", 0.0), until_failure=True))
    return Run(ladder, failing_from=16, failed_share=how.get("share", 0.2), unreached_from=how.get("unreached_from"))


def test_the_ladder_ends_after_the_whole_hold_that_confirms_it() -> None:
    run = failing()
    steps = run.until_finished()
    assert [(step.target, step.ended_by) for step in steps] == [
        (2, EndedBy.HOLD), (8, EndedBy.HOLD), (16, EndedBy.FAILURE),
    ]  # fmt: skip
    assert [(step.hold_to or 0) - (step.hold_from or 0) for step in steps] == [10.0] * 3
    assert run.ladder.failed


def test_a_second_level_may_be_needed() -> None:
    steps = failing(share=0.04).until_finished()
    assert [(step.target, step.ended_by) for step in steps][2:] == [(16, EndedBy.HOLD), (32, EndedBy.FAILURE)]


def test_without_the_option_the_ladder_goes_to_its_end() -> None:
    run = failing()
    run.ladder.plan = replace(run.ladder.plan, until_failure=False)
    assert [step.ended_by for step in run.until_finished()] == [EndedBy.HOLD] * 4
    assert not run.ladder.failed


def test_each_pass_climbs_until_its_own_failure() -> None:
    run = failing(share=0.04)
    run.ladder = Ladder(replace(run.ladder.plan, repeats=2, levels=(2, 16, 32, 64)))
    told = [(step.repeat, step.target, str(step.ended_by)) for step in run.until_finished()]
    assert told == [
        (1, 2, "hold"), (1, 16, "hold"), (1, 32, "failure"), (2, 2, "hold"), (2, 16, "hold"), (2, 32, "failure"),
    ]  # fmt: skip


def test_an_engine_that_dies_as_a_hold_ends_is_gone_and_not_failing() -> None:
    run = failing(unreached_from=1033.0)
    run.lost_from = 1036.0
    steps = run.until_finished()
    assert [(step.target, step.ended_by) for step in steps][2:] == [(16, EndedBy.TARGET_LOST)]
    assert not run.ladder.failed


def test_refusals_that_never_become_a_loss_hold_the_ladder_up_for_seconds_only() -> None:
    steps = failing(unreached_from=1005.0).until_finished()
    assert [step.ended_by for step in steps] == [EndedBy.HOLD, EndedBy.HOLD, EndedBy.FAILURE]
    assert steps[1].asked_at == (steps[0].hold_to or 0) + LOSS_SHOWS_WITHIN_S
