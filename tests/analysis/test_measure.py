import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadband.analysis.level import Numbers
from loadband.analysis.measure import HoldData, measure, measure_limit
from loadband.analysis.windows import Hold, Step
from loadband.histogram import Histogram
from loadband.rundir import COLUMNS, REQUESTS
from loadband.slo import parse_slo

HOLD = Hold(1000.0, 1010.0)
STEP = Step(3, 2, 8.0, None, 990.0, "hold", HOLD)


def data(*rows: dict[str, Any], tokens: tuple[int, ...] = (), itl: Histogram | None = None) -> HoldData:
    """Requests that ended in the hold, and tokens of its seconds."""
    blank = dict.fromkeys(COLUMNS[REQUESTS], np.nan) | {
        "status": "ok", "failure_class": "", "scenario": "interactive", "started_at": 1000.0, "ended_at": 1005.0
    }  # fmt: skip
    seconds = pd.DataFrame(
        {
            "second": 1000.0 + np.arange(len(tokens)), "users": 8.0, "in_flight": 7.0, "weight": 1.0,
            "output_tokens_ok": np.array(tokens, dtype=np.float64), "output_tokens_cut": 0.0, "prompt_tokens": 5.0,
        }
    )  # fmt: skip
    ended = pd.DataFrame([blank | row for row in rows], columns=[*COLUMNS[REQUESTS], "ended_at"])
    return HoldData(HOLD, ended, seconds, {"interactive": itl or Histogram()})


def ok(e2e: float, **changes: Any) -> dict[str, Any]:
    return {"e2e_s": e2e, "ttft_s": e2e / 2} | changes


def failed(kind: str = "throttled") -> dict[str, Any]:
    return {"status": "failed", "failure_class": kind}


def test_latency_is_of_successes_and_failures_have_their_own_rate() -> None:
    """100 answers of 1000 ms and 20 refusals: mean 1000 (mixed: 834), 16.7 % failed, and p95 is a miss."""
    hold = data(*[ok(1.0)] * 100, *[failed()] * 20)
    numbers = measure(STEP, hold, ())
    assert (numbers.e2e_mean_s, numbers.e2e_p95_s) == (1.0, 1.0)
    assert numbers.error_rate == pytest.approx(1 / 6)
    (limit,) = parse_slo("e2e_p95<=2s")
    measured = measure_limit(limit, hold, numbers, in_waves=False)
    assert (measured.value, measured.n, measured.misses) == (math.inf, 120, 20)


def test_slow_failures_do_not_spoil_the_mean_either() -> None:
    """100 answers of 1000 ms and 5 gateway time-outs after 60 s: mean 1000 (mixed: 3810)."""
    numbers = measure(STEP, data(*[ok(1.0)] * 100, *[failed("http_504") | {"duration_s": 60.0}] * 5), ())
    assert (numbers.e2e_mean_s, numbers.ok, numbers.failed) == (1.0, 100, 5)


def test_the_clients_own_failures_are_never_the_servers() -> None:
    numbers = measure(STEP, data(ok(1.0), failed("client"), failed("reset")), ())
    assert (numbers.ok, numbers.failed, numbers.error_rate) == (1, 2, 0.5)
    assert numbers.req_s == pytest.approx(0.2)


def test_system_throughput_and_speed_of_a_user_are_two_numbers() -> None:
    """Four users, each 100 tokens over exactly 10 s: system 40 tokens/s, a user 10."""
    hold = replace(data(*[ok(10.0, tpot_s=0.1)] * 4, tokens=(40,) * 10), prompt_tokens=50.0)
    numbers = measure(STEP, hold, ())
    assert numbers.output_tok_s == pytest.approx(40)
    assert numbers.tok_s_user == pytest.approx(10)
    assert numbers.total_tok_s == pytest.approx(45)


def test_the_speed_of_a_user_is_no_mean_of_rates() -> None:
    """10 and 40 tokens/s: a mean of the rates says 25, the mean time per token 62.5 ms, 16 tokens/s."""
    numbers = measure(STEP, data(ok(1.0, tpot_s=0.1), ok(1.0, tpot_s=0.025), ok(1.0)), ())
    assert numbers.tok_s_user == pytest.approx(16)
    assert measure(STEP, data(ok(1.0)), ()).tok_s_user is None


def test_one_token_answers_are_in_no_mean_of_tpot() -> None:
    numbers = measure(STEP, data(*[ok(1.0, tpot_s=0.02)] * 10, *[ok(0.5)] * 10), ())
    assert numbers.tpot_mean_s == pytest.approx(0.02)
    assert numbers.tpot_p50_s == 0.02


def test_percentiles_are_exact() -> None:
    values = [14.400, 14.499, 14.501, 15.400, 15.600]
    numbers = measure(STEP, data(*[ok(value) for value in values]), ())
    assert (numbers.e2e_p50_s, numbers.e2e_p99_s) == (14.501, 15.600)


def test_itl_comes_from_its_histogram() -> None:
    numbers = measure(STEP, data(ok(1.0), itl=Histogram([0.01] * 98 + [0.5] * 2)), ())
    assert numbers.itl_p50_s == pytest.approx(0.01, rel=0.01)
    assert numbers.itl_p99_s == pytest.approx(0.5, rel=0.01)


def test_answers_against_what_was_asked() -> None:
    rows = [ok(1.0, output_tokens=30, max_tokens=100), ok(1.0, output_tokens=100, max_tokens=100), ok(1.0)]
    assert measure(STEP, data(*rows), ()).output_ratio == pytest.approx(0.65)


def test_goodput_counts_requests_whose_own_values_keep_every_limit() -> None:
    slo = parse_slo("ttft_p95<=500ms,tpot_p99<=50ms,error_rate<=1%")
    rows = [ok(1.0, tpot_s=0.02), ok(1.0), ok(1.2, tpot_s=0.02), ok(1.0, tpot_s=0.06), failed()]
    assert measure(STEP, data(*rows), slo).goodput_req_s == pytest.approx(0.2)
    assert measure(STEP, data(*rows), ()).goodput_req_s is None


def test_a_limit_of_one_scenario_looks_at_no_other() -> None:
    (limit,) = parse_slo("long_context.e2e_mean<=5s")
    hold = data(ok(1.0), ok(4.0, scenario="long_context"))
    assert measure_limit(limit, hold, Numbers(), in_waves=False).value == 4.0


def test_failures_beyond_a_percentile_are_a_miss_for_itl_too() -> None:
    (limit,) = parse_slo("itl_p95<=50ms")
    gaps = Histogram([0.01] * 10)
    assert measure_limit(limit, data(*[ok(1.0)] * 99, failed(), itl=gaps), Numbers(), in_waves=False).value != math.inf
    assert measure_limit(limit, data(ok(1.0), failed(), itl=gaps), Numbers(), in_waves=False).value == math.inf


def test_an_empty_hold_is_unknown_not_zero() -> None:
    numbers = measure(STEP, data(), ())
    assert (numbers.requests, numbers.ok) == (0, 0)
    unknown = ("error_rate", "output_tok_s", "in_flight", "ttft_p50_s", "itl_p99_s", "output_ratio")
    assert all(numbers.get(name) is None for name in unknown)


def test_cv_over_five_seconds() -> None:
    steady, bursty = (10,) * 15, (20, 20, 20, 20, 20, 0, 0, 0, 0, 0, 20, 20, 20, 20, 20)
    hold = Hold(1000.0, 1015.0)
    cvs = []
    for tokens in (steady, bursty):
        one = data(ok(1.0), tokens=tokens)
        cvs.append(measure(STEP, HoldData(hold, one.ended, one.seconds, {}), ()).output_tok_s_cv)
    assert cvs[0] == 0
    assert cvs[1] == pytest.approx(np.std([20, 0, 20], ddof=1) / np.mean([20, 0, 20]))


@pytest.mark.parametrize("text", ["ttft_p95<=1s", "e2e_mean<=1s", "itl_p99<=1s", "error_rate<=1%", "output_tok_s>=1"])
def test_a_scenario_that_nobody_asked_for_is_absent(text: str) -> None:
    asked, other = parse_slo(f"interactive.{text}")[0], parse_slo(f"long_context.{text}")[0]
    hold = data(ok(1.0))
    assert not measure_limit(asked, hold, Numbers(), in_waves=False).absent
    assert measure_limit(other, hold, Numbers(), in_waves=False).absent
