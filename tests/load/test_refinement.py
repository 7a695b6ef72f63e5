"""Levels around the optimum of a coarse pass: which they are, and that a server's known band is found with few."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.load.course import Held
from loadband.load.ladder import Ladder
from loadband.load.refinement import CLOSEST, around, best_of, next_coarse
from loadband.load.step import Step
from loadband.plan import Plan, parse_hold
from loadband.sim.profile import load
from tests.analysis.make_levels import level, verdict_of
from tests.load.climbing import Run
from tests.load.virtual_holds import hold


def held(users: int, power: float, *, failed: int = 0) -> Held:
    """A hold of 1000 successes whose X² / R is `power`."""
    return Held(users, 1.0, ok=1000, failed=failed, tokens=1000, e2e_sum_s=1e9 / power)


def coarse(powers: dict[int, float]) -> list[Held]:
    return [held(users, power) for users, power in powers.items()]


def test_power_is_throughput_squared_by_mean_time() -> None:
    assert Held(4, 10.0, ok=20, tokens=500, e2e_sum_s=40.0).power == 50.0**2 / 2.0
    assert Held(4, 10.0, ok=20, e2e_sum_s=40.0).power == 2.0**2 / 2.0, "without token counts by requests"
    assert [Held(4).power, Held(4, 10.0, failed=9).power] == [0.0, 0.0]


AROUND: list[tuple[dict[int, float], tuple[int, ...], str]] = [
    ({8: 10, 16: 50, 32: 100, 64: 40}, (19, 23, 32, 45, 54), "between the nearest levels below 90 %"),
    ({8: 10, 16: 95, 32: 100, 64: 40}, (11, 13, 23, 32, 45), "a band over two coarse levels"),
    ({8: 10, 16: 50, 32: 100}, (19, 21, 23, 27, 32), "never above what was asked for"),
    ({8: 100, 16: 50, 32: 10}, (2, 3, 4, 6, 8), "below the first level there is no danger"),
    ({1: 100, 2: 50}, (1,), "nothing lies between"),
    ({28: 80, 30: 95, 32: 100, 34: 95, 36: 80}, (32,), "the grid is fine already"),
    ({8: 0, 16: 0}, (), "nothing succeeded"),
]


@pytest.mark.parametrize(("powers", "levels", "sentence"), AROUND, ids=[row[2] for row in AROUND])
def test_the_levels_around_an_optimum(powers: dict[int, float], levels: tuple[int, ...], sentence: str) -> None:
    got = around(coarse({users: max(power, 0) or 1e-300 for users, power in powers.items()}) if max(powers.values())
                 else [Held(users, 1.0, failed=10) for users in powers])  # fmt: skip
    assert got == levels, sentence


def test_a_level_that_surely_fails_is_no_optimum_yet_bounds_the_neighbourhood() -> None:
    holds = [held(8, 10), held(16, 50), held(32, 100, failed=100)]
    assert best_of(holds) == 16
    assert max(around(holds)) < 32


def test_a_level_that_was_not_held_bounds_it_too() -> None:
    assert max(around([held(16, 50), held(32, 100), Held(64)])) < 64


@settings(deadline=None)
@given(st.dictionaries(st.integers(1, 500), st.floats(1, 1e6), min_size=1, max_size=9))
def test_whatever_was_held_few_new_levels_lie_apart_and_inside(powers: dict[int, float]) -> None:
    levels = around(coarse(dict(sorted(powers.items()))))
    best = best_of(coarse(powers))
    new = sorted({*levels} - {*powers})
    assert best in levels
    assert len(new) <= 4
    assert max(levels) <= max(powers)
    assert all(high / low > 1.0 for low, high in pairwise(levels))
    within = sorted({*new, *powers})
    close = [pair for pair in pairwise(within) if pair[1] / pair[0] < CLOSEST - 0.05 and pair[1] - pair[0] > 1]
    assert all(not {*pair} & {*new} for pair in close), "no closer than a measurement can tell"


def x(users: int, tokens_s: int, e2e_s: float) -> Held:
    return Held(users, 1.0, ok=10, tokens=tokens_s, e2e_sum_s=10 * e2e_s)


GROWING: list[tuple[list[Held], int | None, str]] = [
    ([x(1, 100, 1.0)], 2, "doubles"),
    ([x(1, 100, 1.0), x(2, 196, 1.0)], 4, "doubles while that doubles"),
    ([x(16, 1000, 1.0), x(32, 1600, 1.2)], 45, "carefully once it does not"),
    ([x(32, 1600, 1.2), x(45, 1500, 2.0)], None, "the optimum is passed"),
    ([x(1, 100, 1.0), Held(2)], None, "a level that could not be held"),
    ([x(1, 100, 1.0), Held(2, 1.0, failed=50)], None, "nothing succeeds"),
    ([x(1, 100, 1.0), Held(2, 1.0, ok=900, failed=100, tokens=900, e2e_sum_s=9)], None, "too much fails"),
    ([x(1024, 100, 1.0)], None, "far enough"),
]


@pytest.mark.parametrize(("holds", "level", "sentence"), GROWING, ids=[row[2] for row in GROWING])
def test_a_climb_that_grows(holds: list[Held], level: int | None, sentence: str) -> None:
    assert next_coarse(holds) == level, sentence


def refining(powers: dict[int, float], repeats: int = 1) -> list[Step]:
    """The steps of a run over a server whose X² / R is straight between these, in the logarithm of users."""
    plan = Plan((1, 16, 32, 64), parse_hold("5s"), settle_s=0.0, warmup_s=0.0, refine=True, repeats=repeats)
    return Run(Ladder(plan), comes_to=lambda step: held(step.target, powers.get(step.target, 99.0))).until_finished()


def test_the_fine_levels_are_steps_like_others_drained_before() -> None:
    steps = refining({1: 1, 16: 50, 32: 100, 64: 40})
    assert [(step.step, step.repeat, step.target) for step in steps] == [
        (1, 1, 1), (2, 1, 16), (3, 1, 32), (4, 1, 64),
        (5, 2, 19), (6, 2, 23), (7, 2, 32), (8, 2, 45), (9, 2, 54),
    ]  # fmt: skip
    assert [step.first for step in steps[4:6]] == [0, 19], "the users went home in between"


def test_repeats_are_of_the_fine_levels() -> None:
    steps = refining({1: 1, 16: 50, 32: 100, 64: 40}, repeats=3)
    assert [step.target for step in steps] == [1, 16, 32, 64, *[19, 23, 32, 45, 54] * 3]
    assert [step.repeat for step in steps] == [1] * 4 + [2] * 5 + [3] * 5 + [4] * 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_band_of_a_known_server_is_found_with_few_levels(seed: int) -> None:
    """Its truth (docs/simulator.md): best at 31, P at least 90 % from 25 to 38, the engine dies at 60."""
    profile, seen = load("a100-qwen2.5-32b-q4"), dict[int, Held]()

    def comes_to(step: Step) -> Held:
        if step.step not in seen:
            seen[step.step] = hold(profile, step.target, 1000 * seed + step.step)
        return seen[step.step]

    plan = Plan((1,), parse_hold("60s"), settle_s=0.0, warmup_s=0.0, refine=True, grows=True)
    steps = Run(Ladder(plan), comes_to=comes_to).until_finished()
    levels = [step.target for step in steps]
    print(levels)
    assert len(levels) < 15
    assert max(levels) < 60, "a server is not killed to find where it runs best"
    found = verdict_of([
        level(
            each.users, each.tokens / (each.seconds or 1), e2e_mean_s=each.e2e_sum_s / each.ok, n=each.ok, step=number
        )
        for number, each in seen.items()
    ])  # fmt: skip
    assert found.operating.status == "found"
    tested = sorted({*levels})
    assert found.operating.low is not None
    assert found.operating.high is not None
    assert _levels_apart(tested, found.operating.low, 25) <= 1
    assert _levels_apart(tested, found.operating.high, 38) <= 1
    assert found.operating.users is not None
    assert _levels_apart(tested, found.operating.users, 31) <= 1


def _levels_apart(tested: list[int], found: float, true: float) -> int:
    """Tested levels that lie strictly between two edges."""
    return sum(min(found, true) < users < max(found, true) for users in tested)
