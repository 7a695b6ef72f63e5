"""A small form of `make bench-verdict`: the whole, with its numbers, is docs/verdict-truth.md."""

import numpy as np
import pytest

from benchmarks import verdict_truth as truth
from benchmarks.truth_shapes import GRIDS, SHAPES, truth_of


def test_the_truth_of_a_sharp_knee_is_known_by_hand() -> None:
    """P = X^3 / N peaks at the knee of 18; below it is N^2, so 90 % is 18 sqrt(0.9); above it 1 / N."""
    found = truth_of(SHAPES["sharp"], GRIDS["powers of 2"])
    assert (found.best, found.low, found.high) == pytest.approx((18, 18 * np.sqrt(0.9), 18 / 0.9), rel=1e-3)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    _, whole = truth.coverage(3, 0.02, 3, seed=1)
    assert whole.found >= 0.9 * whole.runs
    assert 0.78 <= whole.share("noise") <= 0.99  # 135 intervals that go together in threes; the aim is 85 to 97 %
    assert whole.share("grid") >= 0.9


def test_straight_and_flat_lines_have_no_optimum_inside() -> None:
    assert truth.false_knees(30, 0.03, 3, 7) == (0, 0)
    assert truth.flat(10, 9) == 0


def test_healthy_servers_do_not_fail() -> None:
    closed, opened = truth.false_failures(60, 10)
    assert closed + opened <= 2


def test_failing_servers_do() -> None:
    assert [found for _, found in truth.failures(6, 11)] == ["6/6"] * 4


def test_what_goes_wrong_in_practice_makes_no_false_knee() -> None:
    rows = {name: (found, hits, sure) for name, found, hits, _, sure in truth.disturbed(4, 12)}
    assert {name: hits for name, (_, hits, _) in rows.items()} == dict.fromkeys(rows, "4/4")
    assert rows["in waves"][2] == "0"


def test_short_tests_of_the_engine_find_what_a_long_one_says() -> None:
    rows = truth.engine(120.0, holds=(60.0,), tested=(8, 20, 28, 36, 44), between=())
    assert rows[0][1:4] == ("2", "2", "2")
