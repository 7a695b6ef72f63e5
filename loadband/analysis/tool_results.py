"""Results that another tool wrote, one file or a folder of them, as levels.

Knows: which importer reads what, that files of one folder are one ladder. Must not know: a tool's keys (its importer
does), the curve.

A level of such a result is a run of its own: its throughput is over the time from the first start to the last end, and
its first token is what the tool calls so (`peers` has the definitions; the note says which tool). What a tool does not
write is *not checked*. A result of a rate (open loop), or of a burst without a limit of concurrency, is no level of
users and is left out, with a note. Levels of different models are refused like tables of different builds.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadband.analysis import evalscope, guidellm, vllm_bench
from loadband.analysis.ladder import check_ladder
from loadband.analysis.level import Grade, Level, Numbers
from loadband.analysis.table_checks import check_table, measured_of
from loadband.analysis.table_file import numbered
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.tool_numbers import Found
from loadband.analysis.validity import check_length
from loadband.errors import UnansweredError, UsageError
from loadband.slo import Limit

IMPORTERS: tuple[tuple[str, Callable[[Any], bool], Callable[[Any, Path], list[Found]]], ...] = (
    ("vllm bench serve", vllm_bench.fits, vllm_bench.levels),
    ("GuideLLM", guidellm.fits, guidellm.levels),
    ("evalscope perf", evalscope.fits, evalscope.levels),
)
UNCHECKED = ("users", "client", "drift", "waves", "outage")
LARGEST = 500_000_000
"""Bytes: a result with every request in it is large, but not so large."""


def is_results(path: Path) -> bool:
    """Whether this may be what another tool wrote: JSON, or a folder with JSON in it."""
    return path.suffix == ".json" or (path.is_dir() and next(path.rglob("*.json"), None) is not None)


def read_results(
    path: Path, think_s: float | None, slo: tuple[Limit, ...], limits: Thresholds
) -> tuple[tuple[Level, ...], list[str]]:  # fmt: skip
    """Levels rising in users, and notes. Raises UsageError when no tool's result is there."""
    found: list[Found] = []
    tools: dict[str, int] = {}
    ignored = 0
    for file, data in _documents(path):
        for tool, fits, levels in IMPORTERS:
            if fits(data):
                found += levels(data, file)
                tools[tool] = tools.get(tool, 0) + 1
                break
        else:
            ignored += 1
    if not tools:
        names = ", ".join(name for name, _, _ in IMPORTERS)
        raise UsageError(f"{path} holds no result of {names} in a form that is known: give what one of them saved")
    notes = [f"results of {tool}: its own definitions of TTFT, of the end and of throughput" for tool in tools]
    notes += [f"{ignored} other JSON documents were left alone"] if ignored and path.is_file() else []
    notes += sorted({each.left_out for each in found if each.left_out})
    kept = [each for each in found if each.left_out is None]
    if not kept:
        raise UnansweredError(f"{path} holds no level of users: {'; '.join(notes[len(tools) :])}")
    levels_found = [_level(each, think_s, slo, limits) for each in kept]
    levels_found = numbered(sorted(levels_found, key=lambda level: level.users))
    levels_found.sort(key=lambda level: (level.numbers.repeat, level.users))
    return check_table(check_ladder(levels_found, limits), limits), notes


def _documents(path: Path) -> Iterator[tuple[Path, Any]]:
    """Every JSON document of a file, or of all files below a folder, with its file."""
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    seen: dict[int, Path] = {}
    for file in files:
        try:
            if file.stat().st_size > LARGEST:
                raise UsageError(f"{file} is larger than {LARGEST:,} bytes: save the result without single requests")
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"cannot read {file} ({error.strerror}): give what a tool saved") from error
        if (first := seen.setdefault(hash(text), file)) != file and "{" in text:
            raise UsageError(f"{file} is a copy of {first}, and would count as a repeat that agrees: remove one")
        for data in _parsed(text, file, alone=len(files) == 1):
            yield file, data


def _parsed(text: str, file: Path, *, alone: bool) -> list[Any]:
    """One document, or one on each line (`--append-result`). A file that is none is an error only when asked for."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError) as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            if alone:
                raise UsageError(f"{file} is no JSON ({error}): give what a tool saved, whole") from error
            return []


def _level(found: Found, think_s: float | None, slo: tuple[Limit, ...], limits: Thresholds) -> Level:
    numbers = _completed(found.numbers)
    return Level(
        numbers=numbers,
        grade=check_length(Grade(not_checked=UNCHECKED), numbers, limits),
        server_failed=numbers.failed,
        think_s=0.0 if think_s is None else think_s,
        build=found.model,
        measured=tuple(measured_of(limit, numbers) for limit in slo),
    )


def _completed(numbers: Numbers) -> Numbers:
    """What follows from the others: shares, rates of tokens, requests in flight by Little's law."""
    ok, failed, hold_s = numbers.ok, numbers.failed, numbers.hold_s
    judged = None if ok is None or failed is None else ok + failed
    tpot, e2e = numbers.tpot_mean_s, numbers.e2e_mean_s
    output, prompt = numbers.output_tok_s, numbers.prompt_tok_s
    total = numbers.total_tok_s if output is None or prompt is None else output + prompt
    return replace(
        numbers,
        requests=judged if numbers.requests is None else numbers.requests,
        error_rate=failed / judged if failed is not None and judged else None,
        req_s=judged / hold_s if judged is not None and hold_s else numbers.req_s,
        in_flight=ok / hold_s * e2e if ok is not None and hold_s and e2e else None,
        tok_s_user=1 / tpot if tpot else None,
        total_tok_s=total,
    )
