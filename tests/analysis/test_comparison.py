"""Runs side by side: noise is not called a difference, and a difference is not called noise."""

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from loadband.analysis.analyse import Analysis
from loadband.analysis.comparison import Comparison, compare
from loadband.analysis.conditions import Conditions
from loadband.analysis.effects import BETWEEN, UNKNOWN, WITHIN, Effect, effects, half_width
from loadband.analysis.level import HoldNoise, Level
from loadband.analysis.operating_value import factor, operating_value
from loadband.analysis.regression_gate import parse_gates, rulings
from loadband.analysis.side import Noise, Side, side_of_results, side_of_run
from loadband.analysis.thresholds import Thresholds
from loadband.errors import UnansweredError, UsageError
from tests.analysis.build_run import Build, Server, build_run
from tests.analysis.make_levels import level, verdict_of

XS = {2: 200.0, 4: 390.0, 8: 760.0, 16: 900.0, 32: 905.0}


def conditions(**settings: str) -> Conditions:
    return Conditions({"model": "m"}, settings, {}, {})


def side(
    name: str, factors: list[float] | None = None, *, noise: float | None = 0.01, of: Conditions | None = None,
    **changes: float,
) -> Side:  # fmt: skip
    """A ladder, once for each factor on its throughput."""
    levels: list[Level] = []
    for repeat, by in enumerate(factors or [1.0], start=1):
        levels += [level(users, x * by, repeat=repeat, e2e_mean_s=users / x, **changes) for users, x in XS.items()]
    told = {} if noise is None else {place: {"output_tok_s": Noise(noise, 20)} for place in range(len(levels))}
    return Side(name, verdict_of(levels), of or conditions(), told)


def throughput_of(found: tuple[Effect, ...]) -> list[Effect]:
    return [each for each in found if each.metric == "output_tok_s"]


def test_the_interval_of_three_repeats_is_that_of_the_rule() -> None:
    """mean +- t s sqrt(1 + 1/k): for k = 3 it is +-4.97 s."""
    assert half_width(Noise(math.sqrt(1 + 1 / 3), 2), 1) == pytest.approx(4.97, abs=0.01)
    baseline = side("a", [0.96, 1.0, 1.04])
    (effect,) = throughput_of(effects([baseline], side("b", [1.1]), [8.0]))
    logs = [math.log(by) for by in (0.96, 1.0, 1.04)]
    spread = math.sqrt(sum((each - sum(logs) / 3) ** 2 for each in logs) / 2)
    assert effect.noise == BETWEEN
    assert math.log(1 + (effect.high or 0)) - math.log(1 + effect.change) == pytest.approx(4.97 * spread, rel=0.01)
    assert effect.counts is False


def test_further_runs_of_the_baseline_are_its_repeats() -> None:
    baseline = [side("a", [by]) for by in (0.99, 1.0, 1.01)]
    told = throughput_of(effects(baseline, side("b", [0.9]), [8.0, 16.0]))
    assert [each.noise for each in told] == [BETWEEN, BETWEEN]
    assert [each.counts for each in told] == [True, True]
    assert told[0].change == pytest.approx(-0.1, abs=0.001)


def test_one_run_each_goes_by_its_own_noise_and_says_so() -> None:
    told = throughput_of(effects([side("a")], side("b", [1.02]), [8.0]))
    assert (told[0].noise, told[0].counts) == (WITHIN, False)
    told = throughput_of(effects([side("a")], side("b", [1.2]), [8.0]))
    assert (told[0].noise, told[0].counts) == (WITHIN, True)
    told = throughput_of(effects([side("a")], side("b", [1.2], noise=None), [8.0]))
    assert (told[0].noise, told[0].counts, told[0].low) == (UNKNOWN, None, None)


def test_equal_runs_are_called_different_once_in_twenty_times_over_all_levels() -> None:
    draw, calls = random.Random(3), 0
    for _ in range(400):
        pair = []
        for name in "ab":
            made = side(name)
            levels = [each.renumbered(output_tok_s=(each.numbers.output_tok_s or 0) * math.exp(draw.gauss(0, 0.01)))
                      for each in made.verdict.levels]  # fmt: skip
            pair.append(Side(name, verdict_of(levels), conditions(), made.noise))
        told = throughput_of(effects([pair[0]], pair[1], [float(users) for users in XS]))
        calls += any(each.counts for each in told)
    assert 4 <= calls <= 36, "5 % of 400 is 20"


def test_failure_rates_change_by_points() -> None:
    one, other = side("a", n=1000, failed=10), side("b", n=1000, failed=60)
    (rate,) = [each for each in effects([one], other, [8.0]) if each.metric == "error_rate"]
    assert rate.change == pytest.approx(0.05)
    assert rate.counts is True
    (same,) = [each for each in effects([one], one, [8.0]) if each.metric == "error_rate"]
    assert same.counts is False


def noisy(xs: dict[int, float], error: float) -> Side:
    """A ladder whose holds scatter by so much, each by itself."""
    levels = []
    for users, x in xs.items():
        draws = np.random.default_rng(users).normal(0.0, error, 200)
        noise = HoldNoise(x={"output_tok_s": draws}, e2e=-draws, values=(), rounds=50.0)
        levels.append(replace(level(users, x, e2e_mean_s=users / x), noise=noise))
    return Side("a", verdict_of(levels), conditions())


def test_the_operating_point_has_an_interval_that_knows_the_choice() -> None:
    """Two equal curves whose best level is a toss-up: the factor between them must not be sure."""
    one = noisy({2: 200.0, 4: 390.0, 8: 700.0, 12: 852.0, 16: 960.0, 32: 965.0}, 0.02)
    drawn = operating_value(one)
    assert drawn.users in (12, 16)
    assert drawn.drawn.std() > 0.025, "wider than one level's noise: now and then another level is the best"
    between = factor(drawn, operating_value(one, 2))
    assert between is not None and between.counts is False and between.value == 1


def test_one_run_is_never_believed_to_less_than_a_percent() -> None:
    quiet = operating_value(noisy(dict(XS), 0.0001))
    assert quiet.drawn.std() == pytest.approx(0.01, rel=0.15)


def test_without_noise_there_is_a_factor_and_no_interval() -> None:
    between = factor(operating_value(side("a", noise=None)), operating_value(side("b", [2.0], noise=None)))
    assert between is not None
    assert (between.low, between.counts) == (None, None)
    assert between.value == pytest.approx(2.0)


def test_a_table_is_laid_over_and_what_it_leaves_unsaid_is_told() -> None:
    """Its answers are twice as long: 200 tokens instead of 100."""
    run = side("a", req_s=1.0)
    levels = [level(users, x, req_s=x / 200, e2e_mean_s=users / x * 200) for users, x in XS.items()]
    ours = [each.renumbered(req_s=(each.numbers.output_tok_s or 0) / 100) for each in run.verdict.levels]
    run = Side("a", verdict_of(ours), conditions(max_num_seqs="8"), run.noise)
    analysis = Analysis("table.csv", verdict_of(levels))
    told = compare([run, side_of_results(analysis, "table.csv")], [], [], None)
    assert told.notes[0] == "table.csv does not tell: model, max_num_seqs"
    assert told.notes[1].startswith("by its numbers it differs in: answer length 100 in a, 200 in table.csv")
    assert all(each.counts is None for each in told.effects_of(1, "output_tok_s"))


def test_unlike_runs_are_refused_by_name() -> None:
    one, other = side("a", of=conditions(max_num_seqs="8")), side("b", of=conditions(max_num_seqs="16"))
    with pytest.raises(UnansweredError, match=r"a and b are not alike: max_num_seqs 8 → 16.*--vary max_num_seqs"):
        compare([one, other], [], [], None)
    chain = compare([one, other], [], ["max_num_seqs"], None).chain
    assert [str(each) for each in chain[1].change] == ["max_num_seqs 8 → 16"]
    with pytest.raises(UsageError, match="no run tells max_seqs"):
        compare([one, other], [], ["max_seqs"], None)
    with pytest.raises(UnansweredError, match="b is no repeat of a: max_num_seqs 8 → 16"):
        compare([one, one], [other], ["max_num_seqs"], None)
    assert "max_num_seqs is the same in all runs" in compare([one, one], [], ["max_num_seqs"], None).notes


def test_a_chain_gives_factors_to_the_previous_and_to_the_first() -> None:
    sides = [side(name, [by], of=conditions(seqs=name)) for name, by in (("8", 1.0), ("16", 1.5), ("32", 1.8))]
    chain = compare(sides, [], ["seqs"], None).chain
    assert [link.to_first and link.to_first.value for link in chain] == [None, pytest.approx(1.5), pytest.approx(1.8)]
    assert chain[2].to_previous is not None and chain[2].to_previous.value == pytest.approx(1.2)
    at = compare(sides, [], ["seqs"], 32.0).chain
    assert [link.value for link in at] == [pytest.approx(905 * by) for by in (1, 1.5, 1.8)]
    assert at[2].to_previous is not None and at[2].to_previous.counts is True


def test_no_common_level_is_no_comparison() -> None:
    other = Side("b", verdict_of([level(3, 300.0)]), conditions())
    with pytest.raises(UnansweredError, match=r"no valid level is in all of them \(a 2, 4, 8, 16, 32; b 3\)"):
        compare([side("a"), other], [], [], None)
    with pytest.raises(UnansweredError, match="5 users is not a valid level of all of them: choose one of 2, 4"):
        compare([side("a"), side("b")], [], [], 5.0)


def gate(text: str, comparison: Comparison) -> list[str]:
    return [each.result for each in rulings(parse_gates(text), comparison)]


def test_a_gate_fails_on_what_is_beyond_the_limit_and_beyond_noise() -> None:
    worse = compare([side("a"), side("b", [0.9])], [], [], None)
    assert gate("output_tok_s<-5%", worse) == ["failed"]
    assert gate("output_tok_s<-15%", worse) == ["passed"]
    assert gate("output_tok_s@32<-5%,output_tok_s@5<-5%", worse) == ["failed", "undecided"]
    noisy = compare([side("a", noise=0.1), side("b", [0.9], noise=0.1)], [], [], None)
    assert gate("output_tok_s<-5%", noisy) == ["undecided"]
    assert gate("error_rate>+1%", worse) == ["passed"]
    assert gate("ttft_p95>+10%", worse) == ["undecided"], "not measured"


@pytest.mark.parametrize("text", ["", "speed<-5%", "output_tok_s<-5", "output_tok_s=-5%", "output_tok_s@x<-5%"])
def test_a_gate_that_is_none_is_a_users_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="is not understood: write metric<-5%"):
        parse_gates(text)


def test_runs_from_files(tmp_path: Path) -> None:
    """The server has 8 slots in one, 16 in the other: from 16 users on the second is faster, below it is not."""
    build = Build(levels=(2, 4, 8, 16, 32), hold_s=60.0)
    sides = []
    for slots, seed in ((8, 1), (8, 2), (16, 3)):
        facts = {"server_args": f"--max-num-seqs {slots}"}
        built = build_run(tmp_path / f"{slots}-{seed}", build, server=Server(slots=slots), seed=seed, run=facts)
        sides.append(side_of_run(built.path, built.path.name, Thresholds()))
    same = compare(sides[:2], [], [], None)
    assert not any(each.counts for each in same.effects[0])
    changed = compare([sides[0], sides[2]], [], ["max_num_seqs"], None)
    assert [each.users for each in changed.effects_of(1, "output_tok_s") if each.counts] == [16, 32]
    found = changed.chain[1].to_first
    assert found is not None and found.low is not None and found.high is not None
    assert found.low < 2.0 < found.high
