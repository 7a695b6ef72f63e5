"""Nothing is lost: every request that the server saw is in the files, however the run ends."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Ended, Files, finish, free_port, start

pytestmark = pytest.mark.process

STREAM = tokens(ttft_ms=50, itl_ms=30, n=100)
"""An answer of 3 s: longer than a level."""

PLACES = ["local", "two processes", "master and two workers"]


class Started:
    """A run in one of the places: the process that was started, and workers started beside it in its group."""

    def __init__(self, place: str, words: list[str]) -> None:
        self.workers: list[subprocess.Popen[str]] = []
        if place == "local":
            self.master = start(words)
        elif place == "two processes":
            self.master = start([*words, "--processes", "2"])
        else:
            port = str(free_port())
            self.master = start([*words, "--master", "--master-bind-port", port, "--expect-workers", "2"])
            worker = ["--worker", "--master-port", port]
            self.workers = [start(worker, group=self.master.pid) for _ in range(2)]

    def finish(self, within_s: float = 60.0) -> Ended:
        """Wait for the master and its workers."""
        ended = finish(self.master, within_s)
        for worker in self.workers:
            last = finish(worker, 20)
            assert last.code == 0
            assert "Traceback" not in last.err, last.err
        return ended


def words(oracle: Oracle, path: Path, *more: str) -> list[str]:
    """Two short levels with streams that outlast them."""
    return [
        "--headless", "-H", oracle.url, "--steps", "2,5", "--hold", "2s", "--settle", "0s", "--think-time", "0",
        "--warmup", "0s", "--no-doctor", "--run-dir", str(path), *more,
    ]  # fmt: skip


def check(oracle: Oracle, files: Files) -> None:
    """Started = ok + failed + cut = what the server saw; tokens and Locust's own table agree."""
    log, statuses = oracle.log(), files.statuses
    probes = files.run["probe"]
    rows = files.rows(rundir.REQUESTS)
    assert len(rows) == len(log.requests) - probes["requests"]
    assert files.total("started") == statuses.total()
    for status in (Status.OK, Status.FAILED, Status.CUT):
        assert files.total(status) == statuses[status]
    assert files.aggregated == statuses[Status.OK] + statuses[Status.FAILED]
    assert files.total("output_tokens_ok") == 100 * statuses[Status.OK]
    assert len({row["id"] for row in rows}) == len(rows)
    lost = statuses[Status.LOST]
    print(
        f"started {files.total('started')}, ok {statuses[Status.OK]}, failed {statuses[Status.FAILED]}, "
        f"cut {statuses[Status.CUT]}, lost {lost}; the server saw {len(log.requests) - probes['requests']}; "
        f"Locust's Aggregated {files.aggregated}"
    )
    cut_by_server = sum(request.tokens for request in log.aborts)
    assert files.total("output_tokens_cut") <= cut_by_server


@pytest.mark.parametrize("place", PLACES)
def test_a_plan_that_ends_drains_every_request(oracle: Oracle, tmp_path: Path, place: str) -> None:
    oracle.script(*after_probe(STREAM))
    ended = Started(place, words(oracle, tmp_path / "run", "--no-report")).finish(120)
    files = Files(tmp_path / "run")
    assert ended.code == 0, ended.err
    assert files.run["how"] == "plan"
    assert files.run["ended"] is not None
    assert set(files.statuses) == {Status.OK}
    assert oracle.log().aborts == []
    check(oracle, files)
    assert [(row["target"], row["ended_by"]) for row in files.steps] == [("2", "hold"), ("5", "hold")]


def interrupt_group(process: subprocess.Popen[str]) -> None:
    """Ctrl-C in a terminal."""
    os.killpg(process.pid, signal.SIGINT)


def terminate_group(process: subprocess.Popen[str]) -> None:
    """What a service manager does."""
    os.killpg(process.pid, signal.SIGTERM)


def terminate_master(process: subprocess.Popen[str]) -> None:
    """`kill` of the process that was started."""
    process.terminate()


def close_terminal(process: subprocess.Popen[str]) -> None:
    """What a dropped ssh does."""
    os.killpg(process.pid, signal.SIGHUP)


def ended_in_mid_answer(
    oracle: Oracle, place: str, end: Callable[[subprocess.Popen[str]], None], asked: list[str]
) -> Files:
    """What a run leaves that is ended while five users, who have had answers, are in the middle of one."""
    oracle.script(*after_probe(STREAM))
    started = Started(place, [*asked, "--no-report"])
    oracle.wait_until(lambda log: log.in_flight == 5 and log.ends["done"] > 5, 60)
    time.sleep(1.2)
    end(started.master)
    ended = started.finish(30)
    assert "Traceback" not in ended.err, ended.err
    oracle.wait_until(lambda log: log.open_connections == 0)
    return Files(Path(asked[asked.index("--run-dir") + 1]))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("end", "how"),
    [
        (interrupt_group, "interrupted"), (terminate_group, "terminated"), (terminate_master, "terminated"),
        (close_terminal, "terminated"),
    ],
    ids=["Ctrl-C", "SIGTERM to the group", "SIGTERM to the master", "closed terminal"],
)  # fmt: skip
def test_a_run_that_is_ended_keeps_its_cut_requests(
    oracle: Oracle, tmp_path: Path, place: str, end: Callable[[subprocess.Popen[str]], None], how: str
) -> None:
    files = ended_in_mid_answer(oracle, place, end, words(oracle, tmp_path / "run", "--steps", "5", "--hold", "60s"))
    assert files.run["how"] == how
    assert files.statuses[Status.CUT] > 0 < files.statuses[Status.OK]
    assert files.statuses[Status.CUT] == len(oracle.log().aborts)
    check(oracle, files)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_lost_through_tls(
    oracle_tls: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Pages, probe and load; a drained level, and one that is cut in mid-answer, to the last token that was sent."""
    monkeypatch.setenv("SSL_CERT_FILE", str(oracle_tls.cafile))
    asked = words(oracle_tls, tmp_path / "run", "--hold", "4s", "--steps", "2,5")
    files = ended_in_mid_answer(oracle_tls, place, interrupt_group, asked)
    log = oracle_tls.log()
    assert files.statuses[Status.CUT] == len(log.aborts) > 0 < files.statuses[Status.OK]
    assert not files.statuses[Status.FAILED]
    check(oracle_tls, files)
    sent, seen = sum(request.tokens for request in log.aborts), files.total("output_tokens_cut")
    print(f"of the cut requests {sent} tokens were sent and {seen} seen")
    assert 0 <= sent - seen <= len(log.aborts), "the last one may have been on its way"


def test_killing_the_master_loses_at_most_the_last_report(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=10, n=10))
    process = start(words(oracle, tmp_path / "run", "--hold", "60s", "--no-report"))
    oracle.wait_until(lambda log: len(log.requests) >= 60, 60)
    seen = len(oracle.log().requests)
    time.sleep(1.5)
    process.kill()
    process.communicate()
    files = Files(tmp_path / "run")
    assert files.run["ended"] is None
    assert files.statuses[Status.OK] >= seen - files.run["probe"]["requests"] - 2
