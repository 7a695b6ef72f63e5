"""Users who rest, users who come all the time: what is a level, what only an indication, what says nothing.

Of a queue of known capacity everything is known: 16 slots, answers of 1 s; below 16 users X = N, above it X = 16 and
R = N / 16.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.virtual_run import virtual_ramp
from loadband.analysis.analyse import Analysis, analyse_locust, analyse_run
from loadband.analysis.course import Course, rests_of
from loadband.analysis.ramp import climb_of
from loadband.analysis.ramp_reading import rounded_down
from loadband.analysis.thresholds import Thresholds
from loadband.errors import UnansweredError
from reports.ramp_words import ramp_sentences
from reports.wording import answer
from tests.analysis.build_run import EPOCH, Server, build_run

LIMITS = Thresholds()
SLOTS = 16


def course(users: list[float], answer_s: float = 1.0, slots: int = SLOTS) -> Course:
    """One row a second of the known queue."""
    told = np.array(users, dtype=np.float64)
    e2e = answer_s * np.maximum(told / slots, 1.0)
    ended = np.concatenate([[0.0], np.cumsum(told / e2e)])[:-1]
    spent = np.concatenate([[0.0], np.cumsum(told)])[:-1]
    return Course(EPOCH + np.arange(told.size, dtype=np.float64), told, ended, spent, ended)


def even(rate: float, top: int) -> list[float]:
    """Users who come one by one."""
    return [float(1 + int(second * rate)) for second in range(int(top / rate))]


def requests_of(course: Course) -> pd.DataFrame:
    """The requests behind a course, evenly within each second."""
    rows = [
        {"ended_at": at + (place + 0.5) / max(int(more), 1), "status": "ok", "e2e_s": 1.0}
        for at, more in zip(course.at, np.diff(np.floor(course.ended)), strict=False)
        for place in range(int(more))
    ]
    return pd.DataFrame(rows)


def test_a_rest_is_settled_and_does_not_see_the_next_users() -> None:
    told = course([8.0] * 60 + [16.0] * 60)
    first, second = rests_of(told, requests_of(told))
    assert (first.users, first.repeat, second.users, second.repeat) == (8, 1, 16, 1)
    assert first.hold is not None
    assert (first.hold.begin - EPOCH, first.hold.end - EPOCH) == (2.0, 59.0)
    assert second.hold is not None
    assert (second.hold.begin - EPOCH, second.hold.end - EPOCH) == (62.0, 119.0)


def test_going_down_begins_another_repeat() -> None:
    told = course([8.0] * 40 + [16.0] * 40 + [8.0] * 40)
    assert [(step.users, step.repeat) for step in rests_of(told, requests_of(told))] == [(8, 1), (16, 1), (8, 2)]


@pytest.mark.parametrize(("rate", "rests"), [(1.0, 0), (0.1, 0), (0.05, 0), (0.02, 20)])
def test_users_who_come_one_by_one_rest_only_where_they_stay_for_half_a_minute(rate: float, rests: int) -> None:
    told = course(even(rate, 20))
    found = rests_of(told, requests_of(told))
    assert len([step for step in found if (step.users or 0) > 1]) == max(rests - 1, 0)


def test_a_short_stay_after_a_climb_is_a_rest() -> None:
    told = course([*even(1.0, 20), *[20.0] * 15])
    assert [step.users for step in rests_of(told, requests_of(told))] == [20]


def test_bins_hold_thirty_requests_and_grow_by_a_tenth() -> None:
    climb = climb_of(course(even(0.2, 40)))
    assert climb is not None
    for each, above in pairwise(climb.bins):
        assert each.between[0] <= each.users <= each.between[1] == above.between[0]
        assert each.between[1] >= 1.1 * each.between[0]
        rate = min(each.users, SLOTS)
        assert each.hold.length * rate >= 0.95 * 30


def test_a_steady_ramp_is_readable_from_ten_times_what_comes_within_an_answer() -> None:
    """0.5 users/s and answers of 1 s: 10 % of N within one from 5 users on; in narrow bins of 30 requests from 8 on."""
    climb = climb_of(course(even(0.5, 64)))
    assert climb is not None
    lowest = climb.readable[0]
    assert lowest.between[0] == pytest.approx(8, abs=2)
    assert all(each.spawn_rate <= 0.1 * each.users / max(each.users / SLOTS, 1) + 1e-9 for each in climb.readable)


def test_the_rate_that_would_be_readable_is() -> None:
    """What a ramp too fast proposes: below that rate everything from a quarter of the users on is read."""
    fast = climb_of(course(even(8.0, 64)))
    assert fast is not None
    assert fast.readable_rate is not None
    assert fast.readable_rate < 8.0
    slow = climb_of(course(even(0.9 * rounded_down(fast.readable_rate), 64)))
    assert slow is not None
    assert slow.readable[0].users <= 0.25 * 64 * 1.1


@given(st.floats(min_value=1e-4, max_value=1e4))
def test_a_proposed_rate_is_never_more_than_what_was_found(rate: float) -> None:
    assert 0.9 * rate <= rounded_down(rate) <= rate


@given(st.lists(st.integers(min_value=0, max_value=50), max_size=200))
def test_any_course_is_cut_without_overlap(users: list[int]) -> None:
    climb = climb_of(course([float(each) for each in users]))
    for each, above in pairwise(() if climb is None else climb.bins):
        assert each.hold.begin < each.hold.end == above.hold.begin or each.hold.end < above.hold.begin


# The whole way: the simulator's known truth (docs/simulator.md: best at 31, P at least 90 % from 25 to 38, end at 60).


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    path = tmp_path_factory.mktemp("ramp") / "run"
    virtual_ramp("a100-qwen2.5-32b-q4", path, 64, 0.25)
    return analyse_run(path, None, LIMITS)


def test_a_ramp_indicates_the_true_band_and_the_true_end(read: Analysis) -> None:
    ramp = read.verdict.ramp
    assert ramp is not None
    assert ramp.status == "found"
    assert ramp.low == pytest.approx(25, abs=2)
    assert ramp.high == pytest.approx(38, abs=3)
    assert ramp.users is not None
    assert 26 <= ramp.users <= 36
    assert ramp.failure.mode == "outage"
    assert ramp.failure.after is not None
    assert ramp.failure.at is not None
    assert ramp.failure.after <= 60 <= ramp.failure.at
    assert all("ramp" in level.grade.marks for level in ramp.levels)


def test_it_never_sounds_like_levels(read: Analysis) -> None:
    verdict, said = read.verdict, answer(read)
    assert verdict.levels == ()
    assert (verdict.operating.users, verdict.failure.at, verdict.confidence) == (None, None, "low")
    assert verdict.exit_code == 0
    assert said[0].startswith("Indication from a ramp, not a measurement of levels: the best is about 2")
    assert "failure after 5" in said[0]
    assert "To confirm it: --steps 1" in said[1]
    assert not any(sentence.startswith("Best ") for sentence in said)


def test_a_ramp_too_fast_says_which_would_be_readable(tmp_path: Path) -> None:
    virtual_ramp("vllm-small", tmp_path / "run", 60, 8.0)
    verdict = analyse_run(tmp_path / "run", None, LIMITS).verdict
    assert verdict.ramp is not None
    assert verdict.ramp.status == "undecided"
    assert verdict.exit_code == 3
    (sentence,) = ramp_sentences(verdict)
    assert sentence.startswith("Nothing can be read from the ramp at ")
    assert "a spawn rate below " in sentence
    assert sentence.endswith(" users/s would be readable.")


def test_levels_that_rested_are_a_ladder(tmp_path: Path) -> None:
    """A run whose users rested five times, without a plan: the same verdict as with one."""
    built = build_run(tmp_path / "run", levels=(2, 4, 8, 16, 32), server=Server(slots=8), run={"plan": None})
    planned = analyse_run(
        build_run(tmp_path / "with", levels=(2, 4, 8, 16, 32), server=Server(slots=8)).path, None, LIMITS
    )
    (built.path / "steps.csv").write_text((built.path / "steps.csv").read_text().split("\n", 1)[0] + "\n")
    verdict = analyse_run(built.path, None, LIMITS).verdict
    assert [level.users for level in verdict.levels] == [2, 4, 8, 16, 32]
    assert verdict.ramp is None
    assert verdict.exit_code == 0
    assert verdict.operating.users == planned.verdict.operating.users
    for mine, theirs in zip(verdict.levels, planned.verdict.levels, strict=True):
        assert mine.numbers.output_tok_s == pytest.approx(theirs.numbers.output_tok_s or 0, rel=0.05)


def locust_ramp(path: Path, rate: float, answer_ms: int) -> Path:
    """Locust's history of a ramp to 64 users before the known queue."""
    head = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time\n"
    told = course(even(rate, 64), answer_ms / 1000)
    spent = np.divide(told.spent_s * 1000, told.ended, out=np.zeros(told.at.size), where=told.ended > 0)
    rows = zip(told.at, told.users, told.ended, spent, strict=True)
    lines = [f"{at:.0f},{users:.0f},,Aggregated,{ended:.0f},0,{mean}\n" for at, users, ended, mean in rows]
    (path / "x_stats_history.csv").write_text(head + "".join(lines))
    return path / "x"


def test_locusts_own_files_show_the_knee(tmp_path: Path) -> None:
    """X = N up to 16 and flat above: P = X^2 / R is largest at 16, and falls as 1 / N."""
    ramp = analyse_locust(locust_ramp(tmp_path, 0.25, 1000), None, None, LIMITS).verdict.ramp
    assert ramp is not None
    assert ramp.users == pytest.approx(16, abs=1.6)
    assert ramp.metric == "req_s"


def test_locusts_files_of_a_fast_ramp_say_which_would_do(tmp_path: Path) -> None:
    with pytest.raises(UnansweredError, match=r"as a ramp, .* a spawn rate below [\d.]+ users/s would be readable"):
        analyse_locust(locust_ramp(tmp_path, 4.0, 4000), None, None, LIMITS)
