import pytest

from loadband.analysis.gains import with_gains
from loadband.analysis.level import Grade, Level
from loadband.analysis.thresholds import Thresholds
from tests.analysis.make_levels import LIMITS, ladder, level

ARTICLE = {16: 2439.85, 32: 2915.96, 64: 4092.61, 128: 4218.27, 256: 4265.51}


def remarks(levels: list[Level], limits: Thresholds = LIMITS) -> list[str]:
    return [each.remark for each in with_gains(levels, "output_tok_s", limits)]


def test_the_remarks_of_a_plateau() -> None:
    assert remarks(ladder(ARTICLE)) == ["first level", "clear gain", "clear gain", "near the plateau", "+1.1 % only"]


@pytest.mark.parametrize(
    ("users", "x", "remark"),
    [
        (16, 200, "not saturated"),
        (16, 175, "not saturated"),
        (16, 174, "clear gain"),
        (16, 111.2, "clear gain"),
        (16, 110.8, "near the plateau"),
        (9, 101.9, "clear gain"),
        (9, 101.7, "+1.7 % only"),
        (16, 102, "near the plateau"),
        (16, 101.9, "+1.9 % only"),
        (16, 100.04, "no gain"),
        (16, 97.1, "no gain"),
        (16, 96.9, "past the peak"),
        (16, 0, "past the peak"),
    ],
)
def test_the_catalogue_goes_by_the_exponent(users: float, x: float, remark: str) -> None:
    """From 100 at 8 users: what a further user brings, against what those before brought."""
    assert remarks([level(8, 100), level(users, x)])[1] == remark


def test_a_level_that_makes_up_for_a_dip_has_brought_nothing() -> None:
    levels = with_gains(ladder({1: 2093, 2: 1543, 4: 668, 8: 1064, 16: 1401, 32: 2095}), "output_tok_s", LIMITS)
    assert [each.remark for each in levels] == ["first level", *["past the peak"] * 4, "+0.1 % only"]
    assert [round(each.numbers.gain_pct or 0) for each in levels] == [0, -26, -57, 59, 32, 50]


def test_thresholds_are_options() -> None:
    assert remarks(ladder(ARTICLE), Thresholds(small_gain=0.01))[-1] == "near the plateau"


def test_levels_whose_gain_is_not_worth_reading() -> None:
    levels = [
        level(8, 100),
        level(16, 200, grade=Grade().refuse("users were missing")),
        level(32, 300, grade=Grade().refuse("event-loop lag", client_limited=True)),
        level(64, 400, failed=300),
        level(128, 500, n=100, failed=2),
    ]
    assert remarks(levels) == ["first level", "not valid", "client-limited", "too many errors", "clear gain"]


def test_gain_is_against_the_next_lower_valid_level_of_the_same_climb() -> None:
    levels = [level(1, 10, repeat=1), level(2, 15, repeat=1), level(1, 12, repeat=2), level(2, 24, repeat=2)]
    levels.insert(1, level(1.5, 500, repeat=1, grade=Grade().refuse("users were missing")))
    gains = [each.numbers.gain_pct for each in with_gains(levels, "output_tok_s", LIMITS)]
    assert gains == [None, 4900.0, 50.0, None, 100.0]


def test_the_order_of_levels_does_not_matter() -> None:
    levels = ladder(ARTICLE)
    assert remarks(list(reversed(levels))) == list(reversed(remarks(levels)))


def test_requests_count_only_when_they_succeeded() -> None:
    levels = [level(8, None, req_s=10.0), level(16, None, req_s=20.0, n=100, failed=1, error_rate=0.5)]
    assert [each.numbers.gain_pct for each in with_gains(levels, "req_s", LIMITS)] == [None, 0.0]
