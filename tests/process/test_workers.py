"""Master and workers: missing ones are waited for, foreign ones refused, dead ones booked."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Files, environment, finish, free_port, group_is_gone, run, start

pytestmark = pytest.mark.process

STREAM = tokens(ttft_ms=50, itl_ms=40, n=100)


@contextmanager
def worker(port: int, locustfile: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A worker process of a master on this machine."""
    words = ["--worker", "--master-port", str(port)]
    if locustfile is None:
        process = start(words)
    else:
        process = subprocess.Popen(
            [sys.executable, "-m", "locust", "-f", str(locustfile), *words], env=environment(), text=True,
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def master(oracle: Oracle, port: int, path: Path, *more: str) -> list[str]:
    """Options of a master that expects two workers."""
    return [
        "--master", "--master-bind-port", str(port), "--expect-workers", "2", "--headless", "-H", oracle.url,
        "--settle", "0s", "--think-time", "0", "--warmup", "0s", "--no-doctor", "--no-report",
        "--run-dir", str(path), *more,
    ]  # fmt: skip


def test_workers_that_do_not_come_are_refused_by_number(oracle: Oracle, tmp_path: Path) -> None:
    port = free_port()
    with worker(port) as one:
        ended = run(master(oracle, port, tmp_path / "run", "--steps", "2", "--expect-workers-max-wait", "4"))
        assert ended.code == 3
        assert "1 of 2 workers" in ended.err and "--expect-workers" in ended.err
        assert "Traceback" not in ended.err
        assert finish(one, 20).code == 0
    assert not (tmp_path / "run").exists()


def test_processes_leave_no_orphans_when_the_master_is_stopped_while_it_waits(oracle: Oracle, tmp_path: Path) -> None:
    port = free_port()
    process = start(master(oracle, port, tmp_path / "run", "--steps", "2"))
    oracle.wait_until(lambda log: log.ends["done"] >= 3, 30)  # the probe
    process.send_signal(signal.SIGINT)
    ended = finish(process, 20)
    assert "Traceback" not in ended.err, ended.err
    assert group_is_gone(process)


def test_a_worker_that_runs_something_else_is_refused(oracle: Oracle, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.py"
    foreign.write_text("from locust import User, task\nclass Other(User):\n    @task\n    def go(self): ...\n")
    port = free_port()
    with worker(port, foreign):
        ended = run(master(oracle, port, tmp_path / "run", "--steps", "2"))
    assert ended.code == 2
    assert "has not said which Loadband it runs" in ended.err
    assert "Traceback" not in ended.err


def test_a_worker_that_dies_loses_only_what_it_had_in_flight(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(STREAM))
    port = free_port()
    with worker(port) as dies, worker(port) as stays:
        process = start(master(oracle, port, tmp_path / "run", "--steps", "6,8", "--hold", "8s"))
        oracle.wait_until(lambda log: log.in_flight == 6, 40)
        time.sleep(1.2)  # both have told of them
        dies.kill()
        ended = finish(process, 90)
        finish(stays, 20)
    files = Files(tmp_path / "run")
    assert "Traceback" not in ended.err, ended.err
    assert "was lost, with 3 requests in flight" in ended.err
    assert files.statuses[Status.LOST] == 3
    assert files.total("started") == files.statuses.total()
    seen = len(oracle.log().requests) - files.run["probe"]["requests"]
    assert seen - files.statuses.total() <= 3, "at most what began in the worker's last second"
    assert "missing" in {row["state"] for row in files.rows(rundir.WORKERS)}
    assert [row["target"] for row in files.steps] == ["6", "8"]


def test_a_full_disk_ends_the_run_and_keeps_what_is_there(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=5, itl_ms=1, n=5))
    limit = 60_000
    words = ["--headless", "-H", oracle.url, "--steps", "20", "--hold", "60s", "--think-time", "0", "--run-dir"]
    process = start([*words, str(tmp_path / "run")], prefix=["prlimit", f"--fsize={limit}"])
    ended = finish(process, 60)
    assert ended.code == 3, ended.err
    assert ended.err.count("cannot write to") == 1
    assert "Traceback" not in ended.err, ended.err
    rows, torn = rundir.whole_lines(tmp_path / "run" / rundir.REQUESTS)
    assert rows.count("\n") > 50
    assert torn or len(rows) <= limit
