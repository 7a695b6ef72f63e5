"""How far one worker goes: `python -m benchmarks.limits`.

1,600 streams of 50 tokens/s; 500 short requests a second; 2,000 users; TLS against plain.

Knows: how to run a worker. Must not know: how it reads.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_server import CannotError, TokenServer, progress, surroundings
from benchmarks.worker_run import percentile, worker_run

TLS = "TLS / plain"
"""Name of that ratio."""

HEAD = "| what | measured | wanted |\n|---|---|---|"


def many_streams(seconds: float) -> str:
    """1,600 streams of 50 tokens/s each."""
    with TokenServer() as server:
        seen = worker_run(server, 1600, seconds)
    return (
        f"| 1,600 streams of 50 tokens/s | {seen.tokens_s:,.0f} tokens/s, {seen.us_token:.1f} µs CPU a token "
        f"({seen.cpu:.0%} of the core), last token late p50 {percentile(seen.last_late_ms, 50):.2f} ms, "
        f"p99 {percentile(seen.last_late_ms, 99):.2f} ms, own lag probe p99 {seen.lag_p99_ms:.1f} ms "
        f"| p99 below 20 ms |"
    )


def short_requests(seconds: float) -> str:
    """500 requests a second of 8 tokens: 45 users with answers of 85 ms."""
    with TokenServer(ttft_ms=50, itl_ms=5, tokens=8) as server:
        seen = worker_run(server, 45, seconds, tokens=8)
    return (
        f"| short requests of 8 tokens | {seen.requests_s:,.0f} requests/s, {seen.cpu / seen.requests_s * 1e6:,.0f} µs "
        f"CPU a request, TTFT late mean {statistics.fmean(seen.first_late_ms):.2f} ms, "
        f"p99 {percentile(seen.first_late_ms, 99):.2f} ms | 500 requests/s, 2 ms |"
    )


def without_c(seconds: float) -> str:
    """400 streams, read in the event loop as without a C compiler, and by the thread."""
    with TokenServer() as server:
        loop, thread = (worker_run(server, 400, seconds, native=native) for native in (False, True))
    costs = f"{loop.us_token:.1f} and {thread.us_token:.1f} µs CPU a token"
    late = " and ".join(f"{percentile(seen.last_late_ms, 50):.2f}" for seen in (loop, thread))
    return f"| without and with the reader in C, 400 streams | {costs}, last token late p50 {late} ms | |"


def many_users(seconds: float) -> str:
    """2,000 users of 5 tokens/s each: what a user costs in memory."""
    with TokenServer(ttft_ms=50, itl_ms=200, tokens=100) as server:
        seen = worker_run(server, 2000, seconds)
    return f"| 2,000 users | {seen.memory_mb:.0f} MB resident, {seen.failed} failed | 400 MB |"


def tls_ratio(seconds: float, rounds: int, streams: int = 200) -> tuple[str, float]:
    """CPU a token over TLS / plain, median of interleaved rounds."""
    plain_us, tls_us = [], []
    with tempfile.TemporaryDirectory() as folder, TokenServer() as plain, TokenServer().secured(Path(folder)) as tls:
        for each in range(rounds):
            progress(f"TLS against plain, {each + 1} of {rounds}")
            plain_us.append(worker_run(plain, streams, seconds).us_token)
            tls_us.append(worker_run(tls, streams, seconds).us_token)
    ratio = statistics.median(tls / plain for tls, plain in zip(tls_us, plain_us, strict=True))
    costs = f"{statistics.median(plain_us):.1f} and {statistics.median(tls_us):.1f} µs CPU a token, ratio {ratio:.2f}"
    return f"| plain and TLS, {streams} streams | {costs} | 1.5 |", ratio


def table(seconds: float, rounds: int) -> tuple[list[str], dict[str, float]]:
    """The table's lines, and the ratios by name."""
    lines = [HEAD]
    for measure in (many_streams, short_requests, many_users, without_c):
        progress(measure.__name__.replace("_", " "))
        try:
            lines.append(measure(seconds))
        except CannotError as error:
            lines.append(f"| {measure.__name__.replace('_', ' ')} | not measured: {error} | |")
    line, ratio = tls_ratio(seconds, rounds)
    return [*lines, line], {TLS: ratio}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8, help="measured time of each (8)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of TLS against plain (3)")
    asked = parser.parse_args()
    try:
        lines, _ = table(asked.seconds, asked.rounds)
    except CannotError as error:
        sys.exit(f"limits: {error}")
    print(surroundings(), *lines, sep="\n")


if __name__ == "__main__":
    main()
