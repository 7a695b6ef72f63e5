"""What must hold of every verdict, whatever the curve."""

import json
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import HoldNoise, Level, Measured
from loadband.analysis.monotone import Floats
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Facts, Verdict, judge
from loadband.analysis.verdict_json import as_json
from loadband.slo import Limit, parse_slo
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import level, verdict_of

GROWTH = st.lists(st.floats(0.7, 2.1), min_size=5, max_size=8)
FEW = Thresholds(replicates=40)


def repeated(growth: list[float], spread: float = 0.02, factor: float = 1.0) -> list[Level]:
    """A ladder by its growth from level to level, three times, with noise."""
    draw, levels, x = random.Random(1), [], 10.0
    for place, by in enumerate(growth):
        for repeat in (1, 2, 3):
            noisy = x * factor * (1 + spread * draw.uniform(-1, 1))
            step = (repeat - 1) * len(growth) + place + 1
            levels.append(level(2.0**place, noisy, repeat=repeat, step=step, ttft_p95_s=0.1))
        x *= by
    return levels


def told(levels: list[Level]) -> dict[str, object]:
    return as_json(verdict_of(levels, limits=FEW))


@settings(deadline=None, max_examples=25)
@given(GROWTH, st.randoms(use_true_random=False))
def test_the_order_of_levels_changes_nothing(growth: list[float], order: random.Random) -> None:
    levels = repeated(growth)
    shuffled = list(levels)
    order.shuffle(shuffled)
    one, other = told(levels), told(shuffled)
    for each in (one, other):
        each["levels"] = sorted(each["levels"], key=lambda row: row["step"])  # type: ignore[call-overload]
    assert json.dumps(one) == json.dumps(other)


@settings(deadline=None, max_examples=4)
@given(st.integers(0, 2**32 - 1))
def test_shuffling_the_rows_of_a_run_changes_nothing(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    slo = "ttft_p95<=300ms,error_rate<=1%"
    folder = tmp_path_factory.mktemp("shuffled")
    path = build_run(folder / "run", Build(levels=(2, 4, 8, 16, 32), hold_s=20.0, slo=slo)).path
    before = as_json(analyse_run(path, None, FEW).verdict)
    for name in ("requests.csv", "seconds.csv", "histograms.csv", "workers.csv"):
        rows = pd.read_csv(path / name, dtype=str, keep_default_na=False)
        rows.sample(frac=1, random_state=seed).to_csv(path / name, index=False)
    assert as_json(analyse_run(path, None, FEW).verdict) == before
    assert before["noise"]["source"] == "within_run"


@settings(deadline=None, max_examples=25)
@given(GROWTH, st.floats(0.01, 100))
def test_scaling_all_rates_scales_only_rates(growth: list[float], factor: float) -> None:
    one, other = verdict_of(repeated(growth), limits=FEW), verdict_of(repeated(growth, factor=factor), limits=FEW)
    assert (one.operating.status, one.saturation.status) == (other.operating.status, other.saturation.status)
    assert other.sure.support == one.sure.support
    for edge, interval in one.sure.edges.items():
        assert interval.noise is not None
        assert other.sure.edges[edge].noise == pytest.approx(interval.noise)
        assert other.sure.edges[edge].grid == pytest.approx(interval.grid)
    x, scaled = (as_json(each)["levels"][0]["x_low"] for each in (one, other))
    assert scaled == pytest.approx(x * factor, rel=1e-4)


def with_slo(growth: list[float], waits: list[float], limit: Limit) -> Verdict:
    """Levels whose TTFT p95 grows with users, each with a noise of 5 %."""
    draw, levels, x, ttft = random.Random(2), [], 10.0, 0.1
    for place, (by, wait) in enumerate(zip(growth, waits, strict=False)):
        deviations = [normal(draw, 40) for _ in range(3)]
        noise = HoldNoise({"output_tok_s": 0.02 * deviations[0]}, 0.02 * deviations[1], (0.05 * deviations[2],), 60.0)
        plain = level(2.0**place, x, step=place + 1)
        levels.append(Level(plain.numbers, server_failed=0.0, measured=(Measured(limit, ttft),), noise=noise))
        x, ttft = x * by, ttft * wait
    return judge(levels, (limit,), FEW, Facts())


def normal(draw: random.Random, count: int) -> Floats:
    return np.array([draw.gauss(0, 1) for _ in range(count)])


@settings(deadline=None, max_examples=40)
@given(GROWTH, st.lists(st.floats(0.9, 3.0), min_size=8, max_size=8), st.floats(0.05, 5.0), st.floats(1.0, 4.0))
def test_a_looser_slo_never_lowers_the_band_nor_its_end(
    growth: list[float], waits: list[float], limit: float, looser: float
) -> None:
    strict, loose = (
        with_slo(growth, waits, parse_slo(f"ttft_p95<={value:.6f}s")[0]) for value in (limit, limit * looser)
    )
    if strict.operating.high is not None and loose.operating.high is not None:
        assert loose.operating.high >= strict.operating.high - 1e-9
    one, other = strict.slo[0].end, loose.slo[0].end
    assert one.low is not None and one.high is not None and other.low is not None and other.high is not None
    assert other.low >= one.low - 1e-9
    assert other.high >= one.high - 1e-9
    if one.users is not None and other.users is not None:
        assert other.users >= one.users - 1e-9


@settings(deadline=None, max_examples=40)
@given(GROWTH, st.floats(0.3, 0.95))
def test_a_slower_level_beyond_the_end_moves_the_upper_edge_by_no_more_than_the_grid(
    growth: list[float], share: float
) -> None:
    levels = repeated(growth)
    last = max(each.users for each in levels)
    lowest = min(each.numbers.output_tok_s or 0.0 for each in levels)
    beyond = [level(last * 2, lowest * share, repeat=r, step=100 + r, ttft_p95_s=0.1) for r in (1, 2, 3)]
    before, after = verdict_of(levels, limits=FEW).operating, verdict_of([*levels, *beyond], limits=FEW).operating
    if before.high is not None and after.high is not None:
        assert before.high / 2 - 1e-9 <= after.high <= before.high * 2 + 1e-9
