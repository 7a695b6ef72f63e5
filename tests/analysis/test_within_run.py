"""Noise from one hold: it covers what a second hold would show."""

import numpy as np
import pytest

from loadband.analysis.within_run import (
    FLOOR,
    Floats,
    block_count,
    correlation_time,
    rate_noise,
    request_noise,
)


def series(seed: int, seconds: int = 240, rho: float = 0.6, spread: float = 0.3) -> Floats:
    """A first-order autoregressive series with mean 1."""
    random = np.random.default_rng(seed)
    values, last = np.empty(seconds), 0.0
    for place in range(seconds):
        last = rho * last + float(random.normal(0, spread * np.sqrt(1 - rho**2)))
        values[place] = 1 + last
    return values


@pytest.mark.parametrize(("seconds", "rho"), [(240, 0.0), (240, 0.6), (120, 0.6), (40, 0.5)])
def test_the_error_of_a_rate_is_that_of_other_holds(seconds: int, rho: float) -> None:
    holds = [series(seed, seconds, rho) for seed in range(300)]
    true = float(np.std([hold.mean() for hold in holds]))
    told = [noise.error for hold in holds if (noise := rate_noise(hold, 2.0)) is not None]
    assert len(told) == len(holds)
    assert float(np.sqrt(np.mean(np.square(told)))) == pytest.approx(true, rel=0.25)


@pytest.mark.parametrize("percent", [50.0, 95.0, None])
def test_the_error_of_a_percentile_is_that_of_other_holds(percent: float | None) -> None:
    """Independent log-normal values: the block bootstrap must find what plain sampling theory says."""

    def hold(seed: int) -> Floats:
        return np.random.default_rng(seed).lognormal(0.0, 0.5, 800)

    def value(values: Floats) -> float:
        return float(values.mean() if percent is None else np.percentile(values, percent))

    true = float(np.std([np.log(value(hold(seed))) for seed in range(400)]))
    at = np.linspace(0, 1, 800, endpoint=False)
    told = [noise.error for seed in range(60) if (noise := request_noise(hold(seed), at, 20, percent)) is not None]
    assert float(np.mean(told)) == pytest.approx(true, rel=0.25)


def test_a_million_requests_fit() -> None:
    """Counted by ranks: the error is that of so many, and neither memory nor time goes with their square."""
    random = np.random.default_rng(1)
    values, at = random.lognormal(0.0, 0.5, 1_000_000), np.linspace(0, 1, 1_000_000, endpoint=False)
    noise = request_noise(values, at, 40, 95.0)
    assert noise is not None and noise.error == FLOOR


def test_a_hold_below_six_requests_tells_nothing() -> None:
    assert rate_noise(series(1, 59), 10.0) is None
    assert rate_noise(series(1, 61), 10.0) is not None
    assert rate_noise(np.zeros(100), 1.0) is None
    assert rate_noise(np.array([]), 1.0) is None


def test_blocks_are_longer_than_what_is_remembered() -> None:
    assert correlation_time(series(1, 4000, 0.0)) == pytest.approx(0.5, abs=0.15)
    assert correlation_time(series(1, 20_000, 0.8)) == pytest.approx(4.5, rel=0.25)
    assert block_count(series(1, 240, 0.0), 6.0) == 20
    assert block_count(series(1, 30, 0.0), 6.0) == 0


def test_no_single_run_is_believed_to_less_than_a_percent() -> None:
    noise = rate_noise(np.full(200, 100.0), 1.0)
    assert noise is not None and noise.error == FLOOR


def test_few_requests_or_blocks_tell_nothing_of_a_percentile() -> None:
    at = np.linspace(0, 1, 100, endpoint=False)
    assert request_noise(np.ones(100), at, 3, 50.0) is None
    assert request_noise(np.ones(10), at[:10], 20, 50.0) is None
