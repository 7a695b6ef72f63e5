"""Drift per hour of a long hold, against a drift that is known."""

import numpy as np
import pandas as pd
import pytest

from loadband.analysis.series import drift, trend
from loadband.analysis.soak import Drift, drifts_of
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Facts
from loadband.analysis.windows import Hold
from loadband.sim.profile import load
from loadband.sim.virtual import Asked, Load, VirtualRun
from reports.wording import summary
from tests.analysis.make_levels import LIMITS, level, verdict_of

HOUR = 3600


def soaked(hours: float, per_hour: float, seed: int = 1, limits: Thresholds = LIMITS) -> dict[str, Drift]:
    """A server of 1000 tokens/s that changes by so much an hour; TTFT does not, E2E grows as tokens/s falls."""
    draw = np.random.default_rng(seed)
    length = int(hours * HOUR)
    line = 1 + per_hour * (np.arange(length) / HOUR - hours / 2)
    tokens = 1000 * line * draw.normal(1, 0.1, length)
    seconds = pd.DataFrame({
        "second": np.arange(length, dtype=np.float64), "output_tokens_ok": tokens, "output_tokens_cut": 0.0,
        "weight": 1.0,
    })  # fmt: skip
    ends = np.sort(draw.uniform(0, length, length * 2))
    ok = pd.DataFrame({
        "ended_at": ends, "ttft_s": draw.lognormal(-2, 0.5, ends.size),
        "e2e_s": draw.normal(2, 0.5, ends.size) / np.interp(ends, np.arange(length), line),
    })  # fmt: skip
    return {each.name: each for each in drifts_of(Hold(0.0, float(length)), seconds, ok, limits)}


@pytest.mark.parametrize("per_hour", [-0.02, 0.0, 0.01])
def test_a_known_drift_is_found_within_its_interval(per_hour: float) -> None:
    inside = {"output_tok_s": 0, "e2e_mean_s": 0, "ttft_p50_s": 0, "ttft_p95_s": 0}
    for seed in range(20):
        found = soaked(2.0, per_hour, seed)
        for name, true in (("output_tok_s", per_hour), ("e2e_mean_s", -per_hour), ("ttft_p50_s", 0), ("ttft_p95_s", 0)):
            inside[name] += found[name].low <= true <= found[name].high
        assert found["output_tok_s"].high - found["output_tok_s"].low < 0.02
    assert min(inside.values()) >= 17, inside


def test_what_is_beyond_noise() -> None:
    found = soaked(2.0, -0.05)
    assert found["output_tok_s"].counts
    assert found["output_tok_s"].per_hour == pytest.approx(-0.05, abs=0.01)
    assert not Drift("output_tok_s", 0.01, -0.01, 0.03).counts


def test_a_short_hold_tells_nothing_per_hour() -> None:
    assert soaked(0.4, 0.0) == {}
    assert set(soaked(0.5, 0.0)) == {"output_tok_s", "ttft_p50_s", "ttft_p95_s", "e2e_mean_s"}


def test_what_no_request_tells_is_left_out() -> None:
    seconds = pd.DataFrame({
        "second": np.arange(HOUR, dtype=np.float64), "output_tokens_ok": 5.0 + np.arange(HOUR) % 3,
        "output_tokens_cut": 0.0, "weight": 1.0,
    })  # fmt: skip
    ok = pd.DataFrame({"ended_at": [1.0], "ttft_s": [np.nan], "e2e_s": [1.0]})
    assert [each.name for each in drifts_of(Hold(0.0, float(HOUR)), seconds, ok, LIMITS)] == ["output_tok_s"]


def test_a_drift_is_a_trend_beyond_its_interval() -> None:
    at, values = np.arange(60.0), 100 + np.arange(60.0) + np.tile([5.0, -5.0], 30)
    line = trend(at, values)
    assert line is not None
    assert line.change == pytest.approx(59 / 129.5, rel=0.05)
    assert drift(at, values) == line.change
    assert drift(at, 100 + np.tile([5.0, -5.0], 30)) == 0.0


def test_four_hours_of_a_steady_server_in_virtual_time_drift_by_nothing() -> None:
    """One request at a time makes few tokens a second, so four hours take a second."""
    asked: list[Asked] = []
    run = VirtualRun(load("a100-qwen2.5-32b-q4"), Load(max_tokens=(40, 120), think_s=(5.0, 15.0)), 1, asked.append)
    run.closed(1, 0.0, 4.0 * HOUR)
    stamps = np.array([stamp for each in asked for stamp in each.stamps])
    counts = np.bincount(stamps.astype(int), minlength=4 * HOUR)[: 4 * HOUR].astype(np.float64)
    seconds = pd.DataFrame({
        "second": np.arange(4 * HOUR, dtype=np.float64), "output_tokens_ok": counts, "output_tokens_cut": 0.0,
        "weight": 1.0,
    })  # fmt: skip
    ok = pd.DataFrame({
        "ended_at": [each.stamps[-1] for each in asked], "ttft_s": [each.stamps[0] - each.asked_at for each in asked],
        "e2e_s": [each.stamps[-1] - each.asked_at for each in asked],
    })  # fmt: skip
    found = drifts_of(Hold(0.0, 4.0 * HOUR), seconds, ok, LIMITS)
    assert len(found) == 4
    assert [each.name for each in found if not each.low - 0.005 <= 0 <= each.high + 0.005] == []


def test_the_words_of_a_soak() -> None:
    drifts = (Drift("output_tok_s", -0.021, -0.023, -0.019), Drift("ttft_p50_s", 0.001, -0.01, 0.012))
    soak = verdict_of([level(32, 900.0, hold_s=14_400.0, drifts=drifts)], Facts(ladder=False))
    assert (
        "Drift per hour over 4 h at 32 users (95 %): output tokens/s -2.10% (-2.30% to -1.90%), "
        "TTFT p50 +0.10% (-1.00% to +1.20%); beyond noise: output tokens/s."
    ) in summary(soak)
