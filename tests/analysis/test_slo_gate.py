import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.analysis.level import Grade, Level, Measured, Numbers
from loadband.analysis.slo_gate import judge, slo_results
from loadband.slo import Limit, parse_slo
from tests.analysis.make_levels import LIMITS, level, outage

P99 = {1: 0.10, 2: 0.10, 4: 0.11, 8: 0.13, 16: 0.20, 32: 0.90, 64: 4.00}


def levels_of(slo: tuple[Limit, ...], values: dict[int, float] = P99, *, n: float | None = None) -> list[Level]:
    def measured(users: int) -> tuple[Measured, ...]:
        return tuple(Measured(limit, values[users], n) for limit in slo)

    return [Level(level(users, 10.0 * users).numbers, measured=measured(users)) for users in values]


@pytest.mark.parametrize(
    ("text", "result", "at", "between"),
    [
        ("ttft_p99<=500ms", "met", 16, (16, 32)),
        ("ttft_p99<=1s", "met", 32, (32, 64)),
        ("ttft_p99<=50ms", "missed", 64, None),
        ("ttft_p99<=5s", "met", 64, None),
    ],
)
def test_the_highest_level_that_keeps_a_limit(
    text: str, result: str, at: float, between: tuple[float, float] | None
) -> None:
    slo = parse_slo(text)
    (found,) = slo_results(levels_of(slo), slo, LIMITS)
    assert (found.result, found.judged_at) == (result, at)
    if between is None:
        assert found.n_slo is None
    else:
        assert found.n_slo is not None
        assert between[0] <= found.n_slo < between[1]


def test_why_there_is_no_upper_end() -> None:
    tight, loose = parse_slo("ttft_p99<=50ms"), parse_slo("ttft_p99<=5s")
    assert slo_results(levels_of(tight), tight, LIMITS)[0].n_slo_status == "none"
    assert slo_results(levels_of(loose), loose, LIMITS)[0].n_slo_status == "not_reached"


def test_a_level_that_was_never_held_has_nothing_to_judge_and_changes_nothing() -> None:
    slo = parse_slo("ttft_p99<=1s,ttft_p99<=1s@128")
    held = levels_of(slo)
    never = Level(Numbers(step=8, repeat=1, users=128.0), Grade().refuse("never held (ended by target_lost)"))
    found = slo_results([*held, never], slo, LIMITS)
    assert found[0] == slo_results(held, slo, LIMITS)[0]
    assert (found[1].result, found[1].reason) == (
        "undecided",
        "the level is not valid: never held (ended by target_lost)",
    )


@settings(deadline=None)
@given(st.floats(0.11, 3.0), st.floats(1.0, 3.0))
def test_a_looser_limit_never_ends_earlier(limit: float, factor: float) -> None:
    strict, loose = (parse_slo(f"ttft_p99<={value:.6f}s") for value in (limit, limit * factor))
    ends = [slo_results(levels_of(slo), slo, LIMITS)[0].n_slo or math.inf for slo in (strict, loose)]
    assert ends[1] >= ends[0] - 1e-9


def test_a_limit_with_users_is_judged_there_and_nowhere_else() -> None:
    slo = parse_slo("ttft_p99<=1s@64,ttft_p99<=1s@8,ttft_p99<=1s@24")
    found = slo_results(levels_of(slo), slo, LIMITS)
    assert [(each.result, each.judged_at) for each in found] == [("missed", 64), ("met", 8), ("undecided", None)]


def test_a_pinned_level_where_the_target_failed_is_missed() -> None:
    slo = parse_slo("ttft_p99<=1s@8")
    levels = levels_of(slo)
    levels[3] = levels[3].regraded(outage())
    assert slo_results(levels, slo, LIMITS)[0].result == "missed"


def test_all_free_limits_are_judged_at_the_same_level() -> None:
    """Latency is kept only low, throughput only high: the gate fails although each limit is kept somewhere."""
    slo = parse_slo("ttft_p99<=150ms,output_tok_s>=300")
    levels = [
        Level(each.numbers, measured=(Measured(slo[0], P99[int(each.users)]), Measured(slo[1], 10 * each.users)))
        for each in levels_of(slo)
    ]
    results = slo_results(levels, slo, LIMITS)
    assert {each.judged_at for each in results} == {64}
    assert sorted(each.result for each in results) == ["met", "missed"]
    assert results[1].n_slo is None


@pytest.mark.parametrize(
    ("text", "value", "n", "misses", "result"),
    [
        ("ttft_p95<=1s", 0.8, 400, 10, "met"),
        ("ttft_p95<=1s", 1.2, 400, 30, "missed"),
        ("ttft_p95<=1s", 0.8, 100, 4, "undecided"),
        ("ttft_p95<=1s", 0.8, 100, 0, "met"),
        ("ttft_p95<=1s", math.inf, 120, 20, "missed"),
        ("ttft_p99<=1s", 0.8, 300, 2, "undecided"),
        ("error_rate<=1%", 0.0, 30, 0, "met"),
        ("error_rate<=1%", 0.02, 100, 2, "undecided"),
        ("error_rate<=1%", 0.1, 100, 10, "missed"),
        ("tpot_mean<=50ms", 0.04, 30, None, "met"),
        ("output_tok_s>=100", 99.0, None, None, "missed"),
        ("output_tok_s>=100", None, None, None, "undecided"),
    ],
)
def test_one_limit_at_one_level(
    text: str, value: float | None, n: float | None, misses: float | None, result: str
) -> None:
    assert judge(Measured(parse_slo(text)[0], value, n, misses), LIMITS)[0] == result


def test_a_first_token_time_of_users_in_waves_judges_nothing() -> None:
    (limit,) = parse_slo("ttft_p95<=1s")
    assert judge(Measured(limit, 0.1, 500, 0, judgeable=False), LIMITS)[0] == "undecided"


def test_no_valid_level_decides_nothing() -> None:
    slo = parse_slo("ttft_p95<=1s")
    (found,) = slo_results([], slo, LIMITS)
    assert (found.result, found.n_slo_status) == ("undecided", "undecided")


def test_a_scenario_of_which_no_request_ended_is_said_as_that() -> None:
    (limit,) = parse_slo("long_context.e2e_mean<=1s")
    nothing = "no request of the scenario long_context ended there"
    assert judge(Measured(limit, None, 0, absent=True), LIMITS) == ("undecided", nothing)
    assert judge(Measured(limit, None, 10), LIMITS) == ("undecided", "e2e_mean was not measured")


def test_a_measured_value_stands_in_the_unit_of_its_limit() -> None:
    (limit,) = parse_slo("ttft_mean<=1ms")
    assert judge(Measured(limit, 0.0312, 200), LIMITS) == ("missed", "ttft_mean = 31.2 ms (n = 200)")
