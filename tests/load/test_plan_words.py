"""What is said of plans that cannot be meant: each sentence tells what to write."""

import pytest

from loadband.errors import UsageError
from loadband.load.option_values import plan_of
from loadband.load.plans import parse_find
from loadband.load.purposes import check_purpose
from loadband.plan import Plan, parse_hold
from tests.load.test_option_words import parser


@pytest.mark.parametrize("text", ["", "ttft<1s", "foo<=1s"])
def test_limits_of_a_search_are_explained_without_a_level(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--find '.*' is not understood") as refused:
        parse_find(text)
    assert "@" not in str(refused.value), "a search refuses @users itself"


@pytest.mark.parametrize(
    ("levels", "rates", "said"),
    [((8, 9), None, "at most 4 too"), ((1,), None, "for example --steps 4,8"), ((), (0.5, 0.9), "at most 0.45 too")],
)
def test_half_of_the_load_is_a_level_that_can_be_given(
    levels: tuple[int, ...], rates: tuple[float, ...] | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        check_purpose(Plan(levels, parse_hold("5s"), rates=rates or (), recover=True))


@pytest.mark.parametrize("words", [["--stop-when=error_rate>=9%"], ["--until-failure"]])
def test_what_ends_a_plan_is_refused_at_a_page_without_one(words: list[str]) -> None:
    options = parser().parse_args(words)
    vars(options).update(headless=False, num_users=None, run_time=None, spawn_rate=None, class_picker=False)
    with pytest.raises(UsageError, match=r"ends a plan, and here Start and Stop say how long: give --steps"):
        plan_of(options)
