import math

import numpy as np
import pandas as pd
import pytest

from loadband.analysis.hold_noise import cut, hold_noise
from loadband.analysis.measure import HoldData
from loadband.analysis.windows import Hold
from loadband.slo import parse_slo
from tests.analysis.make_levels import LIMITS

COLUMNS = ("scenario", "status", "failure_class", "ended_at", "e2e_s", "ttft_s", "tpot_s", "itl_p99_s")


def hold_of(tokens: list[float], requests: list[tuple[float, float]], failed: list[float] | None = None) -> HoldData:
    """Tokens of each second from 0; requests as (end, time to first token), each of 1 s."""
    rows = [("a", "ok", "", at, 1.0, ttft, 0.02, 0.03) for at, ttft in requests]
    rows += [("a", "failed", "reset", at, math.nan, math.nan, math.nan, math.nan) for at in failed or ()]
    seconds = pd.DataFrame(
        {"second": np.arange(len(tokens)), "output_tokens_ok": tokens, "output_tokens_cut": 0.0, "weight": 1.0}
    )  # fmt: skip
    return HoldData(Hold(0.0, float(len(tokens))), pd.DataFrame(rows, columns=list(COLUMNS)), seconds, {})


def noisy(cv: float, seconds: int = 400, seed: int = 1) -> HoldData:
    draw = np.random.default_rng(seed)
    ends = np.sort(draw.uniform(0, seconds, seconds * 5))
    tokens = 100 * (1 + cv * draw.standard_normal(seconds))
    return hold_of(list(tokens), list(zip(ends, draw.lognormal(-2, 0.5, ends.size), strict=True)))


def test_independent_seconds_scatter_as_their_mean_does() -> None:
    noise = hold_noise(noisy(0.2), 1.0, (), LIMITS, 1)
    assert noise is not None
    assert float(noise.x["output_tok_s"].std()) == pytest.approx(0.2 / math.sqrt(400), rel=0.25)
    assert noise.rounds == 400


def test_seconds_that_go_together_scatter_more() -> None:
    draw = np.random.default_rng(2)
    shocks, series = draw.standard_normal(600), [0.0]
    for shock in shocks:
        series.append(0.9 * series[-1] + shock)
    data = hold_of(list(100 + 3 * np.array(series[1:])), [(at + 0.5, 0.1) for at in range(600)])
    noise = hold_noise(data, 1.0, (), LIMITS, 1)
    assert noise is not None
    independent = 3 * float(np.std(series)) / 100 / math.sqrt(600)
    assert float(noise.x["output_tok_s"].std()) > 2 * independent  # of long runs 4.4 times, sqrt((1 + 0.9) / (1 - 0.9))


def test_the_same_step_draws_the_same_and_another_does_not() -> None:
    one, same, other = (hold_noise(noisy(0.2), 1.0, (), LIMITS, step) for step in (1, 1, 2))
    assert one is not None and same is not None and other is not None
    assert list(one.x["output_tok_s"]) == list(same.x["output_tok_s"])
    assert list(one.x["output_tok_s"]) != list(other.x["output_tok_s"])


@pytest.mark.parametrize("tokens", [[], [10.0, 10.0, 10.0]])
def test_a_hold_of_a_few_seconds_cannot_be_cut(tokens: list[float]) -> None:
    assert hold_noise(hold_of(tokens, [(1.0, 0.1)]), 1.0, (), LIMITS, 1) is None


def test_a_hold_in_which_nothing_ended_has_no_noise() -> None:
    assert hold_noise(hold_of([10.0] * 60, []), None, (), LIMITS, 1) is None


def test_a_percentile_scatters_and_a_steady_one_does_not() -> None:
    slo = parse_slo(
        "ttft_p95<=1s,e2e_mean<=2s,error_rate<=1%,output_tok_s>=10,a.ttft_p50<=1s,b.ttft_p95<=1s,itl_p99<=1s"
    )
    noise = hold_noise(noisy(0.1), 1.0, slo, LIMITS, 1)
    assert noise is not None
    p95, e2e, errors, rate, p50, other, gaps = (float(values.std()) for values in noise.values)
    assert 0.01 < p95 < 0.05  # 2,000 values with ln sd 0.5: the p95's own is about 0.024
    assert p50 < p95
    assert (e2e, errors, other, gaps) == pytest.approx((0.0, 0.0, 0.0, 0.0), abs=1e-12)
    assert rate == float(noise.x["output_tok_s"].std())


def test_failures_scatter_with_their_blocks() -> None:
    data = hold_of([100.0] * 60, [(at / 10, 0.1) for at in range(600)], failed=[30.0 + at / 10 for at in range(20)])
    noise = hold_noise(data, 1.0, parse_slo("error_rate<=1%,ttft_p99<=1s"), LIMITS, 1)
    assert noise is not None
    assert float(noise.values[0].std()) > 0.3  # all in one block of thirty: it comes once in a replicate, or 0, 2, 3


def test_blocks_are_longer_where_answers_are() -> None:
    quiet = np.tile([90.0, 110.0], 60)
    assert cut(quiet, 1.0, LIMITS)[0] == 60
    assert cut(quiet, 6.0, LIMITS)[0] == 10
    blocks, widen = cut(quiet, 10.0, LIMITS)  # only six blocks of 20 s: batches of 10 s, and a wider interval
    assert blocks == 12
    assert widen > 1.1
