"""`python -m reports reconcile RUN`: one level as other tools would have computed it, beside ours.

Knows: arguments, how a number is written. Must not know: anybody's definitions.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from loadband import rundir
from loadband.analysis.level import people
from loadband.analysis.peers import METRICS, Reading
from loadband.analysis.reconcile import Reconciled, reconcile
from loadband.analysis.significant import number
from loadband.analysis.thresholds import parse_thresholds
from reports import cells
from reports.arguments import Parser, add_threshold
from reports.output import printing, report_console
from reports.units import spoken

LABELS = {
    "completed": "successes", "failed": "failures", "duration_s": "duration", "req_s": "requests/s",
    "output_tok_s": "output tokens/s", "ttft_mean_s": "TTFT mean", "ttft_p50_s": "TTFT p50", "ttft_p99_s": "TTFT p99",
    "tpot_mean_s": "TPOT mean", "tpot_p50_s": "TPOT p50", "tpot_p99_s": "TPOT p99", "itl_mean_s": "ITL mean",
    "e2e_mean_s": "E2E mean", "e2e_p50_s": "E2E p50", "e2e_p99_s": "E2E p99",
}  # fmt: skip
UNTOLD = "not in the records"


def run(arguments: Sequence[str]) -> int:
    """One level of one run; returns the exit code. Raises LoadbandError."""
    asked = _parser().parse_args(arguments)
    told = reconcile(asked.run_dir, asked.at, parse_thresholds(asked.threshold))
    with printing():
        if asked.json:
            print(json.dumps(_as_json(told), indent=1, ensure_ascii=False, allow_nan=False))
        else:
            _show(told)
    return 0


def _show(told: Reconciled) -> None:
    console = report_console()
    worth = "" if told.level.grade.valid else ", a level that is not valid"
    title = (
        f"{told.analysis.title}, {people(told.level.users)}{worth}: {told.requests:,} requests that ended in the hold"
    )
    console.print(Text(spoken(title, told.analysis.verdict), style="italic"), soft_wrap=True)
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("")
    for name in ("Loadband", *told.theirs):
        table.add_column(name, justify="right", overflow="fold")
    for metric in METRICS:
        mine = told.ours[metric]
        table.add_row(
            LABELS[metric], _value(metric, mine),
            *(_reading(metric, readings[metric]) for readings in told.theirs.values()),
        )  # fmt: skip
    console.print(table)
    console.print("\nWhy they differ:")
    for reason in told.reasons:
        said = f"{', '.join(reason.tools)}; {_named(reason.metrics)}: {reason.text}."
        console.print(Text(said), soft_wrap=not sys.stdout.isatty())
    console.print("A range: the tool stamps a chunk that no record keeps, between the two.")


def _named(metrics: Sequence[str]) -> str:
    """`TTFT mean, p50`: the first word once."""
    groups: dict[str, list[str]] = {}
    for metric in metrics:
        first, _, rest = LABELS[metric].partition(" ")
        groups.setdefault(first, []).append(rest)
    return "; ".join(" ".join(filter(None, (first, ", ".join(rests)))) for first, rests in groups.items())


def _value(metric: str, value: float | None) -> str:
    if value is None:
        return cells.NOTHING
    if metric in ("completed", "failed"):
        return f"{value:,.0f}"
    return cells.time(value) if metric.endswith("_s") and metric not in ("req_s", "output_tok_s") else _rate(value)


def _rate(value: float) -> str:
    return cells.number(value, digits=4)


def _reading(metric: str, reading: Reading) -> str:
    if reading.low is None or reading.high is None:
        return UNTOLD
    low, high = _value(metric, reading.low), _value(metric, reading.high)
    return low if low == high else f"{low} – {high}"


def _as_json(told: Reconciled) -> dict[str, Any]:
    return {
        "schema": rundir.SCHEMA,
        "users": told.level.users,
        "requests": told.requests,
        "ours": {metric: number(value) for metric, value in told.ours.items()},
        "theirs": {
            tool: {metric: {"low": number(each.low), "high": number(each.high)} for metric, each in readings.items()}
            for tool, readings in told.theirs.items()
        },
        "reasons": [
            {"tools": list(each.tools), "metrics": list(each.metrics), "reason": each.text} for each in told.reasons
        ],
    }


def _parser() -> Parser:
    parser = Parser(
        prog="python -m reports reconcile",
        description="One level computed again under the definitions of vllm bench serve, GuideLLM, AIPerf and evalscope"
        " perf, with the reason of each difference.",
        epilog="What the records do not tell is said, never guessed.",
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="directory of a run")
    parser.add_argument("--at", type=float, metavar="USERS", help="the level; else that of the operating point")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, and nothing else")
    add_threshold(parser)
    return parser
