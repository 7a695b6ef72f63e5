"""Times of a stream's tokens: every formula of the record, with values worked out by hand."""

import math
from collections.abc import Sequence
from itertools import accumulate, cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.token_clock import Timing, TokenClock, nearest_rank


def clock_of(*at_ms: float, answer_from_ms: float = 0.0, start: float = 0.0, offset: float = 0.0) -> TokenClock:
    """A clock that saw generated events at these milliseconds after the request's start."""
    clock = TokenClock(start, offset)
    for at in at_ms:
        clock.generated(start + at / 1000, answer=at >= answer_from_ms)
    return clock


def ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 6)


LINES: list[tuple[tuple[float, ...], int | None, tuple[float | None, ...], str]] = [
    ((600, 650, 700), 3, (600, 700, 50), "one token an event"),
    ((300, 300, 300, 600, 650), 5, (300, 650, 87.5), "three events in one read are one moment"),
    ((400, 450), 2, (400, 450, 50), "two tokens are the fewest that have a TPOT"),
    ((200,), 1, (200, 200, None), "one token has no TPOT"),
    ((200,), 7, (200, 200, None), "seven tokens at one moment have no pace"),
    ((100, 130, 160, 190, 220), 20, (100, 220, 6.315789), "four tokens an event: TPOT goes by tokens"),
    (tuple(range(500, 701, 20)), 11, (500, 700, 20), "gaps are one fewer than tokens"),
    ((50, 70), None, (50, 70, None), "nobody knows how many tokens: no TPOT"),
    ((50, 70), 0, (50, 70, None), "no token: no TPOT"),
    ((), 5, (None, None, None), "tokens without an event have no times"),
]


@pytest.mark.parametrize(("at", "tokens", "times", "sentence"), LINES, ids=[row[3] for row in LINES])
def test_first_last_and_per_token(
    at: tuple[float, ...], tokens: int | None, times: tuple[float | None, ...], sentence: str
) -> None:
    clock = clock_of(*at, start=1000.0)
    timing = clock.timing()
    assert (ms(timing.ttft_s), ms(timing.e2e_s), ms(clock.tpot(tokens))) == times, sentence
    assert timing.events == len(at)


def test_thinking_counts_for_the_first_token_and_not_for_the_first_answer() -> None:
    clock = clock_of(*range(300, 800, 10), *range(800, 900, 10), answer_from_ms=800)
    timing = clock.timing()
    assert (ms(timing.ttft_s), ms(timing.ttfa_s)) == (300, 800)
    assert ms(clock.tpot(60)) == 10


def test_an_answer_that_never_gets_visible_has_no_first_answer() -> None:
    timing = clock_of(300, 310, answer_from_ms=math.inf).timing()
    assert (ms(timing.ttft_s), timing.ttfa_s) == (300, None)


def test_nothing_generated_is_nothing_known() -> None:
    assert clock_of().timing() == Timing(None, None, None, None, None, None, events=0, bursty=False, buffered=False)


def test_gaps_are_between_reads() -> None:
    clock = clock_of(100, 100, 150, 150, 150, 170)
    assert [ms(gap) for gap in clock.gaps] == [50, 20]


def test_one_read_has_no_gap() -> None:
    timing = clock_of(100, 100, 100).timing()
    assert (timing.itl_p50_s, timing.itl_p99_s, timing.itl_max_s) == (None, None, None)


def test_percentiles_of_gaps_are_real_gaps() -> None:
    timing = clock_of(0, *(sum(range(1, n + 1)) for n in range(1, 101))).timing()  # gaps of 1 to 100 ms
    assert (ms(timing.itl_p50_s), ms(timing.itl_p99_s), ms(timing.itl_max_s)) == (50, 99, 100)


BURSTS: list[tuple[tuple[float, ...], bool, str]] = [
    ((10, 20, 30), False, "an event a read"),
    ((10, 10, 20, 30), True, "one crowded read of three"),
    ((*range(0, 100, 10), 90), False, "one crowded read of ten is just 10 %"),
    ((*range(0, 90, 10), 80), True, "one crowded read of nine is more"),
    ((*range(0, 100, 10), 90, 90, 90, 90), False, "a read of five events is one crowded read"),
    ((*range(0, 110, 10), 100, 110, 110), True, "two of twelve"),
    ((10, 10), True, "all in one read"),
]


@pytest.mark.parametrize(("at", "bursty", "sentence"), BURSTS, ids=[row[2] for row in BURSTS])
def test_bursty_above_a_tenth_of_the_reads(at: tuple[float, ...], bursty: bool, sentence: str) -> None:
    assert clock_of(*at).timing().bursty is bursty, sentence


LUMPS: list[tuple[Sequence[float], bool, str]] = [
    (range(500, 1500, 20), False, "a token each 20 ms"),
    ([500.0 + 0.05 * n for n in range(50)], True, "all at the end, in many reads"),
    ([500.0] * 8, True, "all in one read"),
    ([500.0] * 7, False, "of seven events nothing is said"),
    ([at for at in (400, 900, 1400) for _ in range(20)], True, "a proxy's buffer that fills three times"),
    ([at for at in range(0, 2000, 100) for _ in range(5)], False, "five tokens a step, one event each"),
    ([30_000 + 20.0 * n for n in range(64)], False, "a long prompt before a short answer"),
    ([100 + 0.4 * n for n in range(500)], False, "very fast, and most of its time is the answer's"),
]


@pytest.mark.parametrize(("at", "buffered", "sentence"), LUMPS, ids=[row[2] for row in LUMPS])
def test_an_answer_that_was_held_back(at: Sequence[float], buffered: bool, sentence: str) -> None:
    assert clock_of(*at).timing().buffered is buffered, sentence


SPREADS: list[tuple[tuple[float, ...], int, dict[int, int], str]] = [
    ((100, 900, 1100, 1900), 8, {50: 4, 51: 4}, "half in each second"),
    ((100, 200, 300, 1100), 100, {50: 75, 51: 25}, "in proportion to the events"),
    ((100, 1100, 2100), 1, {51: 1}, "one token is not divided"),
    ((100, 3100), 10, {50: 5, 53: 5}, "silent seconds get nothing"),
    ((100, 1100), 0, {}, "no token"),
    ((), 5, {}, "no event: nobody knows when"),
]


@pytest.mark.parametrize(("at", "tokens", "dealt", "sentence"), SPREADS, ids=[row[3] for row in SPREADS])
def test_tokens_go_to_the_seconds_of_their_events(
    at: tuple[float, ...], tokens: int, dealt: dict[int, int], sentence: str
) -> None:
    assert clock_of(*at, start=7.0, offset=43.0).spread(tokens) == dealt, sentence


def test_a_second_is_one_of_the_masters_clock() -> None:
    assert clock_of(100, 600, start=7.0, offset=43.5).seconds == {50: 1, 51: 1}


gaps = st.lists(st.integers(0, 3000), max_size=40)


@given(gaps, st.integers(0, 5000))
def test_spread_deals_whole_tokens_with_the_exact_sum_in_proportion(steps: list[int], tokens: int) -> None:
    at = [sum(steps[: n + 1]) for n in range(len(steps))]
    clock = clock_of(*at)
    dealt = clock.spread(tokens)
    assert sum(dealt.values()) == (tokens if steps else 0)
    assert all(isinstance(share, int) and share > 0 for share in dealt.values())
    assert set(dealt) <= set(clock.seconds)
    for second, events in clock.seconds.items():
        assert abs(dealt.get(second, 0) - tokens * events / clock.events) <= 1


@given(gaps, st.integers(0, 5000), st.integers(-100_000, 2_000_000_000))
def test_spread_does_not_depend_on_the_clocks_zero(steps: list[int], tokens: int, offset: int) -> None:
    at = [sum(steps[: n + 1]) for n in range(len(steps))]
    here = clock_of(*(each + 0.5 for each in at)).spread(tokens)  # half a millisecond from every second's edge
    there = clock_of(*(each + 0.5 for each in at), offset=float(offset)).spread(tokens)
    assert there == {second + offset: share for second, share in here.items()}


@given(gaps)
def test_what_a_timing_says_agrees_with_itself(steps: list[int]) -> None:
    at = [sum(steps[: n + 1]) for n in range(len(steps))]
    clock = clock_of(*at)
    timing = clock.timing()
    if timing.ttft_s is None or timing.e2e_s is None:
        assert not at
        return
    assert math.isclose(timing.ttft_s + sum(clock.gaps), timing.e2e_s, abs_tol=1e-9)
    assert len(clock.gaps) == len(set(at)) - 1
    assert all(gap > 0 for gap in clock.gaps)


def test_memory_is_a_number_a_read_and_a_count_a_second() -> None:
    clock = clock_of(*(n // 4 for n in range(40_000)))  # 10 s, a read a millisecond, four events a read
    assert clock.gaps.itemsize * len(clock.gaps) <= 80_000
    assert len(clock.seconds) == 10
    assert clock.events == 40_000


def test_nearest_rank() -> None:
    assert nearest_rank([], 50) is None
    assert nearest_rank([3.0], 1) == 3.0
    assert nearest_rank([1.0, 2.0], 50) == 1.0
    assert nearest_rank([1.0, 2.0], 51) == 2.0
    assert nearest_rank([float(n) for n in range(1, 21)], 95) == 19.0
    assert nearest_rank([float(n) for n in range(1, 1001)], 99) == 990.0
    assert nearest_rank([float(n) for n in range(1, 21)], 100) == 20.0


@given(
    st.lists(st.floats(0, 0.7), min_size=1, max_size=40),
    st.lists(st.integers(1, 10), min_size=1, max_size=10),
    st.booleans(),
)
def test_events_apart_count_as_one_by_one(gaps: list[float], sizes: list[int], answer: bool) -> None:
    """Also where two reads have one stamp, and over the ends of seconds."""
    stamps = [5.0 + at for at in accumulate(gaps)]
    single, grouped = TokenClock(5.0, 1000.3), TokenClock(5.0, 1000.3)
    for stamp in stamps:
        single.generated(stamp, answer=answer)
    at = 0
    for size in cycle(sizes):
        if at >= len(stamps):
            break
        grouped.generated_apart(stamps[at : at + size], answer=answer)
        at += size
    assert grouped.timing() == single.timing()
    assert grouped.seconds == single.seconds
    assert list(grouped.gaps) == list(single.gaps)
