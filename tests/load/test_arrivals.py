"""Arrivals of an open loop: rate and spread as asked, the same whatever the number of workers."""

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.load.arrivals import Arrivals, parse_arrival, recorded, recorded_rate, schedule, share

MANY = 5_000


def moments(text: str, rate: float, count: int = MANY, seed: str = "1/arrivals/1/1") -> list[float]:
    """The first arrivals of a schedule."""
    return list(itertools.islice(schedule(parse_arrival(text), rate, seed), count))


def gaps(at: list[float]) -> list[float]:
    """Seconds between neighbours."""
    return [later - earlier for earlier, later in itertools.pairwise(at)]


def variation(at: list[float]) -> float:
    """Coefficient of variation of the gaps."""
    return statistics.stdev(gaps(at)) / statistics.fmean(gaps(at))


@pytest.mark.parametrize(
    ("text", "rate", "cv", "tolerance"),
    [("poisson", 50.0, 1.0, 0.05), ("gamma(2)", 50.0, 2.0, 0.15), ("gamma(0.5)", 3.0, 0.5, 0.03),
     ("constant", 20.0, 0.0, 1e-6)],
)  # fmt: skip
def test_rate_and_spread_of_5000_arrivals_are_as_asked(text: str, rate: float, cv: float, tolerance: float) -> None:
    at = moments(text, rate)
    print(f"{text} at {rate:g}/s: CV {variation(at):.3f}, rate {MANY / at[-1]:.3f}/s")
    assert variation(at) == pytest.approx(cv, abs=tolerance)
    assert MANY / at[-1] == pytest.approx(rate, rel=max(4 * cv / MANY**0.5, 1e-9))


@pytest.mark.parametrize("text", ["poisson", "gamma(2)", "constant"])
def test_1_2_and_4_workers_send_the_same_schedule(text: str) -> None:
    whole = list(enumerate(moments(text, 10.0, 400)))
    for workers in (1, 2, 4):
        parts = [list(share(iter(moments(text, 10.0, 400)), worker, workers)) for worker in range(workers)]
        assert {len(part) for part in parts} == {400 // workers}
        assert sorted(itertools.chain(*parts)) == whole


def test_the_gaps_of_a_superposition_would_not_be_those_asked_for() -> None:
    each = [moments("gamma(2)", 12.5, 40_000, seed=str(worker)) for worker in range(4)]
    until = min(at[-1] for at in each)
    four = sorted(moment for moment in itertools.chain(*each) if moment <= until)
    print(f"four independent workers: CV {variation(four):.3f}")
    assert variation(four) == pytest.approx(1.71, abs=0.06)


@given(st.floats(0.01, 1000), st.sampled_from(["poisson", "gamma(2)", "gamma(0.3)", "constant"]), st.integers())
def test_a_schedule_rises_and_comes_again_from_its_seed(rate: float, text: str, seed: int) -> None:
    at = moments(text, rate, 100, str(seed))
    assert at == sorted(at)
    assert at[0] >= 0
    assert at == moments(text, rate, 100, str(seed))


def test_another_seed_is_another_schedule() -> None:
    assert moments("poisson", 1.0, 20, "1/arrivals/1/1") != moments("poisson", 1.0, 20, "1/arrivals/2/1")


def test_a_metronome_does_not_drift() -> None:
    assert moments("constant", 20.0, 100_000)[-1] == pytest.approx(5_000.0, abs=1e-6)


@pytest.mark.parametrize("text", ["", "uniform", "gamma", "gamma()", "gamma(0)", "gamma(11)", "gamma(-1)", "poisson 2"])
def test_what_is_no_arrival_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_arrival(text)
    assert "\n" not in str(refused.value)


def test_a_trace_keeps_its_bursts_at_any_rate() -> None:
    at = [100.0, 100.1, 100.2, 104.0]
    assert recorded_rate(at) == pytest.approx(0.75)
    assert list(recorded(at, 0.75)) == pytest.approx([0.0, 0.1, 0.2, 4.0])
    assert list(recorded(at, 1.5)) == pytest.approx([0.0, 0.05, 0.1, 2.0])
    assert parse_arrival("trace") == Arrivals(None)


@pytest.mark.parametrize("at", [[], [5.0], [5.0, 5.0]])
def test_a_trace_without_length_has_no_rate(at: list[float]) -> None:
    with pytest.raises(UsageError, match="two moments"):
        recorded_rate(at)
