"""`report.md`: the same answer for a ticket or a pull request, with everything it rests on.

Knows: Markdown. Must not know: formulas.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from loadband.analysis.analyse import Analysis
from loadband.analysis.level import Level
from loadband.analysis.verdict import Verdict
from reports import cells, ramp_words
from reports.baseline import HEADERS as BASELINE_HEADERS
from reports.baseline import baseline_rows, look_at
from reports.how_sure import cost_table, how_sure
from reports.parts import (
    ADAPTER_HEADERS,
    CAUSE_HEADERS,
    SCENARIO_HEADERS,
    TURN_HEADERS,
    adapter_rows,
    cause_rows,
    scenario_rows,
    shown_level,
    turn_rows,
)
from reports.serving_block import serving_block
from reports.units import axis, named, unit
from reports.wording import answer
from reports.work_table import work_table

COLUMNS: tuple[tuple[str, str, float, str | int], ...] = (
    ("users", "users", 1.0, "{:g}"),
    ("requests/s", "offered_req_s", 1.0, "{:g}"),
    ("in flight", "in_flight", 1.0, 3),
    ("hold s", "hold_s", 1.0, "{:.0f}"),
    ("ok", "ok", 1.0, "{:.0f}"),
    ("errors %", "error_rate", 100.0, "{:.2f}"),
    ("output tok/s", "output_tok_s", 1.0, 4),
    ("gain %", "gain_pct", 1.0, "{:+.0f}"),
    ("req/s", "req_s", 1.0, 3),
    ("goodput req/s", "goodput_req_s", 1.0, 3),
    ("TTFT p50 ms", "ttft_p50_s", 1000.0, "{:.0f}"),
    ("TTFT p95 ms", "ttft_p95_s", 1000.0, "{:.0f}"),
    ("TTFT p99 ms", "ttft_p99_s", 1000.0, "{:.0f}"),
    ("TPOT p50 ms", "tpot_p50_s", 1000.0, 3),
    ("E2E p50 s", "e2e_p50_s", 1.0, 3),
    ("E2E p95 s", "e2e_p95_s", 1.0, 3),
    ("E2E from the schedule: mean s", "e2e_planned_mean_s", 1.0, 3),
    ("max s", "e2e_planned_max_s", 1.0, 3),
    ("schedule lag p99 ms", "schedule_lag_p99_s", 1000.0, 3),
    ("left", "abandoned", 1.0, "{:.0f}"),
)
"""Header, column of the step table, factor, format or number of digits. Columns empty at every level are left out."""

OF_TEXT = ("number", "scenario", "adapter", "class", "first at", "first sentence", "ended by", "cache")

SHOWN_OF_RUN = (
    "host", "model", "api", "how", "labels", "server_args", "scenarios", "mix", "prompt_tokens", "long_context_tokens",
    "turns", "sampling", "think_time", "seed", "nonce", "shared_prefix", "adapters", "settings", "reset_cache",
    "preset", "tokens_counted_by", "template_tokens", "plan", "slo", "timeouts", "server", "tool", "locust",
)  # fmt: skip


def markdown(analysis: Analysis, figures: Sequence[tuple[str, str]]) -> str:
    """The file's text; `figures` are captions and paths of pictures, from the report's directory."""
    verdict = analysis.verdict
    parts = [f"# Loadband: {_inline(analysis.title)}", *_answer(analysis)]
    pictures = [f"![{caption}]({path})" for caption, path in figures]
    parts += [*pictures[:1], *_ramp(verdict), "## Levels", _table(verdict), *_baseline(verdict)]
    parts += [*_causes(verdict), *_work(verdict)]
    parts += _by_level("## Scenarios", SCENARIO_HEADERS, scenario_rows, verdict)
    parts += [*_by_level("## LoRA adapters", ADAPTER_HEADERS, adapter_rows, verdict), *_turns(verdict)]
    shown = shown_level(verdict)
    if shown is not None and analysis.run:
        parts += [f"## At {shown.name}", f"```text\n{serving_block(analysis, shown)}\n```"]
    parts += ["## Figures", *pictures[1:]] if pictures[1:] else []
    parts += ["## How sure", how_sure(verdict), *cost_table(verdict)]
    parts += _list("## What speaks against it", _doubts(verdict))
    parts += _list("## Found before load", analysis.findings)
    parts += _list("## Notes", (*analysis.notes, *verdict.notes))
    parts += ["## For comparison", _comparison(verdict)]
    if analysis.run:
        ended = ", ".join(f"{count:,} {status}" for status, count in analysis.statuses.items())
        parts += _list("## The run", [*_facts(analysis.run), f"requests of the whole run: {ended or 'none'}"])
    thresholds = ", ".join(f"`{name}` {value:g}" for name, value in verdict.thresholds.as_dict().items())
    parts += ["## Thresholds", f"{thresholds}. How to read them: docs/verdict.md."]
    return "\n\n".join(parts) + "\n"


def _answer(analysis: Analysis) -> list[str]:
    verdict, sentences = analysis.verdict, answer(analysis)
    said = [f"**{_inline(sentences[0])}**", *(_inline(sentence) for sentence in sentences[1:])]
    return [
        *said,
        f"Confidence: {verdict.confidence} ({verdict.confidence_reason}).",
        f"Throughput is {unit(verdict)}. Exit code {verdict.exit_code:d}.",
    ]


def _inline(text: str) -> str:
    """Text from outside, which must not become markup or a new line."""
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(cells.printable(text).split())


def _table(verdict: Verdict) -> str:
    columns = [c for c in COLUMNS if any(level.numbers.get(c[1]) is not None for level in verdict.levels)]
    header = [*(named(column[0], verdict) for column in columns), "remark", "valid", "marks"]
    lines = [f"| {' | '.join(header)} |", f"|{'---:|' * len(columns)}---|---|---|"]
    for level in verdict.levels:
        row = [_cell(level, name, factor, form) for _, name, factor, form in columns]
        worth = "yes" if level.grade.valid else "client-limited" if level.grade.client_limited else "**no**"
        lines.append(f"| {' | '.join([*row, level.remark, worth, ', '.join(level.grade.marks).replace('_', ' ')])} |")
    return "\n".join(lines)


def _baseline(verdict: Verdict) -> list[str]:
    """Within what a next run lies, and where to look when that is too wide."""
    if verdict.baseline is None or not verdict.baseline.numbers:
        return []
    table = _rows(BASELINE_HEADERS, baseline_rows(verdict.baseline, verdict))
    return ["## Baseline", table, *_list("## What to look at in the environment", look_at(verdict))]


def _ramp(verdict: Verdict) -> list[str]:
    """The pieces that a ramp was read in."""
    if verdict.ramp is None or not verdict.ramp.levels:
        return []
    return ["## The ramp, in pieces: an indication", _rows(ramp_words.HEADERS, ramp_words.ramp_rows(verdict.ramp))]


def _causes(verdict: Verdict) -> list[str]:
    """Failure classes of the whole run with the server's own words."""
    return ["## Why requests failed", _rows(CAUSE_HEADERS, cause_rows(verdict))] if verdict.causes else []


def _work(verdict: Verdict) -> list[str]:
    """What was asked at each level, and what came of it."""
    headers, rows = work_table(verdict)
    return ["## What was asked, and what came", _rows(headers, rows)] if rows else []


def _by_level(
    title: str, headers: Sequence[str], rows_of: Callable[[Level], list[list[str]]], verdict: Verdict
) -> list[str]:
    """Every level in its parts; nothing where none has any."""
    rows = [
        [f"{level.users:g}", *([str(level.numbers.repeat)] if _repeated(verdict) else []), *row]
        for level in verdict.levels
        for row in rows_of(level)
    ]
    first = [axis(verdict), *(["repeat"] if _repeated(verdict) else [])]
    return [title, _rows([*first, *(named(header, verdict) for header in headers)], rows)] if rows else []


def _turns(verdict: Verdict) -> list[str]:
    """First tokens by turn of the conversations, at the level that is shown."""
    level = shown_level(verdict)
    if level is None or not level.turns:
        return []
    return [
        f"## First token by turn of a conversation, at {level.name}",
        _rows(TURN_HEADERS, turn_rows(level)),
    ]


def _repeated(verdict: Verdict) -> bool:
    return len({level.numbers.repeat for level in verdict.levels}) > 1


def _rows(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose text columns stand left."""
    lines = [f"| {' | '.join(headers)} |", f"|{'|'.join('---' if h in OF_TEXT else '---:' for h in headers)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(_inline(cell) for cell in row)} |" for row in rows)])


def _cell(level: Level, name: str, factor: float, form: str | int) -> str:
    value = level.numbers.get(name)
    if value is None:
        return ""
    return form.format(value * factor) if isinstance(form, str) else cells.number(value * factor, form)


def _doubts(verdict: Verdict) -> list[str]:
    doubts = [f"{level.name}: {'; '.join(level.grade.reasons)}" for level in verdict.levels if level.grade.reasons]
    for title, words in (
        ("not checked (the input does not tell)", {w for level in verdict.levels for w in level.grade.not_checked}),
        ("undecided (for want of data)", {w for level in verdict.levels for w in level.grade.undecided}),
    ):
        if words:
            doubts.append(f"{title}: {', '.join(sorted(words)).replace('_', ' ')}")
    return doubts


def _list(title: str, lines: Iterable[str]) -> list[str]:
    items = "\n".join(f"- {_inline(line)}" for line in lines)
    return [title, items] if items else []


def _comparison(verdict: Verdict) -> str:
    checks = verdict.cross_checks
    rows = (
        ("latency first (weight 1)", verdict.latency_first),
        ("throughput first (weight 3)", verdict.throughput_first),
        ("highest throughput measured", checks.peak),
        ("asymptotes meet (N*)", checks.n_star),
        ("Kneedle", checks.kneedle),
    )
    lines = [f"| method | {axis(verdict)} |", "|---|---:|"]
    lines += [f"| {name} | {cells.number(users)} |" for name, users in rows]
    return "\n".join(lines)


def _facts(run: dict[str, Any]) -> list[str]:
    facts = [f"{name}: {cells.plain(run[name])}" for name in SHOWN_OF_RUN if run.get(name) not in (None, "", [], {})]
    times = [name for name in ("started", "ended") if isinstance(run.get(name), int | float)]
    return facts + [f"{name}: {datetime.fromtimestamp(run[name], UTC):%Y-%m-%d %H:%M:%S} UTC" for name in times]
