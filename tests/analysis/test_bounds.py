import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.analysis.bounds import mean, middle_90, percentile, requests_needed, rule_of_three, unbiased_90, wilson


def test_wilson_of_known_values() -> None:
    """One-sided 95 %: z = 1.6449. 10 of 100 by hand."""
    low, high = wilson(10, 100)
    assert low == pytest.approx(0.0607, abs=1e-4)
    assert high == pytest.approx(0.1604, abs=1e-4)


def test_no_failure_in_268_requests_resolves_one_percent() -> None:
    assert wilson(0, 267)[1] > 0.01
    assert wilson(0, 268)[1] < 0.01
    assert requests_needed(0.0, 0.01) == 268


def test_nothing_was_seen() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert rule_of_three(0) == 1.0
    assert requests_needed(0.01, 0.01) is None


def test_rule_of_three() -> None:
    assert rule_of_three(8412) == pytest.approx(0.000357, abs=1e-6)


@settings(deadline=None)
@given(n=st.integers(1, 10_000), share=st.floats(0, 1))
def test_wilson_holds_the_share_and_stays_a_share(n: int, share: float) -> None:
    events = round(n * share)
    low, high = wilson(events, n)
    assert 0 <= low <= events / n <= high <= 1


def test_percentiles_are_values_that_were_measured() -> None:
    values = np.array([14.400, 14.499, 14.501, 15.400, 15.600])
    assert percentile(values, 50) == 14.501
    assert percentile(values, 100) == 15.600
    assert percentile(np.full(50, 0.596), 99) == 0.596
    assert mean(np.array([0.4, 0.6, 7.4, 7.6])) == pytest.approx(4.0)


def test_a_percentile_of_nothing_is_unknown() -> None:
    assert percentile(np.array([]), 50) is None
    assert mean(np.array([])) is None


def test_misses_are_kept_as_infinite() -> None:
    assert percentile(np.array([1.0, 1.0, np.inf]), 95) == np.inf
    assert percentile(np.array([1.0, 1.0, np.inf]), 50) == 1.0


def test_replicates_around_a_value_have_their_own_quantiles() -> None:
    drawn = np.linspace(-100.0, 100.0, 201)
    assert unbiased_90(0.0, drawn) == pytest.approx(middle_90(drawn), abs=2)


def test_replicates_on_one_side_move_the_interval_to_the_other() -> None:
    """Of noise that adds 10 to the maximum each time: the truth lies about 10 below, so do the ends."""
    drawn = np.random.default_rng(1).normal(10.0, 10.0, 20_001)
    low, high = unbiased_90(0.0, drawn)
    assert low == pytest.approx(10 + 10 * (-2 - 1.645), abs=2)  # Efron's: quantiles of 2 z0 -+ 1.645, z0 = -1
    assert high == pytest.approx(10 + 10 * (-2 + 1.645), abs=1)


def test_replicates_that_all_equal_the_value_are_it() -> None:
    assert unbiased_90(8.0, np.full(200, 8.0)) == (8.0, 8.0)
