"""The same requests under other tools' definitions: right values by hand, from their formulas."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadband.analysis.peers import Readings, read_aiperf, read_evalscope, read_guidellm, read_vllm, weighted
from loadband.analysis.reconcile import reconcile
from loadband.analysis.thresholds import Thresholds
from loadband.errors import UnansweredError
from tests.analysis.build_run import Build, build_run

USUAL: dict[str, Any] = {
    "status": "ok", "failure_class": "", "token_source": "usage", "connect_s": 0.01, "first_byte_s": 0.05,
    "ttft_s": 0.1, "e2e_s": 1.0, "duration_s": 1.2, "events": 10.0, "output_tokens": 10.0, "started_at": 100.0,
}  # fmt: skip


def ended(*changes: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame([USUAL | change for change in changes])
    return frame.assign(ended_at=frame["started_at"] + frame["duration_s"])


def both(readings: Readings, metric: str) -> tuple[float | None, float | None]:
    return readings[metric].low, readings[metric].high


def test_a_role_chunk_stops_vllms_clock_before_the_first_token() -> None:
    """Ours is 100 ms; theirs lies between the first byte and that: `73 ms and 113 ms` of one request."""
    told = read_vllm(ended({}))
    assert both(told, "ttft_mean_s") == pytest.approx((0.05, 0.1))
    assert both(told, "e2e_mean_s") == pytest.approx((1.0, 1.2)), "the closing chunk"
    assert both(told, "tpot_mean_s") == pytest.approx((0.9 / 9, 1.15 / 9))
    assert both(told, "itl_mean_s") == (None, None)


def test_a_stream_that_breaks_is_a_success_to_vllm_and_to_no_other() -> None:
    broken = {"status": "failed", "failure_class": "stream_error", "e2e_s": np.nan, "output_tokens": 4.0}
    refused = {"status": "failed", "failure_class": "http_500", "ttft_s": np.nan, "e2e_s": np.nan}
    rows = ended({}, {}, broken, refused)
    assert both(read_vllm(rows), "completed") == (3, 3)
    assert both(read_vllm(rows), "failed") == (1, 1)
    for read in (read_guidellm, read_aiperf, read_evalscope):
        assert both(read(rows), "completed") == (2, 2)
        assert both(read(rows), "failed") == (2, 2)


def test_guidellm_leaves_the_connection_out_and_weighs_by_tokens() -> None:
    told = read_guidellm(ended({}, {"e2e_s": 2.1, "output_tokens": 101.0, "connect_s": np.nan}))
    assert both(told, "ttft_mean_s") == pytest.approx(((0.09 + 0.1) / 2,) * 2)
    assert both(told, "tpot_mean_s") == pytest.approx(((0.9 + 2.0) / (9 + 100),) * 2)
    assert both(told, "tpot_p50_s") == pytest.approx((0.02, 0.02)), "100 of 109 tokens are of the long answer"


def test_aiperf_and_evalscope_begin_with_text() -> None:
    rows = ended({}, {"ttft_s": 0.2, "e2e_s": 1.4, "duration_s": 1.5, "events": 4.0})
    assert both(read_aiperf(rows), "ttft_mean_s") == pytest.approx((0.15, 0.15))
    assert both(read_aiperf(rows), "ttft_p50_s") == pytest.approx((0.15, 0.15)), "interpolated"
    assert both(read_evalscope(rows), "ttft_p50_s") == pytest.approx((0.1, 0.1)), "nearest rank"
    assert both(read_aiperf(rows), "tpot_mean_s") == pytest.approx(((0.9 / 9 + 1.2 / 9) / 2,) * 2)
    assert both(read_evalscope(rows), "tpot_mean_s") == pytest.approx(((0.1 + 1.2 / 9) / 2, (1.1 / 9 + 1.3 / 9) / 2))
    assert both(read_aiperf(rows), "itl_mean_s") == pytest.approx(((0.9 + 1.2) / (9 + 3),) * 2)


def test_the_tail_is_inside_the_duration() -> None:
    """Ten tokens in the first 1.2 s, ten in a request that drags on alone to 10 s."""
    rows = ended({}, {"duration_s": 10.0, "e2e_s": 9.9})
    for read in (read_vllm, read_guidellm, read_aiperf, read_evalscope):
        assert both(read(rows), "output_tok_s") == pytest.approx((2.0, 2.0))


def test_what_nobody_counted_is_not_told() -> None:
    rows = ended({"token_source": "events"})
    for read in (read_vllm, read_guidellm, read_aiperf, read_evalscope):
        assert both(read(rows), "output_tok_s") == (None, None)


def test_an_answer_of_one_token_has_no_pace() -> None:
    told = read_vllm(ended({}, {"output_tokens": 1.0, "events": 1.0}))
    assert both(told, "tpot_mean_s") == pytest.approx((0.1, 1.15 / 9))
    assert both(read_vllm(ended({"output_tokens": 1.0})), "tpot_mean_s") == (None, None)


def test_without_a_first_byte_on_record_vllms_ttft_is_not_told() -> None:
    told = read_vllm(ended({"first_byte_s": np.nan}))
    assert both(told, "ttft_mean_s") == (None, None)
    assert both(told, "e2e_mean_s") == pytest.approx((1.0, 1.2))


def test_weights() -> None:
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 8.0, 1.0])
    assert weighted(values, weights, None) == pytest.approx(1.3)
    assert [weighted(values, weights, percent) for percent in (50.0, 80.0, 90.0, 99.0)] == [1.0, 1.0, 2.0, 3.0]
    assert weighted(values, np.zeros(3), None) is None


def test_of_a_run(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(2, 4, 8, 16, 32), hold_s=40.0))
    told = reconcile(built.path, None, Thresholds())
    assert told.level.users == told.analysis.verdict.operating.users
    assert told.requests == told.level.numbers.requests
    for name, value in told.theirs["AIPerf"].items():
        if name.endswith(("mean_s", "p50_s")):
            assert value.low == pytest.approx(told.ours[name], rel=0.02), name
    reasons = {metric for reason in told.reasons for metric in reason.metrics}
    assert {"duration_s", "itl_mean_s", "output_tok_s"} <= reasons
    assert reconcile(built.path, 32.0, Thresholds()).level.users == 32
    with pytest.raises(UnansweredError, match="5 users is no level of this run: choose one of 2, 4, 8, 16, 32"):
        reconcile(built.path, 5.0, Thresholds())


def test_every_difference_has_a_reason(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(4, 8, 16), hold_s=30.0, fail_share={8: 0.3}))
    told = reconcile(built.path, 8.0, Thresholds())
    spoken = {(tool, metric) for reason in told.reasons for tool in reason.tools for metric in reason.metrics}
    for tool, readings in told.theirs.items():
        for metric, reading in readings.items():
            mine = told.ours[metric]
            if mine is not None and (reading.low is None or abs(reading.low - mine) > 0.01 * mine):
                assert (tool, metric) in spoken
