"""GuideLLM's JSON report: one document with all of its benchmarks.

Knows: its keys, as written by GuideLLM 0.8 (report version 2). Must not know: other tools.

A level of users is a benchmark of the strategies `concurrent` or `synchronous`. Requests that its time limit cut are
`incomplete`: their tokens came, so they are in the throughput here, which GuideLLM's own table of successes leaves out.
Its inter-token latency is our TPOT, weighted by tokens.
"""

from pathlib import Path
from typing import Any

from loadband.analysis.level import Numbers
from loadband.analysis.tool_numbers import MS, Found, figure, word
from loadband.errors import UsageError

OK = "successful"


def fits(data: Any) -> bool:
    """Whether a document is such a report."""
    benchmarks = data.get("benchmarks") if isinstance(data, dict) else None
    return isinstance(benchmarks, list) and all(isinstance(each, dict) and "metrics" in each for each in benchmarks)


def levels(data: Any, file: Path) -> list[Found]:
    """One for each benchmark. Raises UsageError of a report of another layout."""
    return [_level(each, data, file) for each in data["benchmarks"]]


def _level(benchmark: Any, data: Any, file: Path) -> Found:
    strategy = word(benchmark, "config", "strategy", "type_")
    if strategy is None:
        version = word(data, "metadata", "guidellm_version") or "unknown"
        raise UsageError(f"{file} is a report of GuideLLM {version}, whose layout is not known: 0.8 is read")
    metrics = benchmark["metrics"]
    users = figure(benchmark, "config", "strategy", "streams") if strategy == "concurrent" else None
    users = 1.0 if strategy == "synchronous" else users
    left_out = None if users else f"{file.name}: a benchmark of the strategy {strategy} is no level of users"
    numbers = Numbers(
        users=users,
        hold_s=figure(benchmark, "duration"),
        ok=figure(metrics, "request_totals", OK),
        failed=figure(metrics, "request_totals", "errored"),
        cut=figure(metrics, "request_totals", "incomplete"),
        req_s=figure(metrics, "requests_per_second", OK, "mean"),
        output_tok_s=_rate(metrics, "output_tokens_per_second"),
        prompt_tok_s=_rate(metrics, "prompt_tokens_per_second"),
        **_times(metrics, "time_to_first_token_ms", "ttft", ("p90", "p95", "p99"), MS),
        **_times(metrics, "inter_token_latency_ms", "tpot", ("p95", "p99"), MS),
        **_times(metrics, "request_latency", "e2e", ("p95", "p99"), 1.0),
    )
    return Found(numbers, _model(data), left_out)


def _rate(metrics: Any, name: str) -> float | None:
    """Of successes and of what the time limit cut."""
    whole, cut = figure(metrics, name, OK, "mean"), figure(metrics, name, "incomplete", "mean")
    return None if whole is None else whole + (cut or 0.0)


def _times(metrics: Any, theirs: str, ours: str, percents: tuple[str, ...], scale: float) -> dict[str, Any]:
    if not figure(metrics, theirs, OK, "count"):
        return {}
    told = {f"{ours}_mean_s": figure(metrics, theirs, OK, "mean", scale=scale)}
    for percent in ("p50", *percents):
        told[f"{ours}_{percent}_s"] = figure(metrics, theirs, OK, "percentiles", percent, scale=scale)
    return told


def _model(data: Any) -> str | None:
    return word(data, "config", "spec", "backend", "model")
