"""evalscope perf's output: a folder for each concurrency with `benchmark_summary.json` and its neighbours.

Knows: its keys, as written by evalscope 1.14. Must not know: other tools.

Means stand in the summary, percentiles in `benchmark_percentile.json` beside it, the model in `benchmark_args.json`.
A level of users is a run without a rate (-1).
"""

import json
from pathlib import Path
from typing import Any

from loadband.analysis.level import Numbers
from loadband.analysis.tool_numbers import MS, Found, figure, word

KEYS = ("Concurrency", "Success Requests", "Output Throughput (tok/s)")
LATENCIES = (("TTFT (ms)", "ttft", MS, (50, 90, 95, 99)), ("TPOT (ms)", "tpot", MS, (50, 95, 99)),
             ("Latency (s)", "e2e", 1.0, (50, 95, 99)))  # fmt: skip


def fits(data: Any) -> bool:
    """Whether a document is such a summary."""
    return isinstance(data, dict) and all(key in data for key in KEYS)


def levels(data: Any, file: Path) -> list[Found]:
    """The one level of a summary."""
    told: dict[str, Any] = {}
    percentiles = _beside(file, "benchmark_percentile.json")
    rows = {word(row, "Percentiles"): row for row in percentiles} if isinstance(percentiles, list) else {}
    for key, ours, scale, percents in LATENCIES:
        told[f"{ours}_mean_s"] = figure(data, f"Avg {key}", scale=scale)
        for percent in percents:
            told[f"{ours}_p{percent}_s"] = figure(rows.get(f"{percent}%"), key, scale=scale)
    prompt, ok, duration = (figure(data, key) for key in ("Avg Input Tokens", "Success Requests", "Test Duration (s)"))
    numbers = Numbers(
        users=figure(data, "Concurrency"),
        hold_s=duration,
        ok=ok,
        failed=figure(data, "Failed Requests"),
        req_s=figure(data, "Req Throughput (req/s)"),
        output_tok_s=figure(data, "Output Throughput (tok/s)"),
        prompt_tok_s=prompt * ok / duration if prompt is not None and ok is not None and duration else None,
        total_tok_s=figure(data, "Total Throughput (tok/s)"),
        itl_p50_s=figure(rows.get("50%"), "ITL (ms)", scale=MS),
        itl_p99_s=figure(rows.get("99%"), "ITL (ms)", scale=MS),
        **told,
    )
    rate = figure(data, "Request Rate (req/s)")
    name = f"{file.parent.name}/{file.name}"
    left_out = f"{name}: {rate:g} requests/s were sent on a schedule: no level of users" if rate else None
    if not numbers.users:
        left_out = left_out or f"{name}: no concurrency is told: no level of users"
    return [Found(numbers, word(_beside(file, "benchmark_args.json"), "model"), left_out)]


def _beside(file: Path, name: str) -> Any:
    """What stands in a file of the same folder; None when it is missing or no JSON."""
    try:
        return json.loads(file.with_name(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
