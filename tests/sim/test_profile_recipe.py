"""The recipe of docs/simulator.md for a profile of one's own: followed against a known engine, it gives that engine."""

import dataclasses
from statistics import fmean

import pytest

from loadband.sim.profile import Profile, StepTime, load
from loadband.sim.virtual import Asked, Load, VirtualRun, closed_loop

SHORT, LONG = 100, 2000
ANSWERS = (64, 192)
MEAN_ANSWER = 128


def times_ms(profile: Profile, users: int, prompt_tokens: int) -> tuple[float, float]:
    """Mean TTFT and mean TPOT, as a step table has them."""
    ttfts: list[float] = []
    tpots: list[float] = []

    def watch(asked: Asked) -> None:
        ttfts.append(asked.stamps[0] - asked.asked_at)
        tpots.append((asked.stamps[-1] - asked.stamps[0]) / (len(asked.stamps) - 1))

    asked = Load((prompt_tokens, prompt_tokens), ANSWERS, ignore_eos=True)
    VirtualRun(profile, asked, 1, watch).closed(users, 0.0, 120.0)
    return fmean(ttfts) * 1e3, fmean(tpots) * 1e3


def recipe(profile: Profile) -> StepTime:
    """The page's table, row by row."""
    ttft_short, tpot_short = times_ms(profile, 1, SHORT)
    ttft_long, tpot_long = times_ms(profile, 1, LONG)
    prefill = (ttft_long - ttft_short) / (LONG - SHORT)
    context = (tpot_long - tpot_short) / (LONG - SHORT)
    each = (times_ms(profile, 16, SHORT)[1] - tpot_short) / 15
    sequence = each - prefill * SHORT / MEAN_ANSWER - context * (SHORT + MEAN_ANSWER / 2)
    return StepTime(tpot_short - each, prefill, max(sequence, 0.0), max(context, 0.0))


@pytest.mark.parametrize("name", ["vllm-small", "ascend-950pr-qwen3.5-4b"])
def test_the_recipe_finds_the_constants_and_the_throughput(name: str) -> None:
    true = load(name)
    found = recipe(true)
    for key, within in (
        ("base_ms", 0.02),
        ("prefill_token_ms", 0.05),
        ("sequence_ms", 0.05),
        ("context_token_ms", 0.3),
    ):
        assert getattr(found, key) == pytest.approx(getattr(true.step, key), rel=within), key
    mine = dataclasses.replace(true, step=found)
    for users in (24, 48):
        wanted, given = (closed_loop(profile, users, Load(), measured_s=120.0) for profile in (true, mine))
        assert given.output_tok_s == pytest.approx(wanted.output_tok_s, rel=0.03)
        assert given.ttft_mean_s == pytest.approx(wanted.ttft_mean_s, rel=0.05)
