"""Each threshold has a range, its default inside."""

from dataclasses import fields

import pytest

from loadband.analysis.thresholds import ORDERED, RANGES, Thresholds, parse_thresholds
from loadband.errors import UsageError


def test_every_threshold_has_a_range_that_holds_its_default() -> None:
    defaults = Thresholds().as_dict()
    assert {field.name for field in fields(Thresholds)} == set(RANGES)
    assert all(RANGES[name][0] <= value <= RANGES[name][1] for name, value in defaults.items())
    assert all(defaults[low] <= defaults[high] for low, high in ORDERED)


@pytest.mark.parametrize(
    "wrong",
    [
        "band_power=0", "band_power=2", "error_limit=5", "collapse_share=1.5", "little_low=2", "cold_ttft_factor=0",
        "direction_levels=0", "interior_levels=2.5", "weight=0", "p95_requests=0", "band_power=nan", "weight=inf",
        "error_limit=0.5", "little_low=0.95", "interior_levels=2",
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_thresholds([wrong])
    assert wrong.partition("=")[0] in str(error.value)


@pytest.mark.parametrize("name", RANGES)
def test_both_ends_of_a_range_are_allowed(name: str) -> None:
    partners = {lower: f"{upper}={RANGES[upper][1]!r}" for lower, upper in ORDERED}
    partners |= {upper: f"{lower}={RANGES[lower][0]!r}" for lower, upper in ORDERED}
    for end in RANGES[name][:2]:
        given = [f"{name}={end!r}", *([partners[name]] if name in partners else [])]
        assert getattr(parse_thresholds(given), name) == end
