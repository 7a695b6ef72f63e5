"""However and whenever a run is told to end: nothing is lost without a word, nobody stays behind, no traceback."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, rule, tokens
from tests.oracle.faults import silent
from tests.process.probing import after_probe
from tests.process.running import ROOT, Files, finish, free_port, group_is_gone, start

pytestmark = pytest.mark.process

STREAM = tokens(ttft_ms=50, itl_ms=25, n=100)
SLOW_WORKER = """
import time
from locust import events
from locustfile import *

@events.test_stop.add_listener
def have_no_time(**_):
    time.sleep(2)
"""
"""A worker on a machine that is busy with other things at the wrong moment."""


def master(oracle: Oracle, port: int, path: Path) -> list[str]:
    """A master that expects two workers, at one level of six users."""
    return [
        "--master", "--master-bind-port", str(port), "--expect-workers", "2", "--headless", "-H", oracle.url, "--steps",
        "6", "--hold", "60s", "--settle", "0s", "--warmup", "0s", "--think-time", "0", "--no-report", "--no-doctor",
        "--run-dir", str(path),
    ]  # fmt: skip


def until_told(process: subprocess.Popen[str], words: str) -> None:
    """Read standard error up to a line with these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words}")


def gone_within(process: subprocess.Popen[str], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while not group_is_gone(process) and time.monotonic() < until:
        time.sleep(0.1)
    return group_is_gone(process)


def test_the_last_words_of_a_slow_worker_are_waited_for(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(STREAM))
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW_WORKER)
    port = free_port()
    process = start(master(oracle, port, tmp_path / "run"))
    worker = ["--worker", "--master-port", str(port)]
    workers = [
        start(worker, group=process.pid),
        start([*worker, "-f", str(slow)], {"PYTHONPATH": str(ROOT)}, group=process.pid),
    ]
    oracle.wait_until(lambda log: log.in_flight == 6, 40)
    time.sleep(1.2)
    process.terminate()
    ended = finish(process, 20)
    for each in workers:
        assert "Traceback" not in finish(each, 20).err
    files = Files(tmp_path / "run")
    assert files.statuses == {Status.CUT: 6}, ended.err
    assert files.total("started") == 6


def test_what_a_worker_that_says_nothing_had_in_flight_is_lost(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(STREAM))
    port = free_port()
    process = start(master(oracle, port, tmp_path / "run"))
    workers = [start(["--worker", "--master-port", str(port)]) for _ in range(2)]
    oracle.wait_until(lambda log: log.in_flight == 6, 40)
    time.sleep(1.5)
    workers[0].send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    ended = finish(process, 20)
    workers[0].kill()
    finish(workers[1], 20)
    files = Files(tmp_path / "run")
    assert files.statuses == {Status.CUT: 3, Status.LOST: 3}, ended.err
    assert files.total("started") == 6
    assert "3 requests ended: they are booked as lost" in ended.err
    assert "missing" in {row["state"] for row in files.rows(rundir.WORKERS)}


def test_forked_workers_end_with_a_master_that_dies_before_they_found_it(oracle: Oracle) -> None:
    words = ["--headless", "-H", oracle.url, "--steps", "1", "--processes", "2", "--master-host", "127.0.0.2"]
    process = start(words)
    until = time.monotonic() + 30
    while len(psutil.Process(process.pid).children()) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert gone_within(process, 5)


def to_group(number: signal.Signals) -> Callable[[subprocess.Popen[str]], None]:
    return lambda process: os.killpg(process.pid, number)


def to_master(number: signal.Signals) -> Callable[[subprocess.Popen[str]], None]:
    return lambda process: process.send_signal(number)


EARLY = {
    "Ctrl-C": to_group(signal.SIGINT),
    "SIGINT to the master": to_master(signal.SIGINT),
    "SIGTERM to the master": to_master(signal.SIGTERM),
    "closed terminal": to_group(signal.SIGHUP),
}


@pytest.mark.parametrize("end", EARLY.values(), ids=EARLY.keys())
def test_a_run_that_is_ended_while_it_asks_its_target_says_so(
    oracle: Oracle, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    oracle.script(rule(silent(), method=None))
    process = start(["--headless", "-H", oracle.url, "--steps", "1", "--no-report", "--processes", "2"])
    until_told(process, "asking")
    end(process)
    ended = finish(process, 30)
    assert ended.code == 3, ended.err
    assert "stopped before any load" in ended.err
    assert "Traceback" not in ended.err, ended.err
    assert "KeyboardInterrupt" not in ended.err
    assert gone_within(process, 5)


def test_an_ignored_hang_up_stays_ignored(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=2, n=10))
    words = ["--headless", "-H", oracle.url, "--steps", "1", "--hold", "2s", "--settle", "0s", "--no-report"]
    process = start([*words, "--run-dir", str(tmp_path / "run")], prefix=["nohup"])
    oracle.wait_until(lambda log: len(log.requests) >= 6, 40)
    process.send_signal(signal.SIGHUP)
    assert finish(process, 30).code == 0
    assert Files(tmp_path / "run").run["how"] == "plan"
