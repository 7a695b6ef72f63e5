"""Throughput of 0, no throughput at all, and nothing but failures: none of them is a sound level."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from tests.analysis.make_levels import ladder, level, verdict_of

RISING = {1: 50, 2: 98, 4: 190, 8: 340, 16: 400}
Found = tuple[str, float | None, float | None, str | None]


def without_counts(levels: Sequence[Level]) -> list[Level]:
    """As a plain table gives them: no requests, no errors."""
    unknown = {"requests": None, "ok": None, "failed": None, "error_rate": None}
    return [replace(each.renumbered(**unknown), server_failed=None) for each in levels]


def found(verdict: Verdict) -> Found:
    failure = verdict.failure
    return failure.status, failure.after, failure.at, failure.mode


@pytest.mark.parametrize("counted", [True, False])
def test_throughput_of_zero_at_the_top_is_a_collapse(counted: bool) -> None:
    levels = ladder({**RISING, 32: 0, 64: 0})
    verdict = verdict_of(levels if counted else without_counts(levels))
    assert found(verdict) == ("found", 16, 32, "collapse")
    assert [each.remark for each in verdict.levels[-2:]] == ["not valid", "not valid"]
    assert [each.grade.valid for each in verdict.levels] == [True] * 5 + [False] * 2
    assert verdict.linear_upto is not None
    assert verdict.linear_upto < 16


def test_one_last_level_of_zero_is_a_collapse_in_doubt() -> None:
    assert found(verdict_of(ladder({**RISING, 32: 0}))) == ("unconfirmed", 16, 32, "collapse")


def test_repeats_of_zero_confirm_each_other() -> None:
    repeated = [each.renumbered(repeat=n) for n in (1, 2) for each in ladder({**RISING, 32: 0})]
    assert found(verdict_of(repeated)) == ("found", 16, 32, "collapse")


def test_a_low_level_below_zero_confirms_it() -> None:
    assert found(verdict_of(ladder({**RISING, 32: 210, 64: 0}))) == ("found", 16, 32, "collapse")


def test_zero_between_sound_levels_is_a_hole_that_nothing_is_linear_across() -> None:
    verdict = verdict_of(ladder({**RISING, 4: 0}))
    assert found(verdict)[0] == "not_reached"
    assert not verdict.levels[2].grade.valid
    assert verdict.linear_upto == 2
    assert any("4 users" in note and "transient" in note for note in verdict.notes)


def test_zero_everywhere_or_at_the_first_level_is_no_collapse() -> None:
    nothing = verdict_of(ladder(dict.fromkeys(RISING, 0)))
    assert nothing.refused is not None
    first = verdict_of(ladder({**RISING, 1: 0}))
    assert found(first)[0] == "not_reached"
    assert not first.levels[0].grade.valid


def test_a_level_without_a_throughput_is_not_valid() -> None:
    verdict = verdict_of([*without_counts(ladder(RISING)), *without_counts([level(64, None)])])
    assert (verdict.levels[-1].grade.valid, verdict.levels[-1].remark) == (False, "not valid")
    assert "up to 16 users" in verdict.failure.reason


def test_one_row_without_requests_per_second_leaves_the_others_theirs() -> None:
    rows = [each.renumbered(output_tok_s=None, req_s=each.numbers.output_tok_s) for each in ladder(RISING)]
    verdict = verdict_of([*rows, level(64, None)])
    assert verdict.metric == "req_s"
    assert verdict.operating.users == 8


def test_nothing_but_failures_is_not_valid_and_nothing_is_linear() -> None:
    verdict = verdict_of(ladder(RISING, n=1000, failed=1000))
    assert found(verdict) == ("found", None, 1, "errors")
    assert verdict.exit_code == 3
    assert verdict.linear_upto is None


def test_linear_is_none_where_already_the_first_level_fails() -> None:
    verdict = verdict_of(ladder(RISING, n=1000, failed=300))
    assert found(verdict) == ("found", None, 1, "errors")
    assert verdict.linear_upto is None
