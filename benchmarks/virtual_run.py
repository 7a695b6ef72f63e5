"""A run directory from virtual time: hours of step-load in seconds, for the analysis to be held against a known truth.

    python -m benchmarks.virtual_run a100-qwen2.5-32b-q4 runs/virtual --hold 300
    python -m reports runs/virtual
    python -m benchmarks.virtual_run vllm-small runs/seqs8 --steps 2,4,8,16,32 --hold 120 --max-num-seqs 8

Users join level by level, spread over one second, and stay; there are no pauses. When the engine dies, its streams fail
with its last words, the users are refused for some seconds, and the run ends, as a real one does.

Knows: the virtual engine, the run directory. Must not know: how a verdict is found.
"""

import argparse
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from loadband.histogram import Histogram
from loadband.plan import parse_levels
from loadband.record import Record
from loadband.rundir import HISTOGRAMS, REQUESTS, SECONDS, STEPS, WORKERS, RunDirectory
from loadband.sim.profile import load
from loadband.sim.virtual import Asked, Load, VirtualRun

EPOCH = 1_790_000_000.0
"""When virtual runs begin, in Unix seconds."""
REFUSED_S = 6
"""How long users knock at a dead port."""
LAG_S = 0.0005
COUNTERS = (
    "started", "ok", "failed", "cut", "events",
    "output_tokens_ok", "output_tokens_failed", "output_tokens_cut", "prompt_tokens", "abandoned",
)  # fmt: skip


@dataclass
class Books:
    """What becomes the files."""

    starts: list[float]
    """When each level is asked for, in seconds into the run."""
    message: str
    records: list[Record] = field(default_factory=list)
    seconds: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: dict.fromkeys(COUNTERS, 0)))
    open_s: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    gaps: dict[int, Histogram] = field(default_factory=lambda: defaultdict(Histogram))

    def step_at(self, at: float) -> int:
        """The level in force, from 1."""
        return max(1, sum(start <= at for start in self.starts))

    def done(self, asked: Asked) -> None:
        """An answer that is whole."""
        stamps, sequence = asked.stamps, asked.sequence
        ttft, e2e = stamps[0] - asked.asked_at, stamps[-1] - asked.asked_at
        tpot = (stamps[-1] - stamps[0]) / (len(stamps) - 1) if len(stamps) > 1 else None
        self._book(
            asked.user, asked.asked_at, stamps[-1], "ok", stamps, http_status=200, ttft_s=ttft, ttfa_s=ttft,
            tpot_s=tpot, e2e_s=e2e, felt_s=e2e, prompt_tokens=sequence.prompt_tokens, token_source="usage",
            finish_reason=sequence.finish_reason,
        )  # fmt: skip
        if len(stamps) > 1:
            for before, after in pairwise(stamps):
                self.gaps[int(EPOCH + stamps[-1])].add(after - before)

    def lost(self, asked: Asked, at: float) -> None:
        """A stream that ended with the engine."""
        ttft = asked.stamps[0] - asked.asked_at if asked.stamps else None
        self._book(
            asked.user, asked.asked_at, at, "failed", asked.stamps, http_status=200, failure_class="stream_error",
            message=self.message, ttft_s=ttft, prompt_tokens=asked.sequence.prompt_tokens, token_source="events",
        )  # fmt: skip

    def refused(self, user: int, at: float) -> None:
        """A user at a dead port."""
        self._book(user, at, at + 0.001, "failed", [], failure_class="connect", message="connection refused")

    def _book(self, user: int, begin: float, end: float, status: str, stamps: list[float], **told: Any) -> None:
        tokens = len(stamps)
        self.records.append(Record(
            id=f"w1-{len(self.records)}", worker="w1", scenario="interactive", kind=None, step=self.step_at(begin),
            step_end=self.step_at(end), repeat=1, user=user, conversation=None, turn=None, started_at=EPOCH + begin,
            status=status, duration_s=end - begin, events=tokens, output_tokens=tokens or None, attempts=1, **told,
        ))  # fmt: skip
        self.seconds[int(EPOCH + begin)]["started"] += 1
        self.seconds[int(EPOCH + end)][status] += 1
        for stamp in stamps:
            row = self.seconds[int(EPOCH + stamp)]
            row["events"] += 1
            row[f"output_tokens_{status}"] += 1
        if stamps:
            self.seconds[int(EPOCH + stamps[0])]["prompt_tokens"] += told["prompt_tokens"]
        for second in range(int(EPOCH + begin), int(EPOCH + end) + 1):
            shared = min(second + 1, EPOCH + end) - max(second, EPOCH + begin)
            self.open_s[second] += max(shared, 0.0)


def virtual_run(
    name: str, path: Path, levels: list[int], hold_s: float, *, settle_s: float = 20.0, seed: int = 1,
    max_num_seqs: int | None = None,
) -> None:  # fmt: skip
    """Climb the levels and write the run directory; `max_num_seqs` replaces that of the profile."""
    profile, draw = load(name), random.Random(f"{seed} joins")
    if max_num_seqs is not None:
        profile = replace(profile, scheduler=replace(profile.scheduler, max_num_seqs=max_num_seqs))
    length = settle_s + hold_s
    starts = [place * length for place in range(len(levels))]
    books = Books(starts, profile.refusal.death_message)
    joins = [(at + draw.random(), user) for below, level, at in zip([0, *levels], levels, starts, strict=False)
             for user in range(below, level)]  # fmt: skip
    run = VirtualRun(profile, Load(), seed, books.done)
    died = run.joining(joins, len(levels) * length).died_at_s
    end = len(levels) * length
    if died is not None:
        end = died + REFUSED_S
        for asked in run.open.values():
            books.lost(asked, died)
        for user in range(levels[books.step_at(died) - 1]):
            for second in range(REFUSED_S):
                books.refused(user, died + second + 0.5 * draw.random())
    arguments = f"--max-num-seqs {profile.scheduler.max_num_seqs}"
    facts = {"model": profile.model, "seed": seed, "server_args": arguments}
    write(path, books, levels, (settle_s, hold_s, end), died, facts=facts)


def virtual_ramp(name: str, path: Path, users: int, users_s: float, *, seed: int = 1) -> None:
    """Users who come one by one, `users_s` a second, without a plan: a ramp as at a browser, stopped at the top."""
    profile = load(name)
    starts = [place / users_s for place in range(users)]
    books = Books(starts, profile.refusal.death_message)
    run = VirtualRun(profile, Load(), seed, books.done)
    end = users / users_s
    died = run.joining([(at, user) for user, at in enumerate(starts)], end).died_at_s
    if died is not None:
        end = died + REFUSED_S
        for asked in run.open.values():
            books.lost(asked, died)
        for user in range(books.step_at(died)):
            for second in range(REFUSED_S):
                books.refused(user, died + second + user / users)
    books.records = [replace(record, step=0, step_end=0) for record in books.records]
    facts = {"model": profile.model, "seed": seed, "plan": None, "how": "stopped" if died is None else "target_lost"}
    write(path, books, list(range(1, users + 1)), (0.0, 0.0, end), died, facts=facts)


def write(
    path: Path, books: Books, levels: list[int], times: tuple[float, float, float], died: float | None, *,
    facts: dict[str, Any],
) -> None:  # fmt: skip
    """The files. `times`: settle, hold (0: nothing was held), the run's end, in seconds; `facts` go into `run.json`."""
    settle_s, hold_s, end = times
    directory = RunDirectory.create(path)
    directory.appender(STEPS)
    for step, (level, start) in enumerate(zip(levels, books.starts, strict=True), 1):
        if start >= end or not hold_s:
            break
        lost = died is not None and died < start + settle_s + hold_s
        held = not lost or (died is not None and died > start + settle_s)
        begin = EPOCH + start + settle_s if held else None
        until = EPOCH + (died if lost and died is not None else start + settle_s + hold_s) if held else None
        how = "target_lost" if lost else "hold"
        directory.appender(STEPS).append(
            [step, 1, level, None, EPOCH + start, EPOCH + start + 1.0, begin, until, how]
        )  # fmt: skip
    for record in sorted(books.records, key=lambda each: each.started_at + (each.duration_s or 0.0)):
        directory.appender(REQUESTS).append(record.values())
    seconds, table, workers = (directory.appender(name) for name in (SECONDS, HISTOGRAMS, WORKERS))
    lags = Histogram([LAG_S] * 50)
    for second in range(int(EPOCH), int(EPOCH + end) + 1):
        users, step = levels[books.step_at(second - EPOCH) - 1], books.step_at(second - EPOCH)
        row = books.seconds.get(second, dict.fromkeys(COUNTERS, 0))
        seconds.append([second, "interactive", users, books.open_s[second], *row.values()])
        for metric, scenario, told in (("itl", "interactive", books.gaps.get(second)), ("lag", "", lags)):
            if told is not None:
                sums = [told.count, told.total, told.minimum, told.maximum, told.encode()]
                table.append([step, second, second, scenario, metric, *sums, "w1"])
        workers.append([second, "w1", users, books.open_s[second], LAG_S, LAG_S, 0.2, "running"])
    directory.write_run({
        "tool": "virtual", "started": EPOCH, "ended": EPOCH + end, "host": "virtual",
        "how": "plan" if died is None else "target_lost", "scenarios": ["interactive"], "slo": None, "findings": [],
        "plan": {"levels": levels, "hold": f"{hold_s:g}s", "settle_s": settle_s, "max_hold_s": 600.0},
        "timeouts": {"connect_s": 10.0, "first_token_s": 120.0, "idle_s": 60.0, "total_s": 600.0},
        **facts,
    })  # fmt: skip
    directory.close()


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description="a run directory from virtual time")
    parser.add_argument("profile")
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--steps", default="4,8,12,16,20,24,28,32,36,40,48,56,64")
    parser.add_argument("--hold", type=float, default=300.0, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-num-seqs", type=int, help="sequences that run at once, in place of the profile's")
    options = parser.parse_args()
    virtual_run(
        options.profile, options.run_dir, list(parse_levels(options.steps)), options.hold, seed=options.seed,
        max_num_seqs=options.max_num_seqs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
