"""What the answers themselves tell of server and way: held back, degenerate, of another model, at a limit, asked twice.

Knows: flags of `requests.csv`, the limits of `run.json`. Must not know: what a level's throughput is worth.

Nothing here makes a level invalid: tokens are counted in the second in which they arrived, however they came.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.analysis import windows
from loadband.analysis.level import Grade
from loadband.analysis.measure import HoldData
from loadband.analysis.validity import TIMEOUTS
from loadband.record import Status, TokenSource

WITHIN = 0.99
"""From this share of a limit on a sample lies at it."""
AT_LIMIT_SHARE = 0.02
BUFFERED_SHARE = 0.10
"""Of the answers of a level: with more of them held back its token speed is that of the others alone."""
FEW_SHARE = 0.05
"""Less is a rare event and not worth a note."""


WAVE_USERS, WAVE_TIMES = 5, 2.0
"""Of fewer users' first requests nothing is said; so many times the others' TTFT, and they are a wave of their own."""


def check_answers(
    grade: Grade, data: HoldData, timeouts: Mapping[str, float | None], requests: pd.DataFrame | None = None
) -> Grade:
    """Marks of a level: answers held back on their way, samples at one of the client's limits, an opening wave.

    `requests`: of the whole run, to tell which request was a user's first at the level.
    """
    ok = data.ok
    if requests is not None and (told := _first_wave(ok, requests)):
        grade = grade.mark("first_wave", told)
    if len(ok) and (share := float(has_flag(ok, "buffered").mean())) > BUFFERED_SHARE:
        rest = "no token speed is told" if share == 1 else "token speed is that of the others"
        grade = grade.mark("buffered", f"{share:.0%} of the answers came in lumps: {rest}")
    for name, column, _ in TIMEOUTS:
        limit, values = timeouts.get(f"{name}_s"), windows.numbers(ok, column)
        if not limit or not values.size:
            continue
        share = float((values >= WITHIN * limit).mean())
        if share >= AT_LIMIT_SHARE:
            told = f"{share:.0%} of the values of {column} lie within 1 % of the {name.replace('_', ' ')} limit"
            grade = grade.mark("at_limit", f"{told} of {limit:g} s: it cuts the numbers off, raise it")
    return grade


def _first_wave(ok: pd.DataFrame, requests: pd.DataFrame) -> str | None:
    """What the users' first requests at a level do to it, when they are among the successes and unlike the others."""
    steps = ok["step"].dropna().unique()
    of_steps = requests.loc[requests["step"].isin(steps), ["step", "user", "started_at"]].sort_values("started_at")
    first = ok.index.isin(of_steps.drop_duplicates(["step", "user"]).index)
    early, later = windows.numbers(ok[first], "ttft_s"), windows.numbers(ok[~first], "ttft_s")
    if early.size < WAVE_USERS or not later.size or np.median(early) <= WAVE_TIMES * np.median(later):
        return None
    return (
        f"{early.size:,} of {early.size + later.size:,} answers are those to their user's first request here, TTFT "
        f"{np.median(early):.3g} s at the median against {np.median(later):.3g} s: --settle auto and --warmup auto "
        "keep the opening wave out"
    )


def notes_on_answers(requests: pd.DataFrame, run: Mapping[str, Any]) -> list[str]:
    """Notes on a run's answers, warm-up among them."""
    ok = requests.loc[requests["status"] == Status.OK, ["flags", "token_source"]]
    notes = []
    if len(ok) and (share := float(has_flag(ok, "buffered").mean())) > FEW_SHARE:
        notes.append(
            f"{share:.0%} of the answers came in lumps, not token by token: their TPOT and ITL are left out, and their "
            f"TTFT is when the first lump came. {_likely_cause(run)}"
        )
    if len(ok) and (share := float(has_flag(ok, "degenerate").mean())) > FEW_SHARE:
        notes.append(
            f"{share:.0%} of the answers are degenerate (no text, broken characters, or one token over and over): "
            "look at what the server says before its speed is believed"
        )
    if share := float((ok["token_source"] == TokenSource.ESTIMATED).mean()) if len(ok) else 0.0:
        by = (run.get("estimated") or {}).get("tokenizer") or "a tokenizer"
        notes.append(
            f"output tokens of {share:.0%} of the answers are estimated: the server told no usage, {by} counted "
            "their whole texts after the run"
        )
    return notes + _retries(requests) + _models(requests)


def _retries(requests: pd.DataFrame) -> list[str]:
    """A note where failed requests were asked again: each attempt is a request of its own in all numbers."""
    again = requests[requests["attempts"] > 1]
    if again.empty:
        return []
    felt = windows.numbers(again[again["status"] == Status.OK], "felt_s")
    told = f"; answers that came so took their users {np.median(felt):.3g} s at the median" if felt.size else ""
    return [
        f"numbers include retries: {len(again):,} of {len(requests):,} requests are second or later attempts; each "
        "attempt counts as a request, in load and error rate too, and its latency is its own (felt_s in requests.csv "
        f"counts from the first attempt{told})"
    ]


def _likely_cause(run: Mapping[str, Any]) -> str:
    server = str((run.get("server") or {}).get("header") or "")
    if "nginx" in server.lower() or "openresty" in server.lower():
        return f"The server calls itself {server}: set proxy_buffering off there, and no gzip for text/event-stream"
    return (
        "Likely a proxy on the way that buffers (nginx: proxy_buffering off), one that compresses (gzip), or a server "
        "that does not stream: ask the server itself, past the proxy"
    )


def _models(requests: pd.DataFrame) -> list[str]:
    """A note where answers of one target, without adapters, name several models."""
    told = requests[["started_at", "model_answered", "adapter"]]
    named = told[(told["model_answered"] != "") & (told["adapter"] == "")]
    counts = named["model_answered"].value_counts()
    if len(counts) < 2:
        return []
    first = named.sort_values("started_at")["model_answered"].iloc[0]
    models = ", ".join(f"{name} ({count:,})" for name, count in counts.head(5).items())
    return [f"the model changed inside the run: it began with {first}, answers name {models}; a fallback?"]


def has_flag(requests: pd.DataFrame, flag: str) -> NDArray[np.bool_]:
    """Which requests carry a flag."""
    return windows.flagged(requests, re.compile(rf"(?:^|;){flag}(?:;|$)"))
