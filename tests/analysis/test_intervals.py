import random
from dataclasses import replace

import numpy as np
import pytest

from loadband.analysis.book_end import book_end_of
from loadband.analysis.cost import Price
from loadband.analysis.level import HoldNoise, Level, Measured
from loadband.analysis.verdict import Facts, Verdict, judge
from loadband.analysis.verdict_json import as_json
from loadband.errors import ExitCode
from loadband.slo import parse_slo
from reports.sureness import edges, firsts, repeated_at_the_end, sureness
from tests.analysis.make_levels import LIMITS, ladder, level, verdict_of

SHARP = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 160.0, 32: 160.0, 64: 160.0}
TIED = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 150.0, 32: 189.0}
"""P = X^3 / N is the same at the last two levels."""


def climbs(xs: dict[int, float], repeats: int, cv: float = 0.02, seed: int = 1) -> list[Level]:
    draw = random.Random(seed)
    return [
        level(users, x * (1 + draw.gauss(0, cv)), repeat=repeat, step=repeat * 100 + users, ttft_p95_s=0.1)
        for repeat in range(1, repeats + 1)
        for users, x in xs.items()
    ]


def one_run(xs: dict[int, float], cv: float, rounds: float = 60.0) -> list[Level]:
    draws = {users: np.random.default_rng(users).standard_normal(200) * cv for users in xs}
    return [
        replace(each, noise=HoldNoise({"output_tok_s": draws[int(each.users)]}, -draws[int(each.users)], (), rounds))
        for each in ladder(xs, ttft_p95_s=0.1)
    ]


def test_repeats_give_intervals_around_every_edge() -> None:
    verdict = verdict_of(climbs(SHARP, 3))
    assert (verdict.sure.source, verdict.sure.replicates, verdict.confidence) == ("repeats", 200, "high")
    assert verdict.sure.support == 1.0
    for edge, value in (("operating", 16.0), ("low", verdict.operating.low), ("high", verdict.operating.high)):
        interval = verdict.sure.of(edge)
        assert interval.noise is not None and interval.grid is not None and value is not None
        assert interval.grid[0] < interval.noise[0] <= value <= interval.noise[1] < interval.grid[1]
    assert verdict.sure.of("operating").grid == (8, 32)
    assert verdict.sure.tight is not None


def test_the_same_levels_give_the_same_intervals() -> None:
    assert as_json(verdict_of(climbs(SHARP, 3))) == as_json(verdict_of(climbs(SHARP, 3)))


def test_more_noise_gives_wider_intervals() -> None:
    quiet, loud = (verdict_of(climbs(SHARP, 3, cv)).sure.of("low").noise for cv in (0.01, 0.06))
    assert quiet is not None and loud is not None
    assert loud[1] - loud[0] > 3 * (quiet[1] - quiet[0]) > 0


def test_two_repeats_earn_medium_and_no_tight_band() -> None:
    verdict = verdict_of(climbs(SHARP, 2))
    assert (verdict.sure.source, verdict.confidence, verdict.sure.tight) == ("repeats", "medium", None)


def test_one_run_knows_its_own_seconds_only() -> None:
    verdict = verdict_of(one_run(SHARP, 0.02))
    assert (verdict.sure.source, verdict.confidence) == ("within_run", "medium")
    assert "within-run noise only" in sureness(verdict)
    assert verdict.sure.of("low").noise is not None


def test_a_table_of_one_run_has_the_resolution_alone() -> None:
    verdict = verdict_of(ladder(SHARP))
    point = verdict.sure.of("operating")
    assert (point.noise, point.grid, verdict.sure.source) == (None, (8, 32), "none")
    assert "no noise interval: one run" in sureness(verdict)
    assert edges(verdict.sure) == ""


@pytest.mark.parametrize("levels", [climbs(TIED, 3, 0.04), one_run(TIED, 0.04)], ids=["repeats", "one run"])
def test_an_answer_that_noise_could_change_is_not_established(levels: list[Level]) -> None:
    verdict = verdict_of(levels)
    assert (verdict.operating.status, verdict.operating.users) == ("not_established", None)
    assert "replicates" in verdict.operating.reason
    assert verdict.sure.support is not None and verdict.sure.support < 0.8
    assert verdict.exit_code == ExitCode.UNANSWERED


def test_a_hold_too_short_has_no_interval_where_it_matters() -> None:
    short = [
        replace(each, noise=replace(each.noise, rounds=4.0)) if each.users == 16 and each.noise else each
        for each in one_run(SHARP, 0.02)
    ]
    verdict = verdict_of(short)
    assert verdict.sure.of("operating").noise is None
    assert verdict.confidence == "low"
    assert "too short to trust at 16 users (hold a level for 6 mean E2E or more)" in sureness(verdict)
    elsewhere = [
        replace(each, noise=replace(each.noise, rounds=4.0)) if each.users == 64 and each.noise else each
        for each in one_run(SHARP, 0.02)
    ]
    assert verdict_of(elsewhere).sure.of("operating").noise is not None


def slo_ladder(text: str, ttft: dict[int, float], noise: float) -> Verdict:
    (limit,) = slo = parse_slo(text)
    levels = []
    for each in one_run({users: 10.0 * users for users in ttft}, 0.01):
        assert each.noise is not None
        scatter = np.random.default_rng(int(each.users) + 99).standard_normal(200) * noise
        told = (Measured(limit, ttft[int(each.users)]),)
        levels.append(replace(each, measured=told, noise=replace(each.noise, values=(scatter,))))
    return judge(levels, slo, LIMITS, Facts())


def test_an_slo_ends_in_an_interval_and_its_lower_end_bounds_the_operating_point() -> None:
    verdict = slo_ladder("ttft_p95<=1s", {1: 0.1, 2: 0.1, 4: 0.2, 8: 0.4, 16: 0.7, 32: 2.0, 64: 8.0}, 0.1)
    end = verdict.slo[0].end
    assert end.users is not None and end.low is not None and end.high is not None
    assert 16 < end.low < end.users < end.high < 32
    assert (verdict.operating.limited_by, verdict.operating.users) == ("slo", end.low)
    assert verdict.operating.low == pytest.approx(0.8 * end.low)


def test_an_slo_kept_everywhere_by_a_hair_is_not_established() -> None:
    verdict = slo_ladder("ttft_p95<=1s", {1: 0.1, 2: 0.1, 4: 0.2, 8: 0.4, 16: 0.7, 32: 0.99}, 0.05)
    end = verdict.slo[0].end
    assert (end.status, end.users, end.high) == ("not_established", None, float("inf"))
    assert as_json(verdict)["slo"][0]["n_slo_high"] is None


def test_prices_by_hand() -> None:
    """4 accelerators at 2 an hour bring 1,000 tokens/s: 8 / 3.6 million tokens."""
    assert Price(2.0, 4).per_million(1000.0) == pytest.approx(2.2222, rel=1e-4)
    assert Price(2.0).per_million(None) is None
    verdict = judge(ladder(SHARP), (), LIMITS, Facts(price=Price(3.6)))
    assert verdict.cost_first is not None
    assert verdict.cost_first.users == 16
    assert verdict.cost_first.per_million == pytest.approx(6.25)
    assert "cost first: 16 users (6.25 per million output tokens)" in firsts(verdict)
    assert as_json(verdict)["levels"][0]["cost_per_million"] == 100.0


@pytest.mark.parametrize(("factor", "drifted"), [(1.01, False), (0.85, True)])
def test_the_level_at_the_end_tells_of_drift(factor: float, drifted: bool) -> None:
    levels = [*climbs(SHARP, 3), level(8, 80.0 * factor, repeat=3, step=999, ttft_p95_s=0.1)]
    verdict = verdict_of(levels)
    assert verdict.book_end is not None
    assert verdict.book_end.drifted is drifted
    assert verdict.confidence == ("low" if drifted else "high")
    assert ("the server drifted" in repeated_at_the_end(verdict)) is drifted


def test_a_last_climb_of_several_levels_is_no_book_end() -> None:
    assert book_end_of(climbs(SHARP, 3), "output_tok_s", None) is None
    assert book_end_of(ladder(SHARP), "output_tok_s", None) is None
