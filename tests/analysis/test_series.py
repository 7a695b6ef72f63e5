import numpy as np
import pytest

from loadband.analysis.series import autocorrelation, drift, waves


def test_a_steady_series_does_not_drift() -> None:
    rng = np.random.default_rng(1)
    assert drift(np.arange(60.0), 100 + rng.normal(0, 5, 60)) == 0.0


def test_a_rising_series_drifts_by_its_relative_change() -> None:
    rng = np.random.default_rng(1)
    change = drift(np.arange(60.0), np.linspace(90, 110, 60) + rng.normal(0, 1, 60))
    assert change == pytest.approx(0.20, abs=0.02)


def test_a_wandering_series_is_not_taken_for_a_trend() -> None:
    """Neighbouring values alike: a plain t-test would call most of these a trend."""
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(50):
        noise = np.zeros(120)
        for place in range(1, 120):
            noise[place] = 0.8 * noise[place - 1] + rng.normal(0, 3)
        called += abs(drift(np.arange(120.0), 100 + noise) or 0.0) >= 0.10
    assert called <= 10


def test_too_short_is_unknown() -> None:
    assert drift(np.arange(5.0), np.ones(5)) is None
    assert drift(np.zeros(20), np.ones(20)) is None
    assert autocorrelation(np.ones(5), 1) is None
    assert autocorrelation(np.ones(50), 1) is None


def test_users_in_step_are_waves() -> None:
    """32 users, answers of exactly 2 s."""
    starts = np.repeat(np.arange(0, 60, 2.0), 32) + np.tile(np.linspace(0, 0.1, 32), 30)
    found = waves(starts, 0.0, 60.0, 2.0, 32)
    assert found is not None
    fano, again = found
    assert fano > 20
    assert again is not None
    assert again > 0.8


def test_random_starts_are_no_waves() -> None:
    starts = np.sort(np.random.default_rng(3).uniform(0, 60, 960))
    found = waves(starts, 0.0, 60.0, 2.0, 32)
    assert found is not None
    assert found[0] < 1.5


@pytest.mark.parametrize(("users", "hold"), [(2, 60.0), (32, 3.0)])
def test_few_users_and_short_holds_are_not_judged(users: int, hold: float) -> None:
    assert waves(np.arange(0, hold, 0.1), 0.0, hold, 2.0, users) is None
