"""Real Locust processes for tests: start them with our locustfile, end them, read what they left.

Knows: the command line and the run directory. Must not know: any test.
"""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadband import rundir

ROOT = Path(__file__).resolve().parents[2]
GONE_WITHIN_S = 10.0
WITHIN_S = 120.0
"""A run that takes longer hangs."""


_started: list[subprocess.Popen[str]] = []


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended."""

    code: int
    out: str
    err: str


class Files:
    """The run directory a process left."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, name: str) -> list[dict[str, str]]:
        """Rows of a CSV file, as text."""
        with (self.path / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def steps(self) -> list[dict[str, str]]:
        """The last row of each step: one is written when its hold begins, one when it ends."""
        return list({row["step"]: row for row in self.rows(rundir.STEPS)}.values())

    @property
    def run(self) -> dict[str, Any]:
        """`run.json`."""
        run: dict[str, Any] = json.loads((self.path / rundir.RUN_JSON).read_text(encoding="utf-8"))
        return run

    @property
    def statuses(self) -> Counter[str]:
        """How many requests ended how."""
        return Counter(row["status"] for row in self.rows(rundir.REQUESTS))

    def total(self, counter: str) -> int:
        """Sum of a counter of `seconds.csv`."""
        return sum(int(row[counter] or 0) for row in self.rows(rundir.SECONDS))

    @property
    def aggregated(self) -> int:
        """Request count of Locust's own `Aggregated` row."""
        rows = self.rows(f"{rundir.LOCUST_PREFIX}_stats.csv")
        return int(next(row for row in rows if row["Name"] == "Aggregated")["Request Count"])


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The surroundings of a process: ours without any key or Loadband setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOADBAND_", "LOCUST_"))}
    return {**kept, **(extra or {})}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port


def start(
    words: Sequence[str], env: Mapping[str, str] | None = None, prefix: Sequence[str] = (), group: int = 0
) -> subprocess.Popen[str]:
    """Start Locust on our locustfile in a process group of its own; with `--processes` on a port of its own.

    `prefix`: a command that starts the command behind it. `group`: an existing process group to join.
    """
    command = [*prefix, sys.executable, "-m", "locust", "-f", str(ROOT / "locustfile.py"), *words]
    if "--processes" in words:
        port = str(free_port())
        command += ["--master-bind-port", port, "--master-port", port]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(env), text=True, process_group=group, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _started.append(process)
    return process


def end_what_is_left() -> None:
    """Kill what a test that failed half-way left running."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def finish(process: subprocess.Popen[str], within_s: float = WITHIN_S) -> Ended:
    """Wait for a process; one that hangs is killed with its group, and fails the test."""
    try:
        out, err = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"the process hung for {within_s} s\n{out[-2000:]}\n{err[-2000:]}") from None
    return Ended(process.returncode, out, err)


def run(words: Sequence[str], env: Mapping[str, str] | None = None) -> Ended:
    """Run Locust to its end."""
    return finish(start(words, env))


def group_is_gone(process: subprocess.Popen[str]) -> bool:
    """Whether no process of its group is left; one that is about to end may take some seconds on a busy machine."""
    until = time.monotonic() + GONE_WITHIN_S
    while time.monotonic() < until:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
