import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from loadband.analysis.monotone import falling, rising, unimodal

VALUES = st.lists(st.floats(-100, 100), min_size=1, max_size=12)


@settings(deadline=None)
@given(VALUES, st.integers(0, 1000))
def test_it_is_the_isotonic_regression_of_scipy(values: list[float], seed: int) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 4.0, len(values))
    expected = isotonic_regression(np.array(values), weights=weights).x
    assert rising(np.array(values), weights) == pytest.approx(expected, abs=1e-9)
    assert falling(-np.array(values), weights) == pytest.approx(-expected, abs=1e-9)


@settings(deadline=None)
@given(st.lists(VALUES.filter(lambda v: len(v) >= 4).map(lambda v: v[:4]), min_size=1, max_size=6))
def test_many_rows_are_fitted_as_each_alone(rows: list[list[float]]) -> None:
    weights = np.array([1.0, 2.0, 1.0, 3.0])
    together = unimodal(np.array(rows), weights)
    for row, fitted in zip(rows, together, strict=True):
        assert list(fitted) == pytest.approx(list(unimodal(np.array(row), weights)))


@settings(deadline=None)
@given(VALUES)
def test_no_split_fits_better(values: list[float]) -> None:
    row, ones = np.array(values), np.ones(len(values))
    squares = float(((row - unimodal(row, ones)) ** 2).sum())
    for split in range(1, row.size + 1):
        up = isotonic_regression(row[:split]).x
        down = isotonic_regression(row[split:], increasing=False).x if split < row.size else row[split:]
        assert squares <= float(((row - np.concatenate([up, down])) ** 2).sum()) + 1e-6
