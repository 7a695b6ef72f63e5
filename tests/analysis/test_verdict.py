import json
from pathlib import Path

import pytest

from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Grade
from loadband.analysis.significant import number
from loadband.analysis.verdict import Facts
from loadband.analysis.verdict_json import as_json, pressure
from loadband.errors import ExitCode
from tests.analysis.build_run import Build, Server, build_run
from tests.analysis.make_levels import LIMITS, ladder, level, outage, verdict_of

SHARP = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 160.0, 32: 160.0, 64: 160.0}
LIMITED = Grade().refuse("event-loop lag", client_limited=True)


def test_a_known_server_is_found_where_it_saturates(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(2, 4, 8, 12, 16, 24, 48), server=Server(slots=12)))
    verdict = analyse_run(built.path, None, LIMITS).verdict
    assert (verdict.operating.status, verdict.operating.users) == ("found", 12)
    assert (verdict.saturation.after, verdict.saturation.at) == (12, 16)
    assert verdict.failure.status == "not_reached"
    assert verdict.linear_upto == pytest.approx(12, rel=0.05)
    assert verdict.cross_checks.n_star == pytest.approx(12, rel=0.1)
    assert verdict.exit_code == ExitCode.OK


def test_repeats_are_one_curve(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(4, 8, 16, 32, 48), hold_s=30.0, repeats=2))
    verdict = analyse_run(built.path, None, LIMITS).verdict
    assert len(verdict.levels) == 10
    assert verdict.curve is not None
    assert verdict.curve.cv is not None
    assert verdict.operating.users == 16


def test_pressure_lies_between_saturation_and_failure() -> None:
    verdict = verdict_of([*ladder(SHARP), level(128, 160, failed=200)])
    begin, end = pressure(verdict)
    assert begin is not None
    assert 16 <= begin < 32
    assert end == 128


def test_one_run_is_at_most_medium_and_marks_lower_it() -> None:
    assert verdict_of(ladder(SHARP, ttft_p95_s=0.1)).confidence == "medium"
    marked = [*ladder({n: x for n, x in SHARP.items() if n < 64}), level(64, 160, grade=Grade().mark("short", "short"))]
    verdict = verdict_of([level(n, x, ttft_p95_s=0.1) for n, x in SHARP.items()][:-1] + marked[-1:])
    assert verdict.confidence == "low"
    assert "short at 64" in verdict.confidence_reason


@pytest.mark.parametrize(
    ("levels", "facts", "code"),
    [
        (ladder(SHARP), Facts(), ExitCode.OK),
        (ladder({1: 10.0, 2: 20.0}), Facts(), ExitCode.UNANSWERED),
        (ladder({8: 10.0}), Facts(ladder=False), ExitCode.OK),
        ([level(8, 10, grade=LIMITED)], Facts(ladder=False), ExitCode.UNANSWERED),
        ([], Facts(), ExitCode.UNANSWERED),
        ([level(8, 10, grade=outage())], Facts(ladder=False), ExitCode.UNREACHABLE),
        ([], Facts(target_lost=True), ExitCode.UNREACHABLE),
        (ladder(SHARP), Facts(workers_lost=True), ExitCode.UNANSWERED),
        ([*ladder(SHARP), level(128, 100, grade=LIMITED)], Facts(), ExitCode.OK),
        ([*ladder({n: 10.0 * n for n in (1, 2, 4, 8)}), level(16, 90, grade=LIMITED)], Facts(), ExitCode.UNANSWERED),
        (ladder({n: 10.0 * n for n in (1, 2, 4, 8)}), Facts(), ExitCode.OK),
        ([level(1, 10, failed=500), level(2, 20, failed=500), level(4, 30, failed=500)], Facts(), ExitCode.OK),
    ],
    ids=[
        "band found", "two levels", "one level asked", "one level client-limited", "nothing", "one level, target died",
        "target lost at once", "worker lost", "client-limited beyond the answer", "client-limited where it matters",
        "a direction is an answer", "a failure point is an answer",
    ],
)  # fmt: skip
def test_exit_codes(levels: list[object], facts: Facts, code: ExitCode) -> None:
    assert verdict_of(levels, facts).exit_code == code  # type: ignore[arg-type]


def test_most_levels_unfit_is_a_refusal_not_a_guess() -> None:
    unfit = Grade().refuse("Little's law is off")
    levels = [level(n, 10.0 * n, grade=unfit if n > 2 else Grade()) for n in (1, 2, 4, 8, 16)]
    verdict = verdict_of(levels)
    assert verdict.refused == "3 of 5 levels are not valid: Little's law is off"
    assert (verdict.operating.users, verdict.curve, verdict.confidence) == (None, None, "low")


def test_levels_that_the_client_limited_do_not_refuse_the_rest() -> None:
    levels = [*ladder({1: 10, 2: 20, 4: 40, 8: 41, 16: 41}), *[level(n, 9, grade=LIMITED) for n in (32, 64, 96, 128)]]
    levels += [level(n, 9, grade=LIMITED) for n in (256, 512)]
    verdict = verdict_of(levels)
    assert verdict.refused is None
    assert verdict.operating.users == 4


@pytest.mark.parametrize("xs", [SHARP, {1: 10.0}, {}, {1: 10.0, 2: 11.0, 4: 11.0}])
def test_the_json_is_plain_and_has_no_infinity(xs: dict[int, float]) -> None:
    data = as_json(verdict_of(ladder(xs)))
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_numbers_have_six_digits_and_unknown_is_null() -> None:
    assert [number(value) for value in (1 / 3, 123456.789, None, float("inf"), float("nan"))] == [
        0.333333, 123457.0, None, None, None,
    ]  # fmt: skip


def test_advice_names_no_level_that_was_asked_for() -> None:
    """10 and 13 users were tried, and were not valid: they are no new levels."""
    missing = [level(users, None, grade=Grade().refuse("users were missing")) for users in (10, 13)]
    assert set(verdict_of([*ladder(SHARP), *missing]).advice).isdisjoint({10, 13})


def test_advice_splits_what_is_wide_and_goes_where_the_answer_is() -> None:
    assert set(verdict_of(ladder(SHARP)).advice) == {10, 13, 20, 25}
    assert all(users > 8 for users in verdict_of(ladder({1: 10, 2: 20, 4: 40, 8: 80})).advice)
    assert all(users < 20 for users in verdict_of(ladder({20: 13, 40: 12, 60: 11, 80: 10, 120: 9})).advice[:-1])
    fine = {10: 100.0, 11: 110.0, 12: 120.0, 13: 121.0, 14: 121.0, 16: 121.0}
    assert verdict_of(ladder(fine)).advice == ()
