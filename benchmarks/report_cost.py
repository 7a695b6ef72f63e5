"""What a report costs: `python -m benchmarks.report_cost`: 20,000 and 1,000,000 requests, two minutes, 250 MB of disk.

A run directory is written (`written_run`), and `python -m reports` reads it in a process of its own. Time on a core is
what counts, since a neighbour changes the other; exit code 1 when it or the memory is beyond its limit.

Knows: limits, how a process is measured. Must not know: what a report says.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_server import progress, surroundings
from benchmarks.written_run import LEVELS, write_run

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Size:
    """A run, and what its report may cost."""

    requests: int
    levels: tuple[int, ...]
    passes: int
    core_s: float
    memory_mb: float


SIZES = (Size(20_000, LEVELS[:6], 1, 3.0, 500.0), Size(1_000_000, LEVELS, 3, 15.0, 1500.0))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one process."""

    core_s: float
    """User and system time of all its threads."""
    wall_s: float
    memory_mb: float
    """Most that was resident."""


def cost_of(run: Path) -> Cost:
    """Of the report of a run directory. Raises RuntimeError when there was none."""
    began = time.monotonic()
    child = subprocess.Popen([sys.executable, "-m", "reports", str(run)], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall_s = time.monotonic() - began
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"the report of {run} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss / 1024)


def main() -> None:
    """Print the table; 1 when a limit is crossed."""
    print(surroundings())
    print("\n| requests | levels x passes | time on a core | wanted | wall | memory | wanted |")
    print("|---|---|---|---|---|---|---|")
    beyond = False
    for size in SIZES:
        progress(f"{size.requests:,} requests")
        with tempfile.TemporaryDirectory() as folder:
            count = write_run(Path(folder) / "run", size.requests, size.levels, size.passes)
            cost = cost_of(Path(folder) / "run")
        beyond |= cost.core_s > size.core_s or cost.memory_mb > size.memory_mb
        print(
            f"| {count:,} | {len(size.levels)} x {size.passes} | {cost.core_s:.1f} s | {size.core_s:g} s "
            f"| {cost.wall_s:.1f} s | {cost.memory_mb:,.0f} MB | {size.memory_mb:,.0f} MB |",
            flush=True,
        )
    sys.exit(int(beyond))


if __name__ == "__main__":
    main()
