"""Workers that come late, leave, or come back: the run says so, goes on with those it has, and its books balance."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.running import Files, finish, free_port, start

pytestmark = pytest.mark.process

SHORT = tokens(ttft_ms=20, itl_ms=10, n=40)
FOREIGN = "from locust import User, task\nclass Other(User):\n    @task\n    def go(self): ...\n"


class Site:
    """A master with two workers, and who comes later."""

    def __init__(self, oracle: Oracle, path: Path, steps: str, hold: str) -> None:
        self.port = free_port()
        self.path = path
        self.master = start([
            "--master", "--master-bind-port", str(self.port), "--expect-workers", "2", "--headless", "-H", oracle.url,
            "--steps", steps, "--hold", hold, "--settle", "0s", "--warmup", "0s", "--think-time", "0", "--no-report",
            "--run-dir", str(path), "-r", "100",
        ])  # fmt: skip
        self.workers = [self.worker(), self.worker()]

    def worker(self, *words: str) -> subprocess.Popen[str]:
        """One more."""
        return start(["--worker", "--master-port", str(self.port), *words])

    def check(self, oracle: Oracle) -> Files:
        """The books of the run that ended."""
        files = Files(self.path)
        assert files.total("started") == files.statuses.total()
        assert files.aggregated == files.statuses[Status.OK] + files.statuses[Status.FAILED]
        assert files.statuses.total() <= len(oracle.log().requests) - files.run["probe"]["requests"]
        return files


@pytest.fixture
def site(oracle: Oracle, tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    oracle.script(SHORT)
    steps, hold = request.param
    return Site(oracle, tmp_path / "run", steps, hold)


@pytest.mark.parametrize("site", [("4,6,8", "4s")], indirect=True)
def test_a_worker_leaves_and_others_come(oracle: Oracle, site: Site, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.py"
    foreign.write_text(FOREIGN)
    oracle.wait_until(lambda log: log.in_flight == 4, 40)
    time.sleep(1.2)
    site.workers[0].terminate()
    late, stranger = site.worker(), site.worker("-f", str(foreign))
    ended = finish(site.master, 60)
    for worker in (*site.workers, late, stranger):
        assert finish(worker, 20).code == 0
    assert ended.code == 3, "a worker was lost"
    assert "Traceback" not in ended.err, ended.err
    assert "left: this level ends and does not count" in ended.err
    assert "came after the start: it takes no part in this run" in ended.err
    assert "has not said which Loadband it runs" in ended.err and "it is sent away" in ended.err
    files = site.check(oracle)
    assert [(row["target"], row["ended_by"]) for row in files.steps] == [
        ("4", "worker_lost"), ("6", "hold"), ("8", "hold"),
    ]  # fmt: skip
    assert set(files.statuses) <= {Status.OK, Status.CUT}
    assert files.statuses.total() == len(oracle.log().requests) - files.run["probe"]["requests"], "it told all of it"
    assert len({row["worker"] for row in files.rows(rundir.REQUESTS)}) == 2, "nobody else was given users"


@pytest.mark.parametrize("site", [("4,6", "8s")], indirect=True)
def test_a_worker_that_was_struck_off_and_comes_back_is_sent_home(oracle: Oracle, site: Site) -> None:
    oracle.wait_until(lambda log: log.in_flight == 4, 40)
    time.sleep(1.2)
    sleeper = site.workers[0]
    sleeper.send_signal(signal.SIGSTOP)
    time.sleep(6)
    sleeper.send_signal(signal.SIGCONT)
    assert finish(sleeper, 20).code == 0
    ended = finish(site.master, 60)
    finish(site.workers[1], 20)
    assert ended.code == 3
    assert "was lost, with 2 requests in flight" in ended.err
    files = site.check(oracle)
    assert [(row["target"], row["ended_by"]) for row in files.steps] == [("4", "worker_lost"), ("6", "hold")]
    assert files.statuses[Status.LOST] == 2
    held = files.steps[-1]
    users = {
        row["users"]
        for row in files.rows(rundir.SECONDS)
        if row["users"] and float(held["hold_from"]) + 1 <= int(row["second"]) <= float(held["hold_to"]) - 2
    }
    assert users == {"6"}


@pytest.mark.parametrize("site", [("2,4", "20s")], indirect=True)
def test_a_run_whose_workers_are_all_gone_ends_and_says_so(oracle: Oracle, site: Site) -> None:
    oracle.wait_until(lambda log: log.in_flight == 2, 40)
    time.sleep(1.2)
    for worker in site.workers:
        os.kill(worker.pid, signal.SIGKILL)
    ended = finish(site.master, 40)
    assert ended.code == 3, ended.err
    files = site.check(oracle)
    assert files.run["how"] == "workers_lost"
    assert files.statuses[Status.LOST] == 2
