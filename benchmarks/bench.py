"""All benchmarks of the client: `make bench` prints the tables, `make bench-check` compares with the last ones.

Only ratios of one run are compared, since figures of one machine do not hold on another: `baseline.json` keeps them.

Knows: which benchmarks there are. Must not know: what they measure.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import hot_path, limits, peers, stream_memory
from benchmarks.bench_server import CannotError, surroundings

BASELINE = Path(__file__).resolve().parent / "baseline.json"
WORSE = 1.25
"""A ratio that grew by more is a failure."""


def write_all(*, keep: bool) -> None:
    """Print every table; `keep`: the ratios become the baseline."""
    print(surroundings())
    lines, ratios = hot_path.table(hot_path.STREAMS, count=5, seconds=6)
    print("\nA worker beside a bare reader\n", *lines, sep="\n", flush=True)
    lines, more = limits.table(seconds=8, rounds=5)
    print("\nHow far one worker goes\n", *lines, sep="\n", flush=True)
    print("\nOther tools\n", *peers.table((200, 400), rounds=5, seconds=10), sep="\n", flush=True)
    lines, _ = stream_memory.table(stream_memory.STREAMS, stream_memory.LARGE_STREAMS)
    print("\nMemory, stream after stream\n", *lines, sep="\n", flush=True)
    if keep:
        kept = {"measured": surroundings(), "ratios": {name: round(r, 2) for name, r in (ratios | more).items()}}
        BASELINE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def check() -> int:
    """Measure the ratios again, shorter; the exit code: 1 when one is worse by more than a quarter."""
    if not BASELINE.exists():
        raise CannotError("there is no baseline to compare with: make bench ARGS=--keep makes one")
    kept = json.loads(BASELINE.read_text(encoding="utf-8"))["ratios"]
    _, ratios = hot_path.table((400, 800), count=3, seconds=4)
    _, tls = limits.tls_ratio(seconds=4, rounds=3)
    worse = 0
    for name, ratio in {**ratios, limits.TLS: tls}.items():
        grown = ratio > WORSE * kept[name]
        worse += grown
        print(f"{name}: {ratio:.2f}, was {kept[name]:.2f}{': worse by more than a quarter' if grown else ''}")
    return 1 if worse else 0


def main() -> None:
    """Measure all, or check."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the baseline; exit 1 when worse by 25 %%")
    parser.add_argument("--keep", action="store_true", help="the ratios become the baseline")
    asked = parser.parse_args()
    try:
        if asked.check:
            sys.exit(check())
        write_all(keep=asked.keep)
    except CannotError as error:
        sys.exit(f"bench: {error}")


if __name__ == "__main__":
    main()
