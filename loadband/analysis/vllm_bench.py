"""`vllm bench serve --save-result`: one JSON document for one concurrency.

Knows: its keys, as written by vLLM 0.32 (older ones lack `failed` and `latencies`). Must not know: other tools.

A level of users is a run with `--max-concurrency` and without a rate. Without a limit all prompts are sent at once: a
burst, in which the number of open requests only falls. E2E stands in the result only when `e2el` was among
`--percentile-metrics`; else the mean of `latencies` is taken where it is there. Percentiles are those that were asked
for with `--metric-percentiles`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from loadband.analysis.level import Numbers
from loadband.analysis.tool_numbers import MS, Found, figure, word

KEYS = ("duration", "completed", "output_throughput", "max_concurrency", "request_rate")


def fits(data: Any) -> bool:
    """Whether a document is such a result."""
    return isinstance(data, dict) and all(key in data for key in KEYS)


def levels(data: Any, file: Path) -> list[Found]:
    """The one level of a document."""
    completed, duration = figure(data, "completed"), figure(data, "duration")
    failed = figure(data, "failed")
    asked = figure(data, "num_prompts")
    if failed is None and asked is not None and completed is not None and asked >= completed:
        failed = asked - completed
    prompt = figure(data, "total_input_tokens")
    numbers = Numbers(
        users=figure(data, "max_concurrency"),
        hold_s=duration,
        ok=completed,
        failed=failed,
        req_s=figure(data, "request_throughput"),
        goodput_req_s=figure(data, "request_goodput"),
        output_tok_s=figure(data, "output_throughput"),
        prompt_tok_s=prompt / duration if prompt is not None and duration else None,
        total_tok_s=figure(data, "total_token_throughput"),
        **_times(data, "ttft", "ttft", ("p90", "p95", "p99")),
        **_times(data, "tpot", "tpot", ("p95", "p99")),
        **_times(data, "e2el", "e2e", ("p95", "p99")),
        itl_p50_s=figure(data, "median_itl_ms", scale=MS),
        itl_p99_s=figure(data, "p99_itl_ms", scale=MS),
    )
    return [Found(_with_e2e(numbers, data), word(data, "model_id"), _left_out(data, file))]


def _times(data: Any, theirs: str, ours: str, percents: tuple[str, ...]) -> dict[str, Any]:
    told = {f"{ours}_mean_s": f"mean_{theirs}_ms", f"{ours}_p50_s": f"median_{theirs}_ms"}
    told |= {f"{ours}_{percent}_s": f"{percent}_{theirs}_ms" for percent in percents}
    return {name: figure(data, key, scale=MS) for name, key in told.items()}


def _with_e2e(numbers: Numbers, data: Any) -> Numbers:
    listed = data.get("latencies")
    if numbers.e2e_mean_s is not None or not isinstance(listed, list):
        return numbers
    # a request that failed has 0 there, or the time to its failure: the mean is of successes only when none failed
    known = [value for value in listed if isinstance(value, float) and value > 0]
    if numbers.failed or not known:
        return numbers
    return replace(numbers, e2e_mean_s=sum(known) / len(known))


def _left_out(data: Any, file: Path) -> str | None:
    rate = data.get("request_rate")
    if rate not in ("inf", None) and rate != float("inf"):
        return f"{file.name}: {rate} requests/s were sent on a schedule: no level of users"
    if not figure(data, "max_concurrency"):
        return f"{file.name}: all prompts were sent at once (no --max-concurrency): no level of users"
    return None
