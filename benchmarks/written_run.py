"""A run directory of any number of requests, written in a minute: for what a report costs, not for what it says.

Closed-loop users against a server with places for so many: up to those an answer takes TTFT + tokens x TPOT, beyond
them users wait their turn, so throughput is flat. Every number is drawn from a seed; all files are those of a real run,
with two workers.

Knows: the columns of a run directory. Must not know: how a verdict is found.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.histogram import Histogram
from loadband.rundir import COLUMNS, HISTOGRAMS, REQUESTS, SECONDS, STEPS, WORKERS, RunDirectory

Floats = NDArray[np.float64]

EPOCH = 1_790_000_000
LEVELS = (8, 16, 32, 64, 96, 128, 192, 256, 320, 384, 448, 512)
SLOTS = 256
TTFT_S, TPOT_S = 0.1, 0.02
TOKENS = (20, 100)
SETTLE_S = 10
WORKER_NAMES = ("w1", "w2")
WHOLE = ("http_status", "events", "output_tokens", "prompt_tokens")
"""Columns of whole numbers that a request may lack."""


@dataclass(frozen=True, slots=True)
class Place:
    """One step."""

    step: int
    repeat: int
    users: int
    begin: int
    """Unix seconds; users come here, and the hold begins `SETTLE_S` later."""
    end: int


def places(requests: int, levels: tuple[int, ...], passes: int) -> list[Place]:
    """Steps of equal length in which about so many requests end."""
    answer_s = TTFT_S + (sum(TOKENS) / 2 - 1) * TPOT_S
    each_s = round(requests * answer_s / passes / sum(min(users, SLOTS) for users in levels)) + 1
    climbs = [(repeat, users) for repeat in range(1, passes + 1) for users in levels]
    return [
        Place(number + 1, repeat, users, EPOCH + number * each_s, EPOCH + (number + 1) * each_s)
        for number, (repeat, users) in enumerate(climbs)
    ]


def write_run(
    path: Path, requests: int, levels: tuple[int, ...] = LEVELS, passes: int = 3, seed: int = 1
) -> int:  # fmt: skip
    """Write the directory; returns how many requests are in it, about as many as asked for."""
    draw, steps, written = np.random.default_rng(seed), places(requests, levels, passes), 0
    directory = RunDirectory.create(path)
    for place in steps:
        directory.appender(STEPS).append(
            [place.step, place.repeat, place.users, None, place.begin, place.begin + 1, place.begin + SETTLE_S,
             place.end, "hold"]
        )  # fmt: skip
        asked = _asked(place, draw)
        written += _write_requests(path, place, asked, draw, written)
        _write_seconds(directory, place, asked)
        _write_histograms(directory, place, len(asked["started"]))
    plan = {"levels": list(levels), "hold": f"{steps[0].end - steps[0].begin - SETTLE_S}s", "settle_s": SETTLE_S}
    directory.write_run({
        "tool": "written", "started": EPOCH, "ended": steps[-1].end + 5, "how": "plan", "host": "http://gpu1:8000",
        "model": "m", "scenarios": ["interactive"], "slo": "ttft_p95<=1s,error_rate<=1%", "findings": [],
        "plan": {**plan, "max_hold_s": 600.0, "repeats": passes}, "timeouts": {"connect_s": 10.0, "total_s": 600.0},
    })  # fmt: skip
    directory.close()
    return written


def _asked(place: Place, draw: np.random.Generator) -> dict[str, Floats]:
    """Requests of one step: user, start, TTFT, tokens, end."""
    wait_s = (TTFT_S + (sum(TOKENS) / 2 - 1) * TPOT_S) * max(place.users / SLOTS - 1, 0.0)
    shortest_s = 0.8 * TTFT_S + 0.9 * wait_s + (TOKENS[0] - 1) * TPOT_S
    shape = (place.users, int((place.end - place.begin) / shortest_s) + 1)
    tokens = draw.integers(TOKENS[0], TOKENS[1] + 1, shape)
    ttft = TTFT_S * draw.uniform(0.8, 1.2, shape) + wait_s * draw.uniform(0.9, 1.1, shape)
    ended = place.begin + draw.random((place.users, 1)) + np.cumsum(ttft + (tokens - 1) * TPOT_S, axis=1)
    inside = ended < place.end
    user = np.broadcast_to(np.arange(place.users)[:, None], shape)
    started = ended - ttft - (tokens - 1) * TPOT_S
    order = np.argsort(ended[inside])
    columns = {"user": user, "started": started, "ttft": ttft, "tokens": tokens, "ended": ended}
    return {name: values[inside][order].astype(np.float64) for name, values in columns.items()}


def _write_requests(path: Path, place: Place, asked: dict[str, Floats], draw: np.random.Generator, before: int) -> int:
    """Append the rows of one step; returns how many."""
    count = len(asked["started"])
    user, tokens = asked["user"].astype(int), asked["tokens"].astype(int)
    e2e = asked["ended"] - asked["started"]
    worker = np.where(user % 2, *reversed(WORKER_NAMES))
    broken = draw.random(count) < 0.001
    whole = {
        "http_status": 200, "first_byte_s": asked["ttft"], "ttft_s": asked["ttft"], "ttfa_s": asked["ttft"],
        "tpot_s": TPOT_S, "e2e_s": e2e, "felt_s": e2e, "itl_p50_s": TPOT_S, "itl_p99_s": 1.1 * TPOT_S,
        "itl_max_s": 1.3 * TPOT_S, "events": tokens, "output_tokens": tokens, "prompt_tokens": 100,
    }  # fmt: skip
    told = {
        "id": [f"{name}-{before + place}" for place, name in enumerate(worker)], "worker": worker,
        "scenario": "interactive", "kind": "chat", "step": place.step, "step_end": place.step, "repeat": place.repeat,
        "user": user, "started_at": asked["started"], "status": np.where(broken, "failed", "ok"),
        "failure_class": np.where(broken, "http_500", ""), "message": np.where(broken, "boom, said the server", ""),
        "connect_s": 0.0, "sent_s": 0.0002, "max_tokens": tokens, "model_answered": "m", "attempts": 1,
        "prompt_tokens_asked": 100, "worker_in_flight": place.users // 2, "duration_s": e2e,
        "token_source": np.where(broken, "", "usage"), "finish_reason": np.where(broken, "", "length"),
    } | {name: np.where(broken, np.nan, np.asarray(value)) for name, value in whole.items()}  # fmt: skip
    file = path / REQUESTS
    table = pd.DataFrame(told, index=range(count)).reindex(columns=list(COLUMNS[REQUESTS]))
    table = table.astype(dict.fromkeys(WHOLE, "Int64"))
    table.to_csv(file, mode="a", header=not file.exists(), index=False, float_format="%.6f", lineterminator="\n")
    return count


def _write_seconds(directory: RunDirectory, place: Place, asked: dict[str, Floats]) -> None:
    length, first = place.end - place.begin, place.begin
    begin, end = asked["started"] - first, asked["ended"] - first
    tokens = asked["tokens"].astype(int)
    number = np.arange(tokens.sum()) - np.repeat(np.cumsum(tokens) - tokens, tokens)
    arrived = np.bincount(
        (np.repeat(begin + asked["ttft"], tokens) + number * TPOT_S).astype(int).clip(max=length - 1), minlength=length
    )
    open_s = np.zeros(length + 1)
    for second in range(length):
        open_s[second] = np.clip(np.minimum(end, second + 1) - np.maximum(begin, second), 0, None).sum()
    started, done = (np.bincount(at.astype(int), minlength=length) for at in (begin, end))
    seconds, workers = directory.appender(SECONDS), directory.appender(WORKERS)
    for second in range(length):
        counted = [started[second], done[second], 0, 0, arrived[second], arrived[second], 0, 0, 100 * done[second], 0]
        seconds.append([first + second, "interactive", place.users, open_s[second], *counted])
        for name in WORKER_NAMES:
            workers.append([first + second, name, place.users // 2, open_s[second] / 2, 0.0005, 0.002, 0.3, "running"])


def _write_histograms(directory: RunDirectory, place: Place, count: int) -> None:
    """Gaps and lag of each worker and second; every second alike but for its sum."""
    gaps = Histogram()
    for step in range(-12, 13):
        gaps.add(TPOT_S * 1.02**step, max(count * 59 // (2 * 25 * (place.end - place.begin)), 1))
    lags, table = Histogram([0.0005] * 45 + [0.002] * 5), directory.appender(HISTOGRAMS)
    for second in range(place.begin, place.end):
        for name in WORKER_NAMES:
            for metric, scenario, told in (("itl", "interactive", gaps), ("lag", "", lags)):
                cells = [told.count, told.total, told.minimum, told.maximum, told.encode()]
                table.append([place.step, second, second, scenario, metric, *cells, name])
