import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.analysis.curve import fit, metric_of
from loadband.analysis.level import Grade
from loadband.analysis.monotone import unimodal
from tests.analysis.make_levels import ladder, level, verdict_of

POSITIVE = st.floats(1, 1000)


def test_a_unimodal_sequence_is_its_own_fit() -> None:
    values = np.array([1.0, 2.0, 5.0, 4.0, 4.0])
    assert list(unimodal(values, np.ones(5))) == list(values)


def test_neighbours_that_contradict_are_averaged_by_their_weight() -> None:
    """1, 4, 2 | 8: the two in the middle pool to (4 * 1 + 2 * 3) / 4 = 2.5."""
    fitted = unimodal(np.array([1.0, 4.0, 2.0, 8.0]), np.array([1.0, 1.0, 3.0, 5.0]))
    assert list(fitted) == pytest.approx([1.0, 2.5, 2.5, 8.0])


@settings(deadline=None)
@given(st.lists(st.tuples(POSITIVE, st.floats(1, 5)), min_size=1, max_size=12))
def test_the_fit_is_unimodal_and_keeps_the_weighted_mean(pairs: list[tuple[float, float]]) -> None:
    values, weights = np.array([v for v, _ in pairs]), np.array([w for _, w in pairs])
    fitted = unimodal(values, weights)
    signs = np.sign(np.round(np.diff(fitted), 9))
    moves = signs[signs != 0]
    assert not np.any((moves[:-1] < 0) & (moves[1:] > 0))
    assert weights @ fitted == pytest.approx(weights @ values)


@settings(deadline=None)
@given(st.lists(POSITIVE, min_size=2, max_size=8), st.floats(0.01, 100))
def test_scaling_all_rates_scales_only_rates(xs: list[float], factor: float) -> None:
    one = fit(ladder(dict(enumerate(xs, 1)), e2e_mean_s=1.0), "output_tok_s")
    other = fit(ladder({n: x * factor for n, x in enumerate(xs, 1)}, e2e_mean_s=1.0), "output_tok_s")
    assert one is not None
    assert other is not None
    assert list(other.x) == pytest.approx(list(one.x * factor))
    assert list(other.e2e_s) == pytest.approx(list(one.e2e_s))


@settings(deadline=None)
@given(st.lists(POSITIVE, min_size=3, max_size=8), st.floats(0.01, 100))
def test_scaling_all_rates_leaves_the_verdict_alone(xs: list[float], factor: float) -> None:
    one = verdict_of(ladder(dict(enumerate(xs, 1)), e2e_mean_s=1.0))
    other = verdict_of(ladder({n: x * factor for n, x in enumerate(xs, 1)}, e2e_mean_s=1.0))
    assert (other.operating.status, other.operating.users) == (one.operating.status, one.operating.users)
    assert (other.saturation.status, other.failure.status) == (one.saturation.status, one.failure.status)
    assert other.linear_upto == pytest.approx(one.linear_upto)


def test_between_levels_it_is_straight_in_logarithms() -> None:
    curve = fit(ladder({2: 10, 8: 40}), "output_tok_s")
    assert curve is not None
    assert curve.x_at(4) == pytest.approx(20)


def test_repeats_are_one_point_with_their_pooled_cv() -> None:
    levels = [level(1, 99, repeat=1), level(1, 101, repeat=2), level(2, 200)]
    curve = fit(levels, "output_tok_s")
    assert curve is not None
    assert [point.repeats for point in curve.points] == [2, 1]
    assert curve.cv == pytest.approx(np.log(101 / 99) / np.sqrt(2))
    alone = fit(ladder({1: 99, 2: 200}), "output_tok_s")
    assert alone is not None
    assert alone.cv is None


def test_response_time_is_measured_else_from_the_cycle_else_of_constant_length() -> None:
    measured = fit(ladder({1: 50, 2: 100}, e2e_mean_s=2.0, req_s=0.4), "output_tok_s")
    cycle = fit([level(1, 50, req_s=0.4, think_s=0.5), level(2, 100, req_s=0.8, think_s=0.5)], "output_tok_s")
    constant = fit(ladder({1: 50, 2: 100}), "output_tok_s")
    assert measured is not None
    assert cycle is not None
    assert constant is not None
    sources = [curve.e2e_source for curve in (measured, cycle, constant)]
    assert sources == ["measured", "response_time_law", "constant_length"]
    assert list(measured.e2e_s) == pytest.approx([2, 2])
    assert list(cycle.e2e_s) == pytest.approx([2, 2])
    assert list(constant.e2e_s) == pytest.approx([0.02, 0.02])


def test_requests_count_only_when_they_succeeded() -> None:
    curve = fit([level(1, None, req_s=10.0), level(2, None, req_s=20.0, failed=250)], "req_s")
    assert curve is not None
    assert list(curve.x) == pytest.approx([10, 15])


def test_levels_that_are_not_valid_draw_nothing() -> None:
    assert fit([level(1, 10, grade=Grade().refuse("users were missing"))], "output_tok_s") is None
    assert fit([level(1, 0.0)], "output_tok_s") is None


def test_the_metric_is_the_best_that_all_valid_levels_have() -> None:
    assert metric_of([level(1, 10), level(2, 20)]) == "output_tok_s"
    assert metric_of([level(1, 10, req_s=1.0), level(2, None, req_s=2.0)]) == "req_s"
    assert metric_of([level(1, None, total_tok_s=9.0)]) == "total_tok_s"
