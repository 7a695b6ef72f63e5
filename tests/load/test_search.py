"""The search for the most users that keep limits: which level decides next, and that known truths are found."""

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.load.course import Held, Kept
from loadband.load.ladder import Ladder
from loadband.load.search import BRACKET, MOST_HOLDS, SEARCHED_TO, Probe, answer_of, judge, next_probe, probes_of
from loadband.load.step import Step
from loadband.plan import Plan, parse_hold
from loadband.sim.profile import load
from loadband.slo import parse_slo
from tests.load.climbing import Run
from tests.load.virtual_holds import hold

JUDGED: list[tuple[str, Kept, tuple[bool, bool], str]] = [
    ("ttft_p95<=1s", Kept(1000, 10), (True, True), "surely fewer than 5 % miss"),
    ("ttft_p95<=1s", Kept(1000, 48), (True, False), "48 of 1000 may be 5 %"),
    ("ttft_p95<=1s", Kept(1000, 51), (False, False), "so may 51"),
    ("ttft_p95<=1s", Kept(1000, 90), (False, True), "9 % are not"),
    ("ttft_p95<=1s", Kept(20, 1), (True, False), "the 19th of 20 keeps it"),
    ("error_rate<=1%", Kept(100, 0), (True, False), "none of 100 proves no 1 %"),
    ("error_rate<=1%", Kept(300, 0), (True, True), "none of 300 does"),
    ("error_rate<=1%", Kept(100, 9), (False, True), "9 of 100 is more"),
    ("e2e_mean<=2s", Kept(100, 0, 150.0, 250.0), (True, True), "1.5 s, spread 0.5 s, of 100"),
    ("e2e_mean<=2s", Kept(4, 0, 7.8, 17.0), (True, False), "1.95 s of four"),
    ("e2e_mean<=2s", Kept(100, 0, 250.0, 650.0), (False, True), "2.5 s of 100"),
    ("e2e_mean<=2s", Kept(1, 0, 1.0, 1.0), (True, False), "one says little"),
    ("ttft_p95<=1s", Kept(), (False, False), "nothing seen is not kept"),
]


@pytest.mark.parametrize(("limit", "seen", "told", "sentence"), JUDGED, ids=[row[3] for row in JUDGED])
def test_a_limit_is_judged_by_what_was_measured(
    limit: str, seen: Kept, told: tuple[bool, bool], sentence: str
) -> None:  # fmt: skip
    assert judge(parse_slo(limit)[0], seen) == told, sentence


def kept(users: int, holds: int = 1, *, sure: bool = True) -> Probe:
    return Probe(users, holds, kept=True, sure=sure)


def broken(users: int, holds: int = 1, *, sure: bool = True) -> Probe:
    return Probe(users, holds, kept=False, sure=sure)


NEXT: list[tuple[list[Probe], int | None, str]] = [
    ([kept(1)], 2, "doubles"),
    ([kept(1, sure=False), kept(2, sure=False)], 4, "what lies far below need not be sure"),
    ([kept(4), broken(8)], 6, "halves in ratios"),
    ([kept(4), broken(8, sure=False)], 8, "not before the break is sure"),
    ([kept(4), broken(8, MOST_HOLDS, sure=False)], 6, "or was held often enough"),
    ([kept(40), broken(44)], None, "10 % is narrow enough"),
    ([kept(40), broken(45)], 42, "12 % is not"),
    ([kept(7), broken(8)], None, "no level lies between"),
    ([kept(40, sure=False), broken(44)], 40, "the kept end is made sure at the end"),
    ([kept(40, MOST_HOLDS, sure=False), broken(44)], None, "or held often enough"),
    ([broken(8)], 2, "broken at once: downwards"),
    ([broken(1)], None, "there is nothing below one user"),
    ([kept(SEARCHED_TO)], None, "kept as far as anybody asks"),
    ([kept(8), broken(4), kept(2)], 3, "the lowest break counts"),
]


@pytest.mark.parametrize(("probes", "level", "sentence"), NEXT, ids=[row[2] for row in NEXT])
def test_the_level_that_decides_most(probes: list[Probe], level: int | None, sentence: str) -> None:
    assert next_probe(probes, 2 * max(probe.users for probe in probes)) == level, sentence


LIMITS = parse_slo("ttft_p95<=1s,error_rate<=5%")


def of_users(users: int, *, misses: float) -> Held:
    """A hold of 400 requests, so many of which miss the first limit."""
    return Held(
        users, 10.0, ok=400, tokens=400 * users, e2e_sum_s=400.0, kept=(Kept(400, round(400 * misses)), Kept(400, 0))
    )


def search(comes_to: Callable[[Step], Held], first: int = 1, limits: str = "ttft_p95<=1s,error_rate<=5%") -> Ladder:
    """A whole search, up and down, through the ladder."""
    plan = Plan((first,), parse_hold("5s"), settle_s=0.0, warmup_s=0.0, find=limits)
    ladder = Ladder(plan)
    Run(ladder, comes_to=comes_to).until_finished()
    return ladder


@settings(deadline=None)
@given(true=st.integers(1, SEARCHED_TO - 1), first=st.integers(1, 200))
def test_any_end_is_bracketed_to_ten_percent(true: int, first: int) -> None:
    ladder = search(lambda step: of_users(step.target, misses=0.0 if step.target <= true else 0.5), first)
    answer = answer_of(ladder.held, LIMITS)
    assert answer.complete
    assert answer.kept is not None
    assert answer.kept <= true
    assert answer.broken is None or true < answer.broken
    if answer.broken is not None:
        assert answer.broken <= BRACKET * answer.kept or answer.broken - answer.kept == 1
    else:
        assert answer.kept * 2 > SEARCHED_TO
    assert (answer.surely_kept, answer.surely_broken) == (answer.kept, answer.broken)
    assert answer.levels == answer.holds <= 2 * math.log2(SEARCHED_TO) + 5


@settings(deadline=None)
@given(st.lists(st.floats(0, 0.12), min_size=1, max_size=40))
def test_a_search_ends_whatever_it_sees(misses: list[float]) -> None:
    seen = itertools.cycle(misses)
    by_step: dict[int, Held] = {}

    def comes_to(step: Step) -> Held:
        return by_step.setdefault(step.step, of_users(step.target, misses=next(seen)))

    ladder = search(comes_to)
    counts = [sum(held.users == users for held in ladder.held) for users in {held.users for held in ladder.held}]
    assert max(counts) <= MOST_HOLDS
    assert answer_of(ladder.held, LIMITS).complete


def test_a_step_down_is_drained_and_a_step_up_is_not() -> None:
    ladder = search(lambda step: of_users(step.target, misses=0.0 if step.target <= 5 else 0.5))
    assert [held.users for held in ladder.held] == [1, 2, 4, 8, 6, 5]
    assert ladder.repeat == 3, "8 -> 6 -> 5"


def test_a_level_that_cannot_be_held_ends_the_search_and_is_told() -> None:
    plan = Plan((1,), parse_hold("5s"), settle_s=0.0, warmup_s=0.0, find="ttft_p95<=1s")
    ladder = Ladder(plan)
    Run(ladder, most_users=3, comes_to=lambda step: of_users(step.target, misses=0.0)).until_finished()
    answer = answer_of(ladder.held, LIMITS[:1])
    assert ([held.users for held in ladder.held], answer.complete, answer.kept) == ([1, 2, 4], False, 2)
    assert answer.sentence().startswith("the search for ttft_p95<=1s ended early: N_SLO at least 2 users")


def test_holds_of_a_level_count_together() -> None:
    (probe,) = probes_of([of_users(8, misses=0.04), of_users(8, misses=0.03), Held(8)], LIMITS)
    assert (probe.holds, probe.kept, probe.sure) == (2, True, True), "28 of 800"


SENTENCES: list[tuple[list[Held], str]] = [
    ([of_users(8, misses=0.0), of_users(9, misses=0.2)],
     "N_SLO 8 users: kept there, broken at 9; interval 8 to 9 (ttft_p95<=1s,error_rate<=5%); 2 levels in 2 holds"),
    ([of_users(1, misses=0.2)],
     "N_SLO: not kept at any level held, down to 1 users (ttft_p95<=1s,error_rate<=5%); 1 levels in 1 holds"),
]  # fmt: skip


@pytest.mark.parametrize(("holds", "sentence"), SENTENCES, ids=["found", "nowhere"])
def test_the_answer_in_words(holds: list[Held], sentence: str) -> None:
    assert answer_of(holds, LIMITS).sentence() == sentence


TRUTHS = [("ttft_p95<=60ms", 32), ("e2e_mean<=1.5s", 30), ("ttft_p95<=50ms,error_rate<=1%", 25)]
"""Of the A100 profile: the most users that keep the limits, from 15 minutes of virtual time at each level."""


@pytest.mark.parametrize(("limits", "true"), TRUTHS, ids=[row[0] for row in TRUTHS])
def test_the_end_of_a_known_server_is_found_within_ten_percent(limits: str, true: int) -> None:
    profile, asked, seen = load("a100-qwen2.5-32b-q4"), parse_slo(limits), dict[int, Held]()

    def comes_to(step: Step) -> Held:
        if step.step not in seen:
            seen[step.step] = hold(profile, step.target, step.step, asked, measured_s=120.0)
        return seen[step.step]

    answer = answer_of(search(comes_to, limits=limits).held, asked)
    print(answer)
    assert answer.complete
    assert answer.kept is not None
    assert true / BRACKET <= answer.kept <= true * BRACKET
