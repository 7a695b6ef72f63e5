"""The grammar of --rates, and the ladder that climbs them: its users are the sources, its clock waits for none."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.load.ladder import FIRST_LEAD_S, LEAD_S, Ladder
from loadband.load.rates import parse_rates
from loadband.load.step import EndedBy
from loadband.plan import Plan, parse_hold
from tests.load.climbing import Run

UNDERSTOOD = [
    ("0.5,1,2,4", (0.5, 1.0, 2.0, 4.0), "a list"),
    ("8", (8.0,), "one rate"),
    ("1:8:x2", (1.0, 2.0, 4.0, 8.0), "a factor"),
    ("0.5:2:+0.5", (0.5, 1.0, 1.5, 2.0), "an addition lands on its end"),
    ("0.1, 1:2:+0.5", (0.1, 1.0, 1.5, 2.0), "joined"),
]


@pytest.mark.parametrize(("text", "rates", "sentence"), UNDERSTOOD, ids=[row[2] for row in UNDERSTOOD])
def test_rates(text: str, rates: tuple[float, ...], sentence: str) -> None:
    assert parse_rates(text) == pytest.approx(rates), sentence


@pytest.mark.parametrize(
    "text", ["", "1,", "2,1", "1,1", "1,1.001", "0", "1e3", "-1", "nan", "1:2", "2:1:x2", "1:2:x1", "1:2:+0", "1000000",
             "0.001:100000:+0.001", "1:2:*2"]
)  # fmt: skip
def test_what_is_no_rate_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_rates(text)
    assert "\n" not in str(refused.value)


@given(st.floats(0.01, 100), st.floats(1.05, 4), st.integers(1, 12))
def test_a_range_rises_by_its_factor(first: float, factor: float, count: int) -> None:
    last = first * factor**count
    if last > 100_000:
        return
    rates = parse_rates(f"{first:.6f}:{last * 1.001:.6f}:x{factor:.6f}")
    assert len(rates) in (count + 1, count + 2)
    assert all(b / a == pytest.approx(factor, rel=1e-3) for a, b in itertools.pairwise(rates))


def climb(rates: str, hold: str, **how: float) -> Run:
    """An open loop from two processes."""
    plan = Plan((), parse_hold(hold), settle_s=0.0, warmup_s=0.0, rates=parse_rates(rates))
    return Run(Ladder(plan, sources=2), **how)  # type: ignore[arg-type]


def test_each_rate_is_a_level_and_the_sources_stay() -> None:
    run = climb("0.5,1,4", "20s")
    steps = run.until_finished()
    assert [(step.rate, step.target, step.level) for step in steps] == [(0.5, 2, 1), (1.0, 2, 2), (4.0, 2, 3)]
    assert {action.users for action in run.actions} == {0, 2}
    assert [step.row()[2:4] for step in steps] == [[None, 0.5], [None, 1.0], [None, 4.0]]
    assert {step.ended_by for step in steps} == {EndedBy.HOLD}


def test_a_schedule_begins_after_it_was_told_and_no_hold_before_it() -> None:
    first, second = climb("1,2", "20s").until_finished()
    assert first.starts_at == first.asked_at + FIRST_LEAD_S
    assert second.starts_at == second.asked_at + LEAD_S
    for step in (first, second):
        assert step.hold_from is not None
        assert step.starts_at is not None
        assert step.hold_from >= step.starts_at


def test_auto_holds_until_there_are_answers_enough_for_a_tail() -> None:
    fast, slow = climb("5", "auto", ended_per_user_s=2.5), climb("5", "auto", ended_per_user_s=0.5)
    (quick,), (long,) = fast.until_finished(), slow.until_finished()
    assert (quick.hold_to or 0) - (quick.hold_from or 0) == pytest.approx(40, abs=1)
    assert (long.hold_to or 0) - (long.hold_from or 0) == pytest.approx(200, abs=1)
