"""One level in the order and the words of `vllm bench serve`, so that it compares line by line with what people have.

Knows: those words, widths. Must not know: how a number was measured (docs/metrics.md).

Of one hold: requests that ended in it, tokens that arrived in it. Latencies are of successes; what is not known is
left out, never 0. Inter-token latency is called by the name of what it is.
Reference: vLLM 0.11, vllm/benchmarks/serve.py.
"""

from collections.abc import Iterator

from loadband.analysis.analyse import Analysis
from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from reports.units import named

WIDTH = 50
LABEL_WIDTH = 40
SECTIONS = (("Time to First Token", "TTFT", "ttft"), ("Time per Output Token (excl. 1st token)", "TPOT", "tpot"))
SHORT_NAMES = {"Inter-token": "ITL", "Inter-chunk": "ICL", "Inter-read": "IRL"}


def serving_block(analysis: Analysis, level: Level) -> str:
    """The block, without a line end."""
    return "\n".join([" Serving Benchmark Result ".center(WIDTH, "="), *_lines(analysis, level), "=" * WIDTH])


def _lines(analysis: Analysis, level: Level) -> Iterator[str]:
    yield from _totals(level, analysis.verdict)
    for title, short, column in SECTIONS:
        means = [level.numbers.get(f"{column}_{which}_s") for which in ("mean", "p50", "p99")]
        yield from _section(named(title, analysis.verdict), named(short, analysis.verdict), means)
    gap = analysis.gap_name
    gaps = [level.itl_mean_s, level.numbers.itl_p50_s, level.numbers.itl_p99_s]
    yield from _section(f"{gap} Latency", SHORT_NAMES[gap], gaps)


def _totals(level: Level, verdict: Verdict) -> Iterator[str]:
    numbers, hold_s = level.numbers, level.numbers.hold_s
    rates = {"input": numbers.prompt_tok_s, "generated": numbers.output_tok_s}
    totals = {kind: None if rate is None or hold_s is None else rate * hold_s for kind, rate in rates.items()}
    rows: tuple[tuple[str, float | None, str], ...] = (
        ("Successful requests:", numbers.ok, "{:.0f}"),
        ("Failed requests:", numbers.failed, "{:.0f}"),
        ("Benchmark duration (s):", hold_s, "{:.2f}"),
        ("Total input tokens:", totals["input"], "{:.0f}"),
        ("Total generated tokens:", totals["generated"], "{:.0f}"),
        ("Request throughput (req/s):", numbers.served_req_s, "{:.2f}"),
        ("Output token throughput (tok/s):", numbers.output_tok_s, "{:.2f}"),
        ("Total token throughput (tok/s):", numbers.total_tok_s, "{:.2f}"),
    )
    for label, value, form in rows:
        if value is not None:
            yield _row(label if label.startswith("Total input") else named(label, verdict), form.format(value))


def _section(title: str, short: str, values_s: list[float | None]) -> Iterator[str]:
    """Mean, median and P99 in milliseconds; nothing at all when none is known."""
    if all(value is None for value in values_s):
        return
    yield title.center(WIDTH, "-")
    for which, value in zip(("Mean", "Median", "P99"), values_s, strict=True):
        if value is not None:
            yield _row(f"{which} {short} (ms):", f"{value * 1000:.2f}")


def _row(label: str, value: str) -> str:
    return f"{label:<{LABEL_WIDTH}} {value:<9}".rstrip()
