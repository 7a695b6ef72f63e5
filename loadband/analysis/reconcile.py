"""One level of a run under the definitions of other tools, beside ours, with the reason of each difference.

Knows: why definitions differ. Must not know: printing, how the run was made.

All columns are of the same requests: those that ended in the hold. Another tool would have started its own run, waited
for its tail and divided by all of that time; here only its arithmetic is applied, so a difference is one of definition.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from loadband.analysis import windows
from loadband.analysis.analyse import Analysis, analyse_files
from loadband.analysis.level import Level
from loadband.analysis.peers import (
    METRICS,
    Peer,
    Reading,
    Readings,
    read_aiperf,
    read_evalscope,
    read_guidellm,
    read_vllm,
)
from loadband.analysis.run_files import read_run_files
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import steps_of
from loadband.errors import UnansweredError
from loadband.record import Status, TokenSource

SAME = 0.005
"""Numbers nearer than this are called the same."""

_WHOLE = (
    "its successes, whole, over the time from the first start to the last end: beginning and tail are inside; ours is "
    "by the second in which tokens arrived or requests ended, inside the hold"
)
_SPAN = "from the first start to the last end, not the hold"
_SAME = "the same, with interpolated percentiles"
_READS = "gaps between events, several in one read as gaps of almost 0; ours are gaps between reads"
_UNCOUNTED = "the server counted no tokens: this tool would count text by a tokenizer or take one for each chunk"

PEERS = (
    Peer("vllm bench", read_vllm, {
        "completed": "a stream that breaks after its first chunk (an error inside a 200) is a success",
        "failed": "a stream that breaks after its first chunk (an error inside a 200) is a success",
        "duration": _SPAN, "req": _WHOLE, "output": _WHOLE,
        "ttft": "stops at the first chunk with `choices`, also one that only names the role: between our first byte "
        "and our TTFT; percentiles are interpolated",
        "tpot": "(last - first chunk of any kind) / (tokens - 1): the closing chunk without text is inside",
        "itl": "gaps between all chunks, empty ones too, each stamped when it is parsed: no record keeps those",
        "e2e": "ends at the last chunk with `choices`, the closing one: between our last token and the end of the body",
    }),
    Peer("GuideLLM", read_guidellm, {
        "duration": _SPAN, "req": _WHOLE, "output": _WHOLE,
        "ttft": "begins when the header is sent: the connection is left out",
        "tpot": "what it calls ITL; weighted by tokens, so long answers count more. What it calls time per output "
        "token is E2E / tokens, the first one inside",
        "itl": "has no gaps between events: its ITL is the mean of each request (the row TPOT)",
        "e2e": "ends with the stream ([DONE]), begins when the header is sent",
    }),
    Peer("AIPerf", read_aiperf, {
        "duration": _SPAN, "req": _WHOLE, "output": _WHOLE,
        "ttft": _SAME, "tpot": f"what it calls ITL; {_SAME}", "itl": _READS, "e2e": _SAME,
    }),
    Peer("evalscope", read_evalscope, {
        "duration": _SPAN, "req": _WHOLE, "output": _WHOLE,
        "itl": _READS,
        "tpot": "(last chunk of any kind - first text) / (tokens - 1): the closing and the `usage` chunk are inside",
        "e2e": "ends at the last chunk of any kind, `usage` among them: up to the end of the body",
    }),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One level, ours and theirs."""

    analysis: Analysis
    level: Level
    requests: int
    ours: dict[str, float | None]
    theirs: dict[str, Readings]
    """By the tool's name."""
    reasons: tuple["Reason", ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some numbers of some tools differ, or are not told."""

    tools: tuple[str, ...]
    metrics: tuple[str, ...]
    text: str


def reconcile(path: Path, users: float | None, limits: Thresholds) -> Reconciled:
    """The level of that many users, else that of the operating point. Raises UsageError, UnansweredError."""
    files = read_run_files(path)
    analysis = analyse_files(files, None, limits)
    level = _level(analysis, users)
    requests, hold = windows.with_end(files.requests), None
    for step in steps_of(files.steps, None):
        if step.step == level.numbers.step:
            hold = step.hold
    ended = requests.iloc[:0] if hold is None else windows.ended_inside(requests, hold)
    judged = ended[ended["status"].isin([Status.OK, Status.FAILED])]
    if not (judged["status"] == Status.OK).any():
        raise UnansweredError(f"no request succeeded at {level.users:g} users: choose another level with --at")
    theirs = {peer.name: peer.read(judged) for peer in PEERS}
    ours = _ours(level)
    return Reconciled(analysis, level, len(judged), ours, theirs, _reasons(ours, theirs, judged))


def _level(analysis: Analysis, users: float | None) -> Level:
    levels = [level for level in analysis.verdict.levels if level.numbers.ok]
    if not levels:
        raise UnansweredError("no level was held: there is nothing to compute again")
    wanted = users if users is not None else analysis.verdict.operating.users
    if wanted is None:
        return levels[-1]
    at = [level for level in levels if level.users == wanted]
    below = [level for level in levels if level.users <= wanted]
    if users is not None and not at:
        tested = ", ".join(f"{level.users:g}" for level in levels)
        raise UnansweredError(f"{users:g} users is no level of this run: choose one of {tested}")
    return (at or below or levels)[-1]


def _ours(level: Level) -> dict[str, float | None]:
    numbers = level.numbers
    told = {name: numbers.get(name) for name in METRICS}
    return told | {
        "completed": numbers.ok,
        "failed": numbers.failed,
        "duration_s": numbers.hold_s,
        "req_s": numbers.served_req_s,
        "itl_mean_s": level.itl_mean_s,
    }


def _reasons(
    ours: dict[str, float | None], theirs: dict[str, Readings], judged: pd.DataFrame
) -> tuple[Reason, ...]:  # fmt: skip
    """Each reason once, with the tools and the metrics that it speaks of."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    uncounted = bool((judged.loc[judged["status"] == Status.OK, "token_source"] != TokenSource.USAGE).any())
    for metric in METRICS:
        for peer in PEERS:
            if _agree(ours[metric], theirs[peer.name][metric]):
                continue
            text = _UNCOUNTED if uncounted and metric == "output_tok_s" else peer.reason(metric)
            tools, metrics = found.setdefault(text, ({}, {}))
            tools[peer.name] = metrics[metric] = None
    return tuple(Reason(tuple(tools), tuple(metrics), text) for text, (tools, metrics) in found.items() if text)


def _agree(mine: float | None, reading: Reading) -> bool:
    if reading.low is None or reading.high is None or mine is None:
        return mine is None and reading.low is None
    return max(abs(reading.low - mine), abs(reading.high - mine)) <= SAME * abs(mine)
