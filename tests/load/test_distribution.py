"""The grammar of numbers a person asks for, and what is drawn of them."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.load.distribution import (
    DRAWS_ABOVE_MEAN,
    Distribution,
    parse_distribution,
    parse_shares,
    parse_token_count,
)

FORMS: list[tuple[str, Distribution, str]] = [
    ("100", Distribution(100, 100), "a number"),
    ("0", Distribution(0, 0), "no pause at all"),
    ("1000000000", Distribution(1e9, 1e9), "the largest number"),
    ("0.25", Distribution(0.25, 0.25), "a fraction"),
    ("64-448", Distribution(64, 448), "a range"),
    ("0.5-2", Distribution(0.5, 2), "a range of fractions"),
    ("7-7", Distribution(7, 7), "a range of one number"),
    ("lognormal(300,150)", Distribution(300, 300, 150), "a lognormal"),
    ("lognormal(300,0)", Distribution(300, 300, 0), "a lognormal that does not vary"),
    (" 64 - 448 ", Distribution(64, 448), "spaces around numbers"),
    ("lognormal( 300 , 150 )", Distribution(300, 300, 150), "spaces around a lognormal's"),
]


@pytest.mark.parametrize(("text", "distribution", "sentence"), FORMS, ids=[row[2] for row in FORMS])
def test_a_form(text: str, distribution: Distribution, sentence: str) -> None:
    assert parse_distribution(text) == distribution, sentence


MALFORMED: list[tuple[str, str, str]] = [
    ("", "write a number, a range", "nothing"),
    ("many", "write a number, a range", "a word"),
    ("-5", "write a number, a range", "fewer than none"),
    ("5-", "write a number, a range", "half a range"),
    ("1-2-3", "write a number, a range", "two ranges"),
    ("50--200", "write a number, a range", "a range to below nothing"),
    ("50..200", "write a number, a range", "a range as elsewhere"),
    ("5 0", "write a number, a range", "a space within a number"),
    ("1e3", "write a number, a range", "an exponent"),
    ("nan", "write a number, a range", "no number"),
    ("inf", "write a number, a range", "no end"),
    ("٣", "write a number, a range", "a digit of another script"),
    (".5", "write a number, a range", "a fraction without its zero"),
    ("normal(300,150)", "write a number, a range", "another distribution"),
    ("lognormal(300)", "write a number, a range", "a lognormal without its deviation"),
    ("lognormal(300,150", "write a number, a range", "a bracket missing"),
    ("lognormal(-300,150)", "write a number, a range", "a mean below nothing"),
    ("lognormal(0,150)", "write for example 300", "a mean of nothing"),
    ("lognormal(100,301)", "at most 3 means", "a deviation that the cap would eat"),
    ("448-64", "smaller number first", "a range downwards"),
    ("1000000001", "numbers up to 1000000000", "beyond all measure"),
    ("1-" + "9" * 400, "numbers up to 1000000000", "beyond all floats"),
    ("lognormal(9" + "9" * 400 + ",1)", "numbers up to 1000000000", "a mean beyond all floats"),
]


@pytest.mark.parametrize(("text", "mends", "sentence"), MALFORMED, ids=[row[2] for row in MALFORMED])
def test_a_slip_is_named_and_mended(text: str, mends: str, sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_distribution(text)
    assert mends in str(told.value), sentence
    assert f"'{text[:57]}" in str(told.value)
    assert len(str(told.value)) < 200


@pytest.mark.parametrize("text", ["0", "0.5", "0-64", "0.9-2", "lognormal(0.5,0.1)"])
def test_a_count_of_tokens_is_at_least_one(text: str) -> None:
    with pytest.raises(UsageError, match="at least 1 token"):
        parse_token_count(text)
    parse_distribution(text)


def test_a_count_of_tokens_takes_every_form() -> None:
    assert parse_token_count("1") == Distribution(1, 1)
    assert parse_token_count("64-448") == Distribution(64, 448)
    assert parse_token_count("lognormal(300,150)") == Distribution(300, 300, 150)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers())
def test_uniform_draws_stay_inside(a: float, b: float, seed: int) -> None:
    drawn = Distribution(min(a, b), max(a, b))
    source = random.Random(seed)
    for _ in range(20):
        assert drawn.low <= drawn.draw(source) <= drawn.high
        assert max(1, round(drawn.low)) <= drawn.draw_whole(source) <= max(1, round(drawn.high))


@given(st.floats(0.001, 1e6), st.floats(0, 3), st.integers())
def test_lognormal_draws_are_positive_and_capped(mean: float, spread: float, seed: int) -> None:
    drawn = Distribution(mean, mean, spread * mean)
    source = random.Random(seed)
    for _ in range(20):
        assert 0 < drawn.draw(source) <= DRAWS_ABOVE_MEAN * mean
        assert 1 <= drawn.draw_whole(source) <= max(1, round(DRAWS_ABOVE_MEAN * mean))


@pytest.mark.parametrize("deviation", [0, 30, 150, 300, 600])
def test_a_lognormal_has_the_mean_and_the_deviation_it_says(deviation: int) -> None:
    drawn = parse_distribution(f"lognormal(300,{deviation})")
    source = random.Random(7)
    values = [drawn.draw(source) for _ in range(40_000)]
    assert statistics.fmean(values) == pytest.approx(300, rel=0.05)
    assert statistics.pstdev(values) == pytest.approx(deviation, rel=0.2, abs=1e-6)
    whole = [drawn.draw_whole(source) for _ in range(40_000)]
    assert statistics.fmean(whole) == pytest.approx(300, rel=0.05)
    assert statistics.pstdev(whole) == pytest.approx(deviation, rel=0.2, abs=1e-6)


def test_each_whole_number_of_a_range_is_equally_likely() -> None:
    source = random.Random(7)
    values = [parse_distribution("2-4").draw_whole(source) for _ in range(3000)]
    assert set(values) == {2, 3, 4}
    assert all(900 < values.count(each) < 1100 for each in (2, 3, 4)), "the ends are no half"


def test_a_draw_depends_on_its_source_alone() -> None:
    drawn = parse_distribution("lognormal(300,150)")
    assert drawn.draw(random.Random(3)) == drawn.draw(random.Random(3)) != drawn.draw(random.Random(4))


def test_shares_of_a_mix() -> None:
    assert parse_shares("interactive=7,long_context=1, multi_turn=2") == {
        "interactive": 7.0, "long_context": 1.0, "multi_turn": 2.0,
    }  # fmt: skip
    assert parse_shares("interactive=0.5") == {"interactive": 0.5}
    for text in ("", "interactive", "interactive=0", "interactive=-1", "a=1,a=2", "a=1,", "A=1", "a=x", "a=1e3"):
        with pytest.raises(UsageError, match="mix"):
            parse_shares(text)
