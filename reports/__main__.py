"""`python -m reports RUN_DIR`, and its commands `curve`, `compare`, `reconcile`: the command line of the analysis.

Knows: arguments, which outputs are written, exit codes. Must not know: formulas, wording.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from loadband.analysis.analyse import Analysis, analyse_locust, analyse_results, analyse_run, analyse_table
from loadband.analysis.cost import Price
from loadband.analysis.locust_files import prefix_of
from loadband.analysis.thresholds import parse_thresholds
from loadband.analysis.tool_results import is_results
from loadband.analysis.verdict_json import as_json
from loadband.errors import LoadbandError, UsageError, complain
from reports.arguments import Parser, above_zero, add_slo, add_threshold, seconds
from reports.console import print_report
from reports.output import printing
from reports.write import write_report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Errors are one line on standard error."""
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except LoadbandError as error:
        complain(error)
        return int(error.code)


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["compare"]:
        from reports import compare  # noqa: PLC0415  (each command imports what it needs: that is half of its time)

        return compare.run(arguments[1:])
    if arguments[:1] == ["reconcile"]:
        from reports import reconcile  # noqa: PLC0415

        return reconcile.run(arguments[1:])
    if arguments[:1] == ["curve"]:
        asked = _curve_parser().parse_args(arguments[1:])
        read = analyse_results if is_results(asked.table) else analyse_table
        analysis = read(asked.table, asked.slo, asked.think, parse_thresholds(asked.threshold), _price(asked))
        _show(analysis, None, as_data=asked.json)
    else:
        asked = _run_parser().parse_args(arguments)
        limits = parse_thresholds(asked.threshold)
        if prefix := prefix_of(asked.run_dir):
            if asked.price_per_hour is not None:
                raise UsageError("--price-per-hour needs tokens, and Locust's files count none: give the run itself")
            if asked.tokenizer is not None:
                raise UsageError("--tokenizer counts the answers of a run, and Locust's files hold none")
            analysis = analyse_locust(prefix, asked.slo, asked.think, limits)
            _show(analysis, None, as_data=asked.json)
        else:
            if asked.think is not None:
                raise UsageError("--think is for tables and for Locust's files: a run knows its own pauses")
            if asked.tokenizer is not None:
                from loadband.analysis.estimate import estimate  # noqa: PLC0415

                estimate(asked.run_dir, asked.tokenizer)
            analysis = analyse_run(asked.run_dir, asked.slo, limits, _price(asked))
            where = None if asked.no_write else write_report(analysis, asked.run_dir)
            _show(analysis, where, as_data=asked.json)
    return int(analysis.verdict.exit_code)


def _show(analysis: Analysis, where: Path | None, *, as_data: bool) -> None:
    with printing():
        if as_data:
            print(json.dumps(as_json(analysis.verdict), indent=1, ensure_ascii=False, allow_nan=False))
        else:
            print_report(analysis, None if where is None else str(where))


def _price(asked: argparse.Namespace) -> Price | None:
    """The price of the hardware, when one is given."""
    if asked.price_per_hour is None:
        if asked.accelerators is not None:
            raise UsageError("--accelerators counts what --price-per-hour prices: give both")
        return None
    return Price(asked.price_per_hour, asked.accelerators or 1.0)


def _run_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m reports",
        description="The verdict of a run: best band, saturation, failure point. Writes RUN_DIR/report/.",
        epilog="Other commands, each with its own --help: python -m reports curve TABLE.csv for a table of somebody's"
        " results; python -m reports compare RUN RUN for what changed between runs;"
        " python -m reports reconcile RUN for the same level as other tools compute it.",
    )
    parser.add_argument(
        "run_dir", type=Path, metavar="RUN_DIR", help="directory of a run, finished or not; or RUN_DIR/locust, the"
        " prefix of Locust's own CSV files: levels from those alone, printed and not written",
    )  # fmt: skip
    parser.add_argument("--no-write", action="store_true", help="print the verdict, and write no report")
    parser.add_argument(
        "--tokenizer", metavar="NAME", help="first count the answers whose tokens the server did not count, where a run"
        " with --tokenizer ended without that: a folder, a tokenizer.json or a hub name; writes into the run's files",
    )  # fmt: skip
    _common(parser)
    return parser


def _curve_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m reports curve",
        description="The verdict of somebody's results: a table with a row per level (users, and output_tok_s,"
        " total_tok_s or req_s), or what vllm bench serve, GuideLLM or evalscope perf saved.",
    )
    parser.add_argument(
        "table", type=Path, metavar="RESULT", help="TABLE.csv (columns: docs/verdict.md), or a tool's JSON or folder"
    )
    _common(parser)
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--think", type=seconds, metavar="S",
        help="mean pause of a user between requests, seconds: for tables and Locust's files, a run knows its own",
    )  # fmt: skip
    parser.add_argument(
        "--price-per-hour", type=above_zero, metavar="X",
        help="price of one accelerator for an hour: what a million output tokens cost at each level, and where least",
    )  # fmt: skip
    parser.add_argument(
        "--accelerators", type=above_zero, metavar="N", help="how many accelerators the server runs on (default 1)"
    )
    add_slo(parser)
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON, and nothing else")
    add_threshold(parser)


if __name__ == "__main__":
    sys.exit(main())
