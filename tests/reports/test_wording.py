import pytest

from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from reports.people import users
from reports.wording import summary
from tests.analysis.make_levels import ladder, level, outage, verdict_of

SHARP = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 12: 120.0, 16: 121.0, 32: 121.0}


def first(levels: list[Level]) -> str:
    return summary(verdict_of(levels))[0]


def test_the_sentence_people_come_for() -> None:
    levels = [level(n, x, n=1000, in_flight=n * 0.99) for n, x in SHARP.items()]
    assert first(levels) == (
        "Best 12–13 users (11.9–12.9 in flight), operating point 12. Optimum between the tested levels 8 and 16; no "
        "noise interval: one run, and nothing tells its seconds. Linear up to 12; saturated in (12, 16]. "
        "Failure not reached up to 32 users: 0 errors in 7,000 requests, below 0.04% (95 %)."
    )


@pytest.mark.parametrize(
    ("levels", "begins"),
    [
        (ladder({1: 10, 2: 20, 4: 40}), "Best not reached: 4 users or more"),
        (ladder({8: 10, 16: 10, 32: 10}), "Best at or below the first level of 8 users"),
        (ladder({1: 10, 2: 10, 4: 10}), "Best at 1 user: every further user only waits."),
        (ladder({1: 50, 2: 52, 4: 78, 8: 95}), "No single best number of users: several optima: 1 and 4"),
        (ladder({4: 40, 8: 80, 16: 82, 32: 82}), "Best not established: the optimum lies between"),
        (ladder({4: 40, 8: 80}), "No best number of users: needs at least 5 valid levels"),
        ([], "No level was held: give --steps"),
    ],
)
def test_every_answer_has_its_words(levels: list[Level], begins: str) -> None:
    assert first(levels).startswith(begins)


def test_one_user_is_best_though_two_bring_more() -> None:
    """Half as many tokens again for two and a half times the wait."""
    levels = [level(n, x, e2e_mean_s=e2e) for n, x, e2e in ((1, 10, 1.0), (2, 14.5, 2.5), (4, 15, 6.0))]
    assert first(levels).startswith(
        "Best at 1 user: 2 users bring 45% more output tokens/s, and wait longer than that is worth."
    )


def test_one_user_is_said_as_one() -> None:
    said = summary(verdict_of([level(1, 10, failed=500), level(2, 20, failed=500)]))[0]
    assert "Failure point at or below 1, errors: 50.0% of the requests failed at 1 user." in said
    assert "1 users" not in said


def test_one_level_says_its_number_and_what_it_cannot_say() -> None:
    assert first(ladder({8: 843.0})) == (
        "8 users: 843 output tokens/s. One level says nothing about a band: give --steps for a ladder."
    )
    assert "the level is not valid: the target failed" in first([level(8, 10, grade=outage())])


def test_failure_points_and_advice() -> None:
    said = summary(verdict_of([*ladder({1: 10, 2: 20, 4: 40, 8: 80}), level(16, 90, failed=160)]))
    assert "set by the failure point" in said[0]
    assert "Failure point in (8, 16], errors: 16.0% of the requests failed at 16 users." in said[0]
    assert said[-1].startswith("To narrow this, add the levels ")


@pytest.mark.parametrize(
    ("cv", "p99", "says"),
    [
        (0.2, 2.0, ": tokens/s varies by 20% against 10% at the operating point, TTFT p99 2 s against 1 s at the"),
        (0.2, 1.0, ": tokens/s varies by 20% against 10% at the operating point."),
        (0.1, 2.0, ": TTFT p99 2 s against 1 s at the operating point."),
        (0.104, 0.5, " users."),
    ],
)
def test_only_what_rose_speaks_of_pressure(cv: float, p99: float, says: str) -> None:
    levels = [
        level(n, x, output_tok_s_cv=cv if n > 16 else 0.1, ttft_p99_s=p99 if n > 16 else 1.0) for n, x in SHARP.items()
    ]
    (said,) = [sentence for sentence in summary(verdict_of(levels)) if sentence.startswith("Under pressure")]
    assert says in said


def test_a_refusal_is_the_whole_answer() -> None:
    assert summary(_refused()) == ["Refused: the levels come from different builds (a, b): give one table per build."]


def _refused() -> Verdict:
    return verdict_of([level(n, 10.0 * n, build=build) for n, build in ((1, "a"), (2, "a"), (4, "b"))])


@pytest.mark.parametrize(("count", "text"), [(12.0, "12"), (12.4, "12"), (3.7, "3.7"), (4.02, "4"), (1200.0, "1200")])
def test_users_as_a_person_says_them(count: float, text: str) -> None:
    assert users(count) == text


def test_in_flight_is_told_of_a_level_that_was_tested() -> None:
    upwards = [level(n, 10.0 * n, in_flight=n * 0.75) for n in (8, 16, 32)]
    assert first(upwards).startswith("Best not reached: 32 users or more (24 in flight at 32); more levels above")
    downwards = [level(n, 10.0, in_flight=n * 0.75) for n in (1, 2, 4)]
    assert first(downwards).startswith("Best at 1 user (0.75 in flight): every further user only waits.")
