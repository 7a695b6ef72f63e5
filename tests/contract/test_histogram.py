"""The histogram's guarantees: 1 % of the exact nearest rank, edges where they are promised, merging loses nothing."""

import csv
import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadband.histogram import GAMMA, Histogram
from loadband.rundir import COLUMNS, HISTOGRAMS, Appender

PERCENTS = (0, 1, 50, 90, 95, 99, 99.9, 100)

magnitudes = st.floats(math.log(1e-6), math.log(1e6)).map(math.exp)
"""Positive values, each magnitude as likely as any other."""

exact_sums = st.integers(-8, 1 << 20).map(lambda n: n / 8)
"""Values whose sums are exact in binary, so that the order of adding cannot show."""


def nearest_rank(values: list[float], percent: float) -> float:
    """The exact percentile that the histogram approximates."""
    return sorted(values)[max(1, math.ceil(len(values) * percent / 100 - 1e-9)) - 1]


def state(histogram: Histogram) -> tuple[object, ...]:
    return (histogram.buckets, histogram.count, histogram.total, histogram.minimum, histogram.maximum)


@given(st.lists(magnitudes, min_size=1, max_size=60), st.sampled_from(PERCENTS))
@example([1.0], 50)
@example([1e-6, 1e6], 50)
def test_a_percentile_is_within_one_percent_of_the_exact_one(values: list[float], percent: float) -> None:
    exact = nearest_rank(values, percent)
    told = Histogram(values).percentile(percent)
    assert told is not None
    assert abs(told - exact) <= 0.01 * exact


@given(st.lists(magnitudes, min_size=1, max_size=40))
def test_count_minimum_and_maximum_are_exact_and_the_mean_is_to_rounding(values: list[float]) -> None:
    histogram = Histogram(values)
    assert (histogram.count, histogram.minimum, histogram.maximum) == (len(values), min(values), max(values))
    assert histogram.mean == pytest.approx(math.fsum(values) / len(values))


@given(magnitudes)
def test_a_value_lies_in_its_bucket(value: float) -> None:
    (index,) = Histogram([value]).buckets
    assert math.pow(GAMMA, index - 1) < value <= math.pow(GAMMA, index)


@given(st.integers(-700, 700), st.sampled_from((-2, -1, 0, 1, 2)))
@example(1, 0)
@example(35, 0)
@example(-35, 1)
def test_an_edge_belongs_to_the_bucket_below_and_its_neighbours_to_their_own(edge: int, steps: int) -> None:
    value = math.pow(GAMMA, edge)
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.inf if steps > 0 else 0.0)
    (index,) = Histogram([value]).buckets
    assert index == (edge + 1 if steps > 0 else edge)


def test_every_edge_a_run_can_meet_is_on_its_promised_side() -> None:
    """The plain logarithm is wrong on 200 of these 3,000 edges."""
    wrong = [i for i in range(-1500, 1500) if list(Histogram([math.pow(GAMMA, i)]).buckets) != [i]]
    assert wrong == []


ADDED = [
    ([], None, "nothing has no percentile"),
    ([0.0], 0.0, "zero is a value, and stands apart from the buckets"),
    ([-0.5, 0.0, 0.1], -0.5, "values at or below zero stand for their minimum"),
    ([0.1], 0.1, "one value is told exactly, because the extremes are"),
    ([5e-324], 5e-324, "the smallest float there is"),
    ([1.7976931348623157e308], 1.7976931348623157e308, "the largest float there is"),
]


@pytest.mark.parametrize(("values", "median", "sentence"), ADDED, ids=[row[2] for row in ADDED])
def test_odd_values_have_a_median(values: list[float], median: float | None, sentence: str) -> None:
    assert Histogram(values).percentile(50) == median, sentence


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_measurement_is_refused_and_leaves_no_trace(value: float) -> None:
    histogram = Histogram([1.0])
    before = state(Histogram([1.0]))
    with pytest.raises(ValueError, match="cannot hold"):
        histogram.add(value)
    assert state(histogram) == before


@pytest.mark.parametrize("times", [0, -1])
def test_a_value_is_counted_at_least_once(times: int) -> None:
    with pytest.raises(ValueError, match="times"):
        Histogram().add(1.0, times)


@pytest.mark.parametrize("percent", [-1, 100.1, math.nan])
def test_a_percentile_outside_the_hundred_is_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        Histogram([1.0]).percentile(percent)


@pytest.mark.parametrize("gamma", [1.0, 0.5, math.nan])
def test_a_gamma_that_makes_no_buckets_is_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma"):
        Histogram(gamma=gamma)


def test_adding_many_times_is_adding_often() -> None:
    once = Histogram()
    once.add(0.25, 5)
    assert state(once) == state(Histogram([0.25] * 5))


@given(st.lists(magnitudes | st.integers(-1500, 1500).map(lambda i: math.pow(GAMMA, i)) | st.just(0.0), max_size=50))
@example([5e-324, 1e-323, 1.7976931348623157e308])
def test_adding_rising_values_at_once_is_adding_each(values: list[float]) -> None:
    at_once, each = Histogram(), Histogram(values)
    at_once.add_sorted(sorted(values))
    assert at_once.buckets == each.buckets
    assert (at_once.count, at_once.minimum, at_once.maximum) == (each.count, each.minimum, each.maximum)
    assert at_once.total == pytest.approx(each.total)


@pytest.mark.parametrize("values", [[math.nan], [0.1, math.inf], [-math.inf, 0.1], [0.1, math.nan, 0.2]])
def test_rising_values_that_are_no_measurement_are_refused_and_leave_no_trace(values: list[float]) -> None:
    histogram = Histogram()
    with pytest.raises(ValueError, match="cannot hold"):
        histogram.add_sorted(values)
    assert (histogram.count, histogram.buckets) == (0, {})


@given(st.lists(exact_sums, max_size=30), st.lists(exact_sums, max_size=30), st.lists(exact_sums, max_size=30))
def test_merging_is_associative_commutative_and_equal_to_adding_all(
    a: list[float], b: list[float], c: list[float]
) -> None:
    left, right, swapped = Histogram(a), Histogram(a), Histogram(c)
    left.merge(Histogram(b))
    left.merge(Histogram(c))
    bc = Histogram(b)
    bc.merge(Histogram(c))
    right.merge(bc)
    swapped.merge(Histogram(b))
    swapped.merge(Histogram(a))
    assert state(left) == state(right) == state(swapped) == state(Histogram(a + b + c))


def test_merging_changes_only_the_one_that_asked() -> None:
    other = Histogram([1.0, 2.0])
    Histogram([3.0]).merge(other)
    assert state(other) == state(Histogram([1.0, 2.0]))


def test_another_gamma_refuses_to_merge_and_names_both() -> None:
    with pytest.raises(ValueError, match=r"1\.02 and 1\.01"):
        Histogram([1.0]).merge(Histogram([1.0], gamma=1.01))


@given(st.lists(magnitudes | st.floats(-10, 0), max_size=40))
def test_encoding_and_decoding_keep_every_count(values: list[float]) -> None:
    histogram = Histogram(values)
    again = Histogram.decode(histogram.count, histogram.total, histogram.minimum, histogram.maximum, histogram.encode())
    assert (again.buckets, again.count, again.total) == (histogram.buckets, histogram.count, histogram.total)
    assert again.nonpositive == histogram.nonpositive
    assert again.encode() == histogram.encode()
    if values and min(values) >= 5e-5:
        assert (again.minimum, again.maximum) == (histogram.minimum, histogram.maximum)


def through_a_cell(histogram: Histogram, path: Path) -> Histogram:
    """The histogram as the other half reads it from `histograms.csv`."""
    path.unlink(missing_ok=True)
    file = Appender(path, COLUMNS[HISTOGRAMS])
    bounds = (histogram.count, histogram.total, histogram.minimum, histogram.maximum, histogram.encode())
    file.append((1, 1_800_000_000, 1_800_000_000, "interactive", "itl", *bounds, "w1"))
    file.close()
    with path.open(encoding="utf-8", newline="") as text:
        (row,) = csv.DictReader(text)
    return Histogram.decode(int(row["count"]), float(row["sum"]), float(row["min"]), float(row["max"]), row["buckets"])


@given(st.lists(magnitudes, min_size=1, max_size=30), st.sampled_from(PERCENTS))
@example([1.4e-6], 50)
@example([2.04e-5, 2.04e-5], 100)
@example([4e-7], 0)
def test_the_guarantee_survives_the_six_decimals_of_a_cell(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], percent: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "histograms.csv"
    told = through_a_cell(Histogram(values), path).percentile(percent)
    exact = nearest_rank(values, percent)
    assert told is not None
    assert abs(told - exact) <= 0.01 * exact * (1 + 1e-9)


TORN = [
    (1, 0.1, "3:2", "more values in buckets than were counted"),
    (9, 0.1, "3:2", "values missing from the buckets, though the least is above zero"),
    (4, 0.1, "3:2;3:2", "a bucket told twice"),
    (1, 0.1, "3:2;4:-1", "a bucket that holds less than nothing"),
    (0, 0.1, "3:0", "a bucket that holds nothing"),
    (2, 0.1, "3", "a bucket without its count"),
    (2, 0.1, "3:1:1", "a bucket with two counts"),
    (2, 0.1, "x:2", "a bucket that is no number"),
]


@pytest.mark.parametrize(("count", "minimum", "buckets", "sentence"), TORN, ids=[row[3] for row in TORN])
def test_cells_that_contradict_each_other_are_refused(count: int, minimum: float, buckets: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        pytest.fail(f"{sentence}: {Histogram.decode(count, 1.0, minimum, 1.0, buckets)}")


def test_an_empty_histogram_survives_its_cells() -> None:
    nothing = Histogram()
    assert nothing.encode() == ""
    again = Histogram.decode(0, 0.0, math.inf, -math.inf, "")
    assert (again.count, again.mean, again.percentile(99)) == (0, None, None)
