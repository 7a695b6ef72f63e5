"""`python -m reports compare A B [C ...]`: what changed from run to run, and whether that is more than noise.

Knows: arguments, where a side comes from, outputs, exit codes. Must not know: formulas, wording.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadband import rundir
from loadband.analysis.analyse import analyse_locust, analyse_results, analyse_table
from loadband.analysis.comparison import Comparison, compare
from loadband.analysis.locust_files import prefix_of
from loadband.analysis.operating_value import Factor
from loadband.analysis.regression_gate import FAILED, UNDECIDED, Ruling, parse_gates, rulings
from loadband.analysis.side import Side, side_of_results, side_of_run
from loadband.analysis.significant import number
from loadband.analysis.suffering import Suffering, sufferings
from loadband.analysis.thresholds import Thresholds, parse_thresholds
from loadband.analysis.tool_results import is_results
from loadband.errors import ExitCode, UsageError
from reports.arguments import Parser, add_threshold, seconds
from reports.compare_text import print_comparison
from reports.output import printing


def run(arguments: Sequence[str]) -> int:
    """One comparison; returns the exit code. Raises LoadbandError."""
    asked = _parser().parse_args(arguments)
    if len(asked.sides) < 2:
        raise UsageError("one run is no comparison: give two or more, the baseline first")
    gates = parse_gates(asked.fail_on) if asked.fail_on else ()
    limits = parse_thresholds(asked.threshold)
    names = _names([*asked.sides, *asked.baseline])
    read = [
        _side(path, name, asked.think, limits)
        for path, name in zip([*asked.sides, *asked.baseline], names, strict=True)
    ]
    sides, again = read[: len(asked.sides)], read[len(asked.sides) :]
    comparison = compare(sides, again, asked.vary, asked.at)
    judged = rulings(gates, comparison)
    code = _exit_code(judged)
    if asked.figure is not None:
        _draw(comparison, asked.figure)
    with printing():
        if asked.json:
            print(json.dumps(_as_json(comparison, judged, code), indent=1, ensure_ascii=False, allow_nan=False))
        else:
            print_comparison(comparison, judged, int(code))
    return int(code)


def _exit_code(judged: Sequence[Ruling]) -> ExitCode:
    results = {each.result for each in judged}
    if FAILED in results:
        return ExitCode.GATE_FAILED
    return ExitCode.UNANSWERED if UNDECIDED in results else ExitCode.OK


def _side(path: Path, name: str, think_s: float | None, limits: Thresholds) -> Side:
    if prefix := prefix_of(path):
        return side_of_results(analyse_locust(prefix, None, think_s, limits), name)
    if not (path / rundir.RUN_JSON).exists() and is_results(path):
        return side_of_results(analyse_results(path, None, think_s, limits), name)
    if not path.is_file():
        return side_of_run(path, name, limits)
    return side_of_results(analyse_table(path, None, think_s, limits), name)


def _names(paths: Sequence[Path]) -> list[str]:
    """The last part of each path; the whole of those that share it."""
    last = [path.name or str(path) for path in paths]
    return [name if last.count(name) == 1 else str(path) for name, path in zip(last, paths, strict=True)]


def _draw(comparison: Comparison, path: Path) -> None:
    if path.suffix != ".png":
        raise UsageError(f"--figure {path}: write a name that ends in .png (an SVG is put beside it)")
    from reports.compare_figure import draw_comparison  # noqa: PLC0415
    from reports.figure import save  # noqa: PLC0415

    try:
        save(draw_comparison(comparison), path)
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}): choose another place with --figure") from error


def _as_json(comparison: Comparison, judged: Sequence[Ruling], code: ExitCode) -> dict[str, Any]:
    """Schema 1: the chain, the effects of each run against the first, by scenario too, the gates."""
    return {
        "schema": rundir.SCHEMA,
        "exit_code": int(code),
        "metric": comparison.metric,
        "levels": list(comparison.levels),
        "reference_users": number(comparison.reference),
        "chain": [
            {
                "name": link.name,
                "change": {each.key: [each.one, each.other] for each in link.change},
                "users": number(link.users),
                "value": number(link.value),
                "to_previous": _factor(link.to_previous),
                "to_first": _factor(link.to_first),
                "confidence": link.confidence,
                "reason": link.reason,
            }
            for link in comparison.chain
        ],
        "effects": [
            {
                "run": side.name,
                "metric": each.metric,
                "users": each.users,
                "before": number(each.before),
                "after": number(each.after),
                "change": number(each.change),
                "low": number(each.low),
                "high": number(each.high),
                "noise": each.noise,
                "beyond_noise": each.counts,
            }
            for side, found in zip(comparison.sides[1:], comparison.effects, strict=True)
            for each in found
        ],
        "scenarios": [
            {"run": each.run, "scenario": each.scenario, "users": each.users} | _felt(each)
            for each in sufferings(comparison.sides, comparison.levels)
        ],
        "gates": [
            {"gate": each.gate, "run": each.run, "result": each.result, "reason": each.reason} for each in judged
        ],
        "notes": list(comparison.notes),
    }


def _felt(each: Suffering) -> dict[str, Any]:
    names = ("ok", "ttft_p50_s", "ttft_p95_s")
    ends = {"before": each.before, "after": each.after}
    return {name: {end: number(getattr(felt, name)) for end, felt in ends.items()} for name in names}


def _factor(factor: Factor | None) -> dict[str, Any] | None:
    if factor is None:
        return None
    return {
        "value": number(factor.value), "low": number(factor.low), "high": number(factor.high),
        "beyond_noise": factor.counts,
    }  # fmt: skip


def _parser() -> Parser:
    parser = Parser(
        prog="python -m reports compare",
        description="What changed from run to run, at each level and at the operating point, and whether it is more"
        " than noise. Unlike runs are refused by the name of what differs.",
        epilog="For example: python -m reports compare runs/before runs/after --vary max_num_seqs"
        ' --fail-on "output_tok_s<-5%%"',
    )
    parser.add_argument(
        "sides", nargs="+", type=Path, metavar="RUN",
        help="the baseline first: run directories, tables (.csv), other tools' results or prefixes of Locust's files",
    )  # fmt: skip
    parser.add_argument(
        "--vary", action="append", default=[], metavar="KEY",
        help="what is under test and may differ: a label, a start flag of the server (max_num_seqs) or any condition",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", action="append", default=[], type=Path, metavar="RUN",
        help="a further run of the first: with three or more values of a level, their spread is the noise",
    )  # fmt: skip
    parser.add_argument("--at", type=float, metavar="USERS", help="compare at this level only")
    parser.add_argument(
        "--fail-on", metavar="LIMITS",
        help='exit with 1 when a change is beyond a limit and beyond noise: "output_tok_s<-5%%,ttft_p95@32>+10%%"; '
        "without @users at the baseline's operating point",
    )  # fmt: skip
    parser.add_argument("--figure", type=Path, metavar="FILE.png", help="draw the curves over each other")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON, and nothing else")
    parser.add_argument(
        "--think", type=seconds, metavar="S", help="mean pause of a user, seconds: for tables and Locust's files"
    )
    add_threshold(parser)
    return parser
