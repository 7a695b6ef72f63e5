"""The grammar of --steps, --hold and --settle: every form that is documented, and a sentence for every slip."""

import contextlib
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.plan import (
    MAX_LEVELS,
    MAX_USERS,
    Hold,
    Plan,
    parse_duration,
    parse_hold,
    parse_levels,
    parse_settle,
)

LEVELS = [
    ("1", (1,), "one level"),
    ("1,2,4,8", (1, 2, 4, 8), "a list"),
    (" 1, 2 ,4 ", (1, 2, 4), "spaces around the numbers"),
    ("1:64:x2", (1, 2, 4, 8, 16, 32, 64), "a factor, the end included"),
    ("1:63:x2", (1, 2, 4, 8, 16, 32), "a factor that does not land on the end stops below it"),
    ("8:64:+8", (8, 16, 24, 32, 40, 48, 56, 64), "an addition, the end included"),
    ("8:60:+8", (8, 16, 24, 32, 40, 48, 56), "an addition that does not land on the end stops below it"),
    ("1,2,8:24:+8", (1, 2, 8, 16, 24), "forms joined by commas"),
    ("1:4:x2,8:16:+4", (1, 2, 4, 8, 12, 16), "two ranges joined"),
    ("1:20:x1.5", (1, 2, 3, 5, 8, 11, 17), "fractions of a user are rounded, and 1.5^2 = 2.25 is no second 2"),
    ("1:10:x1.2", (1, 2, 3, 4, 5, 6, 7, 9), "a small factor repeats no level and does not fall behind itself"),
    ("7:7:x2", (7,), "a range of one level"),
    ("7:7:+1", (7,), "a range of one level, by addition"),
    ("1:3:+1.0", (1, 2, 3), "a whole addition written with a point"),
    ("0001,0010", (1, 10), "leading zeros"),
    ("1:1000000:x10", (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000), "up to the most users there may be"),
]


@pytest.mark.parametrize(("text", "levels", "sentence"), LEVELS, ids=[row[2] for row in LEVELS])
def test_steps(text: str, levels: tuple[int, ...], sentence: str) -> None:
    assert parse_levels(text) == levels, sentence


BAD_LEVELS = [
    ("", "''", "write 1,2,4,8", "nothing"),
    ("1,,2", "''", "write 1,2,4,8", "nothing between two commas"),
    ("1,2,", "''", "write 1,2,4,8", "a comma at the end"),
    ("one", "'one'", "write 1,2,4,8", "a word"),
    ("1;2;4", "'1;2;4'", "write 1,2,4,8", "another separator"),
    ("1-64", "'1-64'", "write 1,2,4,8", "a range as elsewhere"),
    ("1:64", "'1:64'", "1:64:x2", "a range without its step"),
    ("1:64:2", "'1:64:2'", "1:64:x2", "a step without x or +"),
    ("1:64:*2", "'1:64:*2'", "1:64:x2", "another sign"),
    ("1:64:x", "'1:64:x'", "1:64:x2", "a factor without its number"),
    ("1:64:x-2", "'1:64:x-2'", "1:64:x2", "a negative factor"),
    ("1:64:xinf", "'1:64:xinf'", "1:64:x2", "an infinite factor"),
    ("1.5", "'1.5'", "write 1,2,4,8", "half a user"),
    ("-1", "'-1'", "write 1,2,4,8", "fewer than no users"),
    ("٣", "'٣'", "write 1,2,4,8", "digits of another script"),
    ("0", "0 users", "between 1 and", "no user"),
    ("0:8:x2", "0 users", "between 1 and", "no user, in a range"),
    ("1000001", "1000001 users", "between 1 and", "a slip of the keyboard"),
    ("9" * 5000, "999...", "between 1 and", "more digits than Python reads"),
    ("1,2,2", "2 is followed by 2", "each once", "a level twice"),
    ("4,2,1", "4 is followed by 2", "upwards", "downwards"),
    ("1:8:x2,4", "8 is followed by 4", "upwards", "a range and a smaller number"),
    ("64:1:x2", "'64:1:x2'", "smaller number of users first", "a range downwards"),
    ("1:64:x1", "'1:64:x1'", "at least x1.01", "a factor that never rises"),
    ("1:64:x0.5", "'1:64:x0.5'", "at least x1.01", "a factor that falls"),
    ("1:64:+0", "'1:64:+0'", "at least +1", "an addition that never rises"),
    ("1:64:+1.5", "'1:64:+1.5'", "at least +1", "an addition of half a user"),
    ("1:64:+" + "9" * 400, "'1:64:+999", "at least +1", "an addition beyond all floats"),
    ("1:1000000:+1", "'1:1000000:+1'", "1000 levels", "a million levels"),
    (",".join(map(str, range(1, 1200))), "1,2,3", "1000 levels", "more levels written out than a day can hold"),
]


@pytest.mark.parametrize(("text", "names", "mends", "sentence"), BAD_LEVELS, ids=[row[3] for row in BAD_LEVELS])
def test_bad_steps_name_the_part_and_say_what_to_write(text: str, names: str, mends: str, sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_levels(text)
    assert names in str(told.value), sentence
    assert mends in str(told.value), sentence
    assert len(str(told.value)) < 250, "one line that a person reads"


def test_a_huge_factor_ends_at_once() -> None:
    assert parse_levels("1:64:x" + "9" * 400) == (1,)


@pytest.mark.parametrize("text", ["1:1000000:+1", "1:1000000:x1.01", "1:1000000:x1.0000000001", "999999:1000000:x1.01"])
def test_a_runaway_range_neither_hangs_nor_grows(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(UsageError):
        assert len(parse_levels(text)) <= MAX_LEVELS
    assert time.process_time() - began < 1


numbers = st.integers(1, 500) | st.integers(1, MAX_USERS)
written = st.one_of(
    st.lists(numbers, min_size=1, max_size=8).map(lambda many: ",".join(str(n) for n in sorted(set(many)))),
    st.builds(
        lambda a, b, by: f"{min(a, b)}:{max(a, b)}:x{by:.3f}", numbers, numbers, st.floats(1.001, 20, allow_nan=False)
    ),
    st.builds(lambda a, b, by: f"{min(a, b)}:{max(a, b)}:+{by}", numbers, numbers, numbers),
    st.text("0123456789:x+,. ", max_size=20),
)


@given(written)
@example("1:9:x1.1")
def test_whatever_is_understood_rises_and_keeps_its_bounds(text: str) -> None:
    try:
        levels = parse_levels(text)
    except UsageError:
        return
    assert 1 <= len(levels) <= MAX_LEVELS
    assert all(lower < upper for lower, upper in pairwise(levels))
    assert levels[0] >= 1
    assert levels[-1] <= MAX_USERS
    assert parse_levels(",".join(map(str, levels))) == levels


@given(st.integers(1, 1000), st.integers(1, 5000), st.floats(1.5, 16))
def test_a_factor_keeps_to_its_geometric_series(first: int, span: int, by: float) -> None:
    text = f"{by:.4f}"
    for level in parse_levels(f"{first}:{first + span}:x{text}"):
        assert any(level == round(first * float(text) ** n) for n in range(32))


DURATIONS = [
    ("90", 90.0, "seconds without a unit"),
    ("90s", 90.0, "seconds"),
    ("2m", 120.0, "minutes"),
    ("1h", 3600.0, "hours"),
    ("500ms", 0.5, "milliseconds"),
    ("1.5m", 90.0, "a fraction"),
    (" 5s ", 5.0, "spaces around"),
    ("0s", 0.0, "nothing at all"),
    ("720h", 2_592_000.0, "thirty days"),
]


@pytest.mark.parametrize(("text", "seconds", "sentence"), DURATIONS, ids=[row[2] for row in DURATIONS])
def test_times(text: str, seconds: float, sentence: str) -> None:
    assert parse_duration(text) == seconds, sentence


@pytest.mark.parametrize("text", ["", "s", "-5s", "5 s", "1d", "1h30m", "1e3", "nan", "inf", "5S", "٣s", ".5s", "5.s"])
def test_what_is_no_time_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time: write 90, 90s, 2m or 1h") as told:
        parse_duration(text)
    assert f"'{text}'" in str(told.value)


@pytest.mark.parametrize("text", ["721h", "9" * 30, "9" * 5000])
def test_a_time_without_end_is_refused(text: str) -> None:
    for parse in (parse_duration, parse_hold, parse_settle):
        with pytest.raises(UsageError, match="longer than 30 days: write"):
            parse(text)


HOLDS = [
    ("auto", Hold(), "until the numbers stand still"),
    ("90", Hold(seconds=90.0), "seconds without a unit"),
    ("90s", Hold(seconds=90.0), "seconds"),
    ("2m", Hold(seconds=120.0), "minutes"),
    ("1s", Hold(seconds=1.0), "the shortest"),
    ("256req", Hold(requests=256), "a number of requests"),
    ("1req", Hold(requests=1), "one request"),
    ("0256req", Hold(requests=256), "a leading zero"),
]


@pytest.mark.parametrize(("text", "hold", "sentence"), HOLDS, ids=[row[2] for row in HOLDS])
def test_holds(text: str, hold: Hold, sentence: str) -> None:
    assert parse_hold(text) == hold, sentence
    assert parse_hold(text).auto == (text == "auto"), sentence


BAD_HOLDS = [
    ("", "''", "write auto", "nothing"),
    ("AUTO", "'AUTO'", "write auto", "another case"),
    ("-5s", "'-5s'", "write auto", "less than no time"),
    ("req", "'req'", "256req", "requests without a number"),
    ("2.5req", "'2.5req'", "256req", "half a request"),
    ("0req", "0req", "1req", "no request"),
    ("9999999999req", "9999999999req", "write between 1req and", "requests without end"),
    ("9" * 5000 + "req", "'999", "256req", "more digits than Python reads"),
    ("0s", "0s", "at least 1s", "no time"),
    ("500ms", "500ms", "at least 1s", "too short to measure"),
]


@pytest.mark.parametrize(("text", "names", "mends", "sentence"), BAD_HOLDS, ids=[row[3] for row in BAD_HOLDS])
def test_bad_holds_name_the_part_and_say_what_to_write(text: str, names: str, mends: str, sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_hold(text)
    assert names in str(told.value), sentence
    assert mends in str(told.value), sentence


def test_settle() -> None:
    assert parse_settle("auto") is None
    assert parse_settle("0s") == 0.0
    assert parse_settle("5") == 5.0
    with pytest.raises(UsageError, match="settle 'soon' is not understood: write auto or a time"):
        parse_settle("soon")


def test_a_plan_holds_and_settles_by_itself_unless_told() -> None:
    plan = Plan(levels=(1, 2))
    assert plan.hold.auto
    assert plan.settle_s is None
