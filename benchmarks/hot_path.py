"""CPU of a worker per streamed token, beside a bare C reader's in the same minute: `python -m benchmarks.hot_path`.

Each pair is a bare reader and a worker with the same streams, one after the other on the same core; the result is the
median of the pairs' ratios, since figures of one minute do not hold for the next on a shared machine.

Knows: how to run both. Must not know: how either reads.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.bench_server import TOKENS, CannotError, TokenServer, bare_reader, progress, surroundings
from benchmarks.worker_run import Seen, percentile, worker_run

STREAMS = (200, 400, 800)

HEAD = """\
| streams | tokens/s | bare reader µs/token | worker µs/token | ratio | TTFT late mean, p99 ms | last late p50, p99 ms |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Bare reader and worker in turn, with so many streams."""

    streams: int
    bare_us: list[float]
    ours: list[Seen]

    @property
    def ratio(self) -> float:
        """Median over the pairs of worker CPU a token / bare reader's."""
        return statistics.median(seen.us_token / bare for seen, bare in zip(self.ours, self.bare_us, strict=True))

    def row(self) -> str:
        """Medians of the pairs; lateness of all their requests."""
        first = [late for seen in self.ours for late in seen.first_late_ms]
        last = [late for seen in self.ours for late in seen.last_late_ms]
        return (
            f"| {self.streams:,} | {statistics.median(seen.tokens_s for seen in self.ours):,.0f} "
            f"| {statistics.median(self.bare_us):.1f} | {statistics.median(seen.us_token for seen in self.ours):.1f} "
            f"| {self.ratio:.2f} | {statistics.fmean(first):.2f}, {percentile(first, 99):.2f} "
            f"| {percentile(last, 50):.2f}, {percentile(last, 99):.2f} |"
        )


def pairs(server: TokenServer, streams: int, count: int, seconds: float) -> Pairs:
    """Measure `count` pairs of `seconds` each."""
    bare, ours = [], []
    for pair in range(count):
        progress(f"{streams} streams, pair {pair + 1} of {count}")
        bare.append(bare_reader(server.port, streams, TOKENS, seconds)["cpu_us_token"])
        ours.append(worker_run(server, streams, seconds))
    return Pairs(streams, bare, ours)


def table(streams: Sequence[int], count: int, seconds: float) -> tuple[list[str], dict[str, float]]:
    """The table's lines, and the ratios by name."""
    lines, ratios = [HEAD], {}
    with TokenServer() as server:
        for each in streams:
            measured = pairs(server, each, count, seconds)
            lines.append(measured.row())
            ratios[f"worker / bare reader, {each} streams"] = measured.ratio
    return lines, ratios


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hot_path", description=__doc__)
    parser.add_argument("--streams", default=",".join(map(str, STREAMS)), help="comma list (200,400,800)")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of bare reader and worker for each (5)")
    parser.add_argument("--seconds", type=float, default=6, help="measured time of each (6)")
    asked = parser.parse_args()
    try:
        lines, _ = table([int(each) for each in asked.streams.split(",")], asked.pairs, asked.seconds)
    except CannotError as error:
        sys.exit(f"hot_path: {error}")
    print(surroundings(), *lines, sep="\n")


if __name__ == "__main__":
    main()
