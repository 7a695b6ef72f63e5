"""CPU of a worker per streamed token, beside a bare C reader's in the same minute: `python -m benchmarks.hot_path`.

Server and master on one core, the worker alone on the other; everything on that a run has on. Each pair is a bare
reader and a worker with the same streams, one after the other; the result is the median of the pairs' ratios, since
figures of one minute do not hold for the next on a shared machine. Truth of a first token: the server's own stamp.

Knows: command line, run directory, /proc. Must not know: how the client reads.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_server import (
    CLIENT_CORE,
    SERVER_CORE,
    TOKENS,
    CannotError,
    TokenServer,
    bare_reader,
    on_core,
    progress,
)

ROOT = Path(__file__).resolve().parents[1]
STAMPS = re.compile(r"t-(\d+)-(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class Seen:
    """One load, as measured from outside and from the run's records."""

    streams: int
    tokens_s: float
    us_token: float
    """CPU microseconds of the worker a token."""
    memory_mb: float
    first_lags_ms: list[float]
    """First token as recorded, minus the moment when the server was about to send it."""
    last_lags_ms: list[float]

    @property
    def ttft_error_ms(self) -> float:
        """Mean error of TTFT."""
        return statistics.fmean(self.first_lags_ms)


def percentile(values: Sequence[float], percent: float) -> float:
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def locust(core: int, *words: str) -> "subprocess.Popen[bytes]":
    """A Locust process on our locustfile, on that core."""
    command = on_core(core, sys.executable, "-m", "locust", "-f", str(ROOT / "locustfile.py"), *words)
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, stdin=quiet, stdout=quiet, stderr=quiet)


def worker_run(server: TokenServer, streams: int, seconds: float, *options: str, tokens: int = TOKENS) -> Seen:
    """A plan of one level by master and one worker; measured when its streams are all there."""
    port = str(5600 + os.getpid() % 300)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        plan = ["--steps", str(streams), "--hold", f"{seconds + 4:g}s", "--settle", "2s", "--warmup", "0s"]
        plan += ["--think-time", "0", "--max-tokens", str(tokens), "--drain", "0s", "--no-report"]
        master = locust(
            SERVER_CORE, "--master", "--master-bind-port", port, "--headless", "--expect-workers", "1",
            "-H", server.url, "--run-dir", str(run), *plan, *options,
        )  # fmt: skip
        worker = locust(CLIENT_CORE, "--worker", "--master-port", port)
        try:
            wait_for_streams(server, streams, master)
            us_token, tokens_s, begun, ended, memory = measure(server, worker.pid, seconds)
            master.wait(60)
        finally:
            for process in (master, worker):
                process.terminate()
                process.wait()
        first, last = lags(run / "requests.csv", begun, ended)
    return Seen(streams, tokens_s, us_token, memory, first, last)


def wait_for_streams(server: TokenServer, streams: int, master: "subprocess.Popen[bytes]") -> None:
    """Until nearly all streams are open, and two seconds more. Raises CannotError when the run ends before."""
    until = time.monotonic() + 60
    while server.count().open < 0.9 * streams:
        if master.poll() is not None or time.monotonic() > until:
            raise CannotError(f"the run did not bring {streams} streams")
        time.sleep(0.2)
    time.sleep(2)


def measure(server: TokenServer, pid: int, seconds: float) -> tuple[float, float, float, float, float]:
    """CPU a token in us, tokens/s, begin and end (Unix seconds), memory in MB."""
    process = psutil.Process(pid)
    before, used = server.count(), process.cpu_times()
    time.sleep(seconds)
    after, now = server.count(), process.cpu_times()
    tokens, took = after.tokens - before.tokens, (after.at_ns - before.at_ns) / 1e9
    cpu = now.user + now.system - used.user - used.system
    memory = process.memory_info().rss / 1e6
    return cpu / tokens * 1e6, tokens / took, before.at_ns / 1e9, after.at_ns / 1e9, memory


def lags(requests: Path, begun: float, ended: float) -> tuple[list[float], list[float]]:
    """How late first and last tokens were seen, in ms, of the requests wholly inside the window."""
    first, last = [], []
    with requests.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            stamps = STAMPS.fullmatch(row["model_answered"])
            started = float(row["started_at"])
            if stamps is None or started < begun or started + float(row["e2e_s"]) > ended:
                continue
            first.append((started + float(row["ttft_s"])) * 1e3 - int(stamps[2]) / 1e6)
            last.append((started + float(row["e2e_s"])) * 1e3 - int(stamps[3]) / 1e6)
    return first, last


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hot_path", description=__doc__)
    parser.add_argument("--streams", default="200,400,800", help="comma list (200,400,800)")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of bare reader and worker for each (5)")
    parser.add_argument("--seconds", type=float, default=6, help="measured time of each (6)")
    asked = parser.parse_args()
    print(
        "| streams | tokens/s | bare reader us/token | worker us/token | ratio | TTFT error mean, p99 ms | "
        "last token late p50, p99 ms | memory MB |\n|---|---|---|---|---|---|---|---|"
    )
    try:
        with TokenServer() as server:
            for streams in map(int, asked.streams.split(",")):
                print(row(server, streams, asked.pairs, asked.seconds), flush=True)
    except CannotError as error:
        sys.exit(f"hot_path: {error}")


def row(server: TokenServer, streams: int, pairs: int, seconds: float) -> str:
    """Median of the pairs."""
    bare, ours = [], []
    for pair in range(pairs):
        progress(f"{streams} streams, pair {pair + 1} of {pairs}")
        bare.append(bare_reader(server.port, streams, TOKENS, seconds)["cpu_us_token"])
        ours.append(worker_run(server, streams, seconds))
    ratio = statistics.median(seen.us_token / limit for seen, limit in zip(ours, bare, strict=True))
    first, last = [lag for seen in ours for lag in seen.first_lags_ms], [x for seen in ours for x in seen.last_lags_ms]
    return (
        f"| {streams} | {statistics.median(s.tokens_s for s in ours):,.0f} | {statistics.median(bare):.1f} | "
        f"{statistics.median(s.us_token for s in ours):.1f} | {ratio:.2f} | "
        f"{statistics.median(s.ttft_error_ms for s in ours):.2f}, {percentile(first, 99):.2f} | "
        f"{percentile(last, 50):.2f}, {percentile(last, 99):.2f} | {max(s.memory_mb for s in ours):.0f} |"
    )


if __name__ == "__main__":
    main()
