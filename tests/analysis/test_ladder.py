from dataclasses import replace

import pytest

from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import Grade
from tests.analysis.make_levels import LIMITS, ladder, level


def test_a_first_level_slower_than_the_next_is_cold() -> None:
    cold = check_ladder([level(1, 10, ttft_p95_s=0.3), level(2, 20, ttft_p95_s=0.1)], LIMITS)
    warm = check_ladder([level(1, 10, ttft_p95_s=0.19), level(2, 20, ttft_p95_s=0.1)], LIMITS)
    assert [each.grade.valid for each in cold] == [False, True]
    assert all(each.grade.valid for each in warm)


def test_errors_that_only_the_first_level_has_are_cold() -> None:
    cold = check_ladder([level(1, 10, failed=30, ttft_p95_s=0.1), level(2, 20, ttft_p95_s=0.1)], LIMITS)
    everywhere = check_ladder([level(n, 10.0 * n, failed=30, ttft_p95_s=0.1) for n in (1, 2)], LIMITS)
    assert [each.grade.valid for each in cold] == [False, True]
    assert all(each.grade.valid for each in everywhere)


@pytest.mark.parametrize("grade", [Grade(), Grade().refuse("no request succeeded")])
def test_errors_that_the_next_level_has_too_are_no_cold_start(grade: Grade) -> None:
    levels = [level(1, 10, failed=30), level(2, 20, failed=40, grade=grade), level(4, 40)]
    assert check_ladder(levels, LIMITS)[0].grade.valid


def test_the_next_clean_level_is_not_one_that_is_not_valid() -> None:
    broken = level(2, 20, ttft_p95_s=0.01, grade=Grade().refuse("users were missing"))
    levels = check_ladder([level(1, 10, ttft_p95_s=0.3), broken, level(4, 40, ttft_p95_s=0.2)], LIMITS)
    assert levels[0].grade.valid


def test_without_first_token_times_cold_is_not_checked() -> None:
    assert "cold" in check_ladder(ladder({1: 10, 2: 20}), LIMITS)[0].grade.not_checked


def test_a_mix_that_differs_by_more_than_chance_is_marked() -> None:
    levels = [replace(level(n, 10.0 * n), mix={"a": 0.9, "b": 0.1}) for n in (1, 2, 4)]
    other = replace(level(8, 80), mix={"a": 0.8, "b": 0.2})
    few = replace(level(16, 90, n=10), mix={"a": 0.8, "b": 0.2})
    checked = check_ladder([*levels, other, few], LIMITS)
    assert ["mix" in each.grade.marks for each in checked] == [False, False, False, True, False]


def test_one_slow_request_of_few_does_not_make_a_level_cold() -> None:
    few = level(1, 10, n=14, ttft_p90_s=0.15, ttft_p95_s=0.5)
    many = level(1, 10, n=400, ttft_p90_s=0.15, ttft_p95_s=0.5)
    warm = level(2, 20, ttft_p95_s=0.1)
    assert check_ladder([few, warm], LIMITS)[0].grade.valid
    assert not check_ladder([many, warm], LIMITS)[0].grade.valid
