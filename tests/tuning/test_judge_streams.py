"""Does it stream? Right findings from what a client saw: held back, in lumps, too fast to tell, as it should be."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.record import FailureClass
from loadband.tuning.doctor.check import Mark
from loadband.tuning.doctor.judge_streams import judge_streams
from loadband.tuning.doctor.seen import Seen


def seen(events: int, reads: int, ttft_s: float | None, spread_s: float, ticks: int | None = None) -> Seen:
    return Seen(
        asked_tokens=events, events=events, reads=reads, ttft_s=ttft_s, spread_s=spread_s, client_ticks=ticks
    )  # fmt: skip


CASES = [
    (seen(100, 100, 0.05, 2.0), 0.001, Mark.GOOD, "100 events in 100 reads", "a token at a time"),
    (seen(100, 1, 2.05, 0.0), 0.001, Mark.BAD, "held back", "all at the end, in one read"),
    (seen(100, 60, 2.05, 0.02), 0.001, Mark.BAD, "held back", "all at the end, in many reads"),
    (seen(252, 14, 0.9, 14.6), 0.001, Mark.BAD, "lumps", "a proxy's buffer"),
    (seen(100, 40, 0.05, 2.0), 0.001, Mark.WARN, "share a read", "a few events a read"),
    (seen(252, 2, 0.080, 0.007, 7), 0.0, Mark.UNKNOWN, "too busy", "3,000 tokens/s to a busy client"),
    (seen(252, 2, 0.080, 0.007, 70), 0.0, Mark.BAD, "held back", "3,000 tokens/s, and the client was there"),
    (seen(252, 20, 0.05, 0.8, 60), 0.0, Mark.UNKNOWN, "too busy", "lumps that may be the client's"),
    (seen(252, 20, 0.05, 0.8, 700), 0.0, Mark.BAD, "lumps", "lumps that are not"),
    (seen(1, 1, 0.05, 0.0), 0.0, Mark.UNKNOWN, "too short", "one event"),
    (seen(0, 0, None, 0.0), 0.0, Mark.UNKNOWN, "too short", "none"),
    (seen(20, 20, 0.42, 0.19), 0.4, Mark.GOOD, "20 events", "a slow link in front of a fast stream"),
    (seen(20, 1, 0.62, 0.0), 0.4, Mark.BAD, "held back", "a slow link and a buffer"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "floor_s", "mark", "words", "sentence"), CASES, ids=[row[4] for row in CASES])
def test_arrivals(what: Seen, floor_s: float, mark: Mark, words: str, sentence: str) -> None:
    check = judge_streams(what, floor_s)
    assert (check.mark, words in check.said) == (mark, True), f"{sentence}: {check}"
    assert (check.step != "") == (mark != Mark.GOOD)


def test_what_is_no_stream_says_so_and_what_fails_says_why() -> None:
    failed = replace(seen(0, 0, None, 0.0), failure_class=FailureClass.NOT_A_STREAM, message="one piece")
    assert judge_streams(failed, 0.0).said == "no stream: one piece"
    broken = judge_streams(replace(failed, failure_class=FailureClass.RESET, message="gone"), None)
    assert broken.mark == Mark.BAD
    assert "reset: gone" in broken.said


@given(
    st.integers(8, 500),
    st.floats(0.0011, 0.5),
    st.floats(0.0, 20.0),
    st.floats(0.0, 0.5),
)
def test_an_even_stream_is_never_blamed_however_slow_the_link_and_the_prompt(
    events: int, gap_s: float, prefill_gaps: float, floor_s: float
) -> None:
    spread_s = gap_s * (events - 1)
    ttft_s = floor_s + gap_s * min(prefill_gaps, events)
    assert judge_streams(seen(events, events, ttft_s, spread_s), floor_s).mark == Mark.GOOD


@given(st.integers(8, 500), st.floats(0.0011, 0.5), st.floats(0.0, 0.5))
def test_a_whole_answer_held_back_is_always_found(events: int, gap_s: float, floor_s: float) -> None:
    assert judge_streams(seen(events, 1, floor_s + gap_s * (events + 1), 0.0), floor_s).mark == Mark.BAD
