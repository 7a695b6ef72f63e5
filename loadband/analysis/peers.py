"""How other tools would compute the numbers of the same requests: their definitions, as arithmetic on our records.

Knows: the definitions of `vllm bench serve` 0.32 (vllm/benchmarks/serve.py, lib/endpoint_request_func.py), GuideLLM 0.8
(schemas/base/request_stats.py, benchmark/schemas/metrics.py), AIPerf 0.13 (metrics/types) and evalscope perf 1.14
(plugin/api/default_api.py, utils/benchmark_util.py), read from their sources. Must not know: files, printing.

A record keeps the stamps of the first byte, of the first and the last generated event and of the end of the body, and
no stamp of a chunk without text. What a tool stamps at such a chunk lies between two of ours and is given as that
range; what has no such bounds is not given at all. Times of a tool's own client (parsing before the stamp, a busy loop)
are not in any record either: numbers here are those of its definitions alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.analysis.bounds import percentile
from loadband.record import FailureClass, Status, TokenSource

Floats = NDArray[np.float64]

METRICS = (
    "completed", "failed", "duration_s", "req_s", "output_tok_s", "ttft_mean_s", "ttft_p50_s", "ttft_p99_s",
    "tpot_mean_s", "tpot_p50_s", "tpot_p99_s", "itl_mean_s", "e2e_mean_s", "e2e_p50_s", "e2e_p99_s",
)  # fmt: skip
"""What is set side by side, in order."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One number of a tool: exact when `low` is `high`, a range, or None where the records do not tell."""

    low: float | None
    high: float | None


Readings = dict[str, Reading]
Summary = Callable[[Floats, Floats, float | None], float | None]
"""Values, weights, percent or None for the mean."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One tool."""

    name: str
    read: Callable[[pd.DataFrame], Readings]
    reasons: Mapping[str, str]
    """Metric, or the first part of its name -> why it differs, or is not told."""

    def reason(self, metric: str) -> str:
        """Of a metric; empty where the definitions agree."""
        return self.reasons.get(metric) or self.reasons.get(metric.split("_", maxsplit=1)[0], "")


def nearest_rank(values: Floats, _weights: Floats, percent: float | None) -> float | None:
    """As Loadband and evalscope have it: a value that was measured."""
    if percent is None:
        return float(values.mean()) if values.size else None
    return percentile(values, percent)


def interpolated(values: Floats, _weights: Floats, percent: float | None) -> float | None:
    """As numpy has it: straight between the two values beside the rank."""
    if not values.size:
        return None
    return float(values.mean()) if percent is None else float(np.percentile(values, percent))


def weighted(values: Floats, weights: Floats, percent: float | None) -> float | None:
    """Each value as often as its weight."""
    if not values.size or not weights.sum() > 0:
        return None
    if percent is None:
        return float(values @ weights / weights.sum())
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(share, percent / 100 - 1e-12)), values.size - 1)])


def _column(frame: pd.DataFrame, name: str) -> Floats:
    values: Floats = frame[name].to_numpy(dtype=np.float64)
    return values


def _spread(
    readings: Readings, name: str, ends: tuple[Floats, Floats], summary: Summary, weights: Floats | None = None
) -> None:  # fmt: skip
    """Mean, p50 and p99 of values known between two ends; values without both ends are left out of both."""
    known = ~np.isnan(ends[0]) & ~np.isnan(ends[1])
    low, high = ends[0][known], ends[1][known]
    weights = np.ones(low.size) if weights is None else weights[known]
    for which, percent in (("mean", None), ("p50", 50.0), ("p99", 99.0)):
        readings[f"{name}_{which}_s"] = Reading(summary(low, weights, percent), summary(high, weights, percent))


def _totals(done: pd.DataFrame, failed: int, begin: float, end: float, *, counted: bool) -> Readings:
    """Requests and tokens over the time from the first start to the last end."""
    duration, tokens = end - begin, float(done["output_tokens"].sum())
    rate = tokens / duration if counted and duration > 0 else None
    told = {
        "completed": float(len(done)),
        "failed": float(failed),
        "duration_s": duration,
        "req_s": len(done) / duration if duration > 0 else None,
        "output_tok_s": rate,
    }
    return {name: Reading(value, value) for name, value in told.items()}


def _counted(done: pd.DataFrame) -> bool:
    """Whether the server counted every answer's tokens: tools count those that it did not in ways of their own."""
    return bool(len(done)) and bool((done["token_source"] == TokenSource.USAGE).all())


def _parts(ended: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return ended[ended["status"] == Status.OK], ended[ended["status"] == Status.FAILED]


def _span(rows: pd.DataFrame) -> tuple[float, float]:
    return float(rows["started_at"].min()), float(rows["ended_at"].max())


def _pace(done: pd.DataFrame, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Time per token after the first; unknown below two tokens."""
    tokens = _column(done, "output_tokens")
    gaps = np.where(tokens > 1, tokens - 1, np.nan)
    return ends[0] / gaps, ends[1] / gaps


def _pooled_gap(done: pd.DataFrame) -> Reading:
    """Mean of all gaps between generated events of all requests."""
    gaps = _column(done, "events") - 1
    spent = _column(done, "e2e_s") - _column(done, "ttft_s")
    known = ~np.isnan(gaps) & ~np.isnan(spent) & (gaps > 0)
    value = float(spent[known].sum() / gaps[known].sum()) if known.any() else None
    return Reading(value, value)


def read_vllm(ended: pd.DataFrame) -> Readings:
    """First and last chunk with `choices`, of any content; a stream that broke after its first chunk is a success."""
    ok, failed = _parts(ended)
    broken = failed[(failed["failure_class"] == FailureClass.STREAM_ERROR) & failed["ttft_s"].notna()]
    done = pd.concat([ok, broken])
    readings = _totals(done, len(failed) - len(broken), *_span(ended), counted=_counted(done))
    first, last = _column(done, "first_byte_s"), _column(done, "duration_s")
    ttft, e2e = _column(done, "ttft_s"), _column(done, "e2e_s")
    e2e = np.where(np.isnan(e2e), ttft, e2e)
    _spread(readings, "ttft", (first, ttft), interpolated)
    _spread(readings, "tpot", _pace(done, (e2e - ttft, last - first)), interpolated)
    readings["itl_mean_s"] = Reading(None, None)
    _spread(readings, "e2e", (e2e, last), interpolated)
    return readings


def read_guidellm(ended: pd.DataFrame) -> Readings:
    """From the first header sent; pace weighted by tokens; the request ends with the stream."""
    ok, failed = _parts(ended)
    readings = _totals(ok, len(failed), *_span(ended), counted=_counted(ok))
    connect = np.nan_to_num(_column(ok, "connect_s"))
    ttft, e2e = _column(ok, "ttft_s") - connect, _column(ok, "e2e_s") - connect
    last = _column(ok, "duration_s") - connect
    _spread(readings, "ttft", (ttft, ttft), nearest_rank)
    pace = _pace(ok, (e2e - ttft, e2e - ttft))
    _spread(readings, "tpot", pace, weighted, np.nan_to_num(_column(ok, "output_tokens") - 1))
    readings["itl_mean_s"] = Reading(None, None)
    _spread(readings, "e2e", (e2e, last), nearest_rank)
    return readings


def read_aiperf(ended: pd.DataFrame) -> Readings:
    """Content chunks only, as here; whole run from the first start to the last answer."""
    ok, failed = _parts(ended)
    readings = _totals(ok, len(failed), *_span(ok), counted=_counted(ok))
    ttft, e2e = _column(ok, "ttft_s"), _column(ok, "e2e_s")
    _spread(readings, "ttft", (ttft, ttft), interpolated)
    _spread(readings, "tpot", _pace(ok, (e2e - ttft, e2e - ttft)), interpolated)
    readings["itl_mean_s"] = _pooled_gap(ok)
    _spread(readings, "e2e", (e2e, e2e), interpolated)
    return readings


def read_evalscope(ended: pd.DataFrame) -> Readings:
    """First content chunk; the request ends with its last chunk of any kind, `usage` among them."""
    ok, failed = _parts(ended)
    readings = _totals(ok, len(failed), *_span(ended), counted=_counted(ok))
    ttft, e2e, last = (_column(ok, name) for name in ("ttft_s", "e2e_s", "duration_s"))
    _spread(readings, "ttft", (ttft, ttft), nearest_rank)
    _spread(readings, "tpot", _pace(ok, (e2e - ttft, last - ttft)), nearest_rank)
    readings["itl_mean_s"] = _pooled_gap(ok)
    _spread(readings, "e2e", (e2e, last), nearest_rank)
    return readings
