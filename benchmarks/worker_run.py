"""One level of load by a master and one worker, the worker alone on its core; what it cost and how late it saw.

Everything is on that a run has on: records, histograms, counters, lag probe, live line, run directory. CPU and memory
are the worker's, from /proc; the truth of a token's time is the server's own stamp, which the record carries.

Knows: command line, run directory, /proc. Must not know: how the client reads.
"""

import csv
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_server import CLIENT_CORE, SERVER_CORE, TOKENS, CannotError, TokenServer, on_core

ROOT = Path(__file__).resolve().parents[1]
STAMPS = re.compile(r"t-(\d+)-(\d+)-(\d+)")
RAMP_S, REST_S, PATIENCE_S = 60.0, 2.0, 90.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One load, as measured from outside and from the run's records."""

    tokens_s: float
    requests_s: float
    us_token: float
    """CPU microseconds of the worker a token."""
    cpu: float
    """Share of its core that the worker used."""
    memory_mb: float
    first_late_ms: list[float]
    """First token as recorded, minus the moment when the server was about to write it; request by request."""
    last_late_ms: list[float]
    lag_p99_ms: float
    """Largest of the worker's own lag percentiles, second by second, in the measured time."""
    failed: int


def percentile(values: Sequence[float], percent: float) -> float:
    """By nearest rank; NaN of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")


def worker_run(
    server: TokenServer, streams: int, seconds: float, *options: str, tokens: int = TOKENS, native: bool = True
) -> Seen:
    """A plan of one level, measured when its streams are all there. Raises CannotError when they do not come.

    `native`: with the reader in C, where it was built.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        plan = ["--steps", str(streams), "--hold", f"{seconds + 2 * REST_S:g}s", "--settle", "2s", "--warmup", "0s"]
        plan += ["--think-time", "0", "--max-tokens", str(tokens), "--drain", "0s", "--no-report", "--no-doctor"]
        with processes(server, run, [*plan, *options], native=native) as (master, worker):
            wait_for_streams(server, streams, master)
            process = psutil.Process(worker.pid)
            before, used = server.count(), process.cpu_times()
            time.sleep(seconds)
            after, now = server.count(), process.cpu_times()
            memory = process.memory_info().rss / 1e6
            master.wait(PATIENCE_S)
        begun, ended = before.at_ns / 1e9, after.at_ns / 1e9
        first, last, failed = lateness(run / "requests.csv", begun, ended)
        lag = worst_lag_ms(run / "workers.csv", begun, ended)
    cpu, done = now.user + now.system - used.user - used.system, after.tokens - before.tokens
    took = ended - begun
    requests_s = (after.requests - before.requests) / took
    return Seen(done / took, requests_s, cpu / done * 1e6, cpu / took, memory, first, last, lag, failed)


@contextmanager
def processes(
    server: TokenServer, run: Path, plan: list[str], *, native: bool
) -> Iterator[tuple["subprocess.Popen[bytes]", "subprocess.Popen[bytes]"]]:
    """Master and worker, ended with the block."""
    port = free_port()
    words = ["--master", "--master-bind-port", port, "--headless", "--expect-workers", "1", "-H", server.url]
    started = [locust(server, SERVER_CORE, *words, "--run-dir", str(run), *plan)]
    try:
        started.append(locust(server, CLIENT_CORE, "--worker", "--master-port", port, native=native))
        yield started[0], started[1]
    finally:
        for process in started:
            process.terminate()
            process.wait()


def locust(server: TokenServer, core: int, *words: str, native: bool = True) -> "subprocess.Popen[bytes]":
    """A Locust process on our locustfile, on that core."""
    command = on_core(core, sys.executable, "-m", "locust", "-f", str(ROOT / "locustfile.py"), *words)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LOADBAND_", "LOCUST_"))}
    env |= {"SSL_CERT_FILE": str(server.cafile)} if server.cafile else {}
    env |= {} if native else {"LOADBAND_NATIVE": "0"}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=env, stdin=quiet, stdout=quiet, stderr=quiet)


def free_port() -> str:
    """A port that nobody listens on now."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return str(place.getsockname()[1])


def wait_for_streams(server: TokenServer, streams: int, master: "subprocess.Popen[bytes]") -> None:
    """Until nearly all streams are open, and a little more."""
    until = time.monotonic() + RAMP_S
    while server.count().open < 0.9 * streams:
        if master.poll() is not None or time.monotonic() > until:
            raise CannotError(f"the run did not bring {streams} streams")
        time.sleep(0.2)
    time.sleep(REST_S)


def lateness(requests: Path, begun: float, ended: float) -> tuple[list[float], list[float], int]:
    """How late first and last tokens were seen, in ms, of requests wholly inside the time; and how many failed."""
    first, last, failed = [], [], 0
    with requests.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            failed += row["status"] == "failed"
            stamps, started = STAMPS.fullmatch(row["model_answered"]), float(row["started_at"])
            if stamps is None or started < begun or started + float(row["e2e_s"]) > ended:
                continue
            first.append((started + float(row["ttft_s"])) * 1e3 - int(stamps[2]) / 1e6)
            last.append((started + float(row["e2e_s"])) * 1e3 - int(stamps[3]) / 1e6)
    return first, last, failed


def worst_lag_ms(workers: Path, begun: float, ended: float) -> float:
    """The largest p99 of a second."""
    with workers.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["lag_p99_s"] and begun <= float(row["second"]) <= ended]
    return max((float(row["lag_p99_s"]) * 1e3 for row in rows), default=float("nan"))
