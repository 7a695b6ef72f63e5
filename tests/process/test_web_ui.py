"""The web UI without a plan: Locust ramps as usual, TTFT and TPOT in its table, a run directory for each test."""

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, refused_port, tokens
from tests.process.running import Files, finish, free_port, start

pytestmark = pytest.mark.process


class Page:
    """Locust's web UI as its page talks to it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str) -> Any:
        """JSON of a path."""
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return json.load(answer)

    def post(self, path: str, **form: object) -> Any:
        """Send a form."""
        body = urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(self.url + path, body, timeout=20) as answer:
            return json.load(answer)

    def wait_for(self, holds: Callable[[dict[str, Any]], bool], within_s: float = 20.0) -> dict[str, Any]:
        """The statistics as soon as they are so."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            try:
                stats: dict[str, Any] = self.get("/stats/requests")
            except OSError:
                stats = {}
            if stats and holds(stats):
                return stats
            time.sleep(0.2)
        raise AssertionError("the page never said so")


def with_page(url: str, port: int, path: Path) -> list[str]:
    """Options of a Locust with its page on `port`."""
    return ["-H", url, "--web-port", str(port), "--run-dir", str(path / "run")]


@pytest.fixture(params=[[], ["--processes", "2"]], ids=["local", "two processes"])
def page(request: pytest.FixtureRequest, oracle: Oracle, tmp_path: Path) -> Iterator[Page]:
    oracle.script(tokens(ttft_ms=30, itl_ms=5, n=20))
    port = free_port()
    process = start(
        [
            "-H",
            oracle.url,
            "--web-port",
            str(port),
            "--think-time",
            "0",
            "--run-dir",
            str(tmp_path / "run"),
            *request.param,
        ]
    )
    try:
        page = Page(port)
        page.wait_for(lambda stats: stats["state"] == "ready" and (not request.param or len(stats["workers"]) == 2))
        yield page
    finally:
        process.terminate()
        ended = finish(process, 20)
    assert "Traceback" not in ended.err, ended.err


def test_users_ramp_and_the_table_has_first_tokens(page: Page, oracle: Oracle, tmp_path: Path) -> None:
    page.post("/swarm", user_count=4, spawn_rate=4)
    stats = page.wait_for(lambda stats: stats["user_count"] == 4 and stats["stats"][-1]["num_requests"] > 20)
    rows = {row["method"]: row for row in stats["stats"]}
    assert {"E2E", "TTFT", "TPOT"} <= set(rows)
    assert 25 <= rows["TTFT"]["median_response_time"] < 200
    assert stats["stats"][-1]["name"] == "Aggregated"
    assert stats["stats"][-1]["num_requests"] == rows["E2E"]["num_requests"]
    page.post("/stop")
    page.wait_for(lambda stats: stats["state"] in ("stopped", "ready"))
    time.sleep(3)
    first = Files(tmp_path / "run")
    assert first.run["how"] == "stopped"
    assert first.run["plan"] is None
    assert (
        first.total("started") == first.statuses.total() == len(oracle.log().requests) - first.run["probe"]["requests"]
    )
    assert first.statuses[Status.OK] + first.statuses[Status.FAILED] == first.aggregated
    page.post("/swarm", user_count=1, spawn_rate=1)
    page.wait_for(lambda stats: stats["stats"][-1]["num_requests"] > 2)
    page.post("/stop")
    time.sleep(3)
    assert Files(tmp_path / "run-2").statuses[Status.OK] > 0


def test_start_runs_the_plan_of_the_command_line_and_start_again_runs_it_again(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=2, n=10))
    port = free_port()
    plan = ["--steps", "1,3", "--hold", "2s", "--settle", "0s", "--warmup", "0s", "--think-time", "0"]
    process = start([*with_page(oracle.url, port, tmp_path), *plan])
    page = Page(port)
    page.wait_for(lambda stats: stats["state"] == "ready")
    for name in ("run", "run-2"):
        page.post("/swarm", user_count=1, spawn_rate=1)
        page.wait_for(lambda stats: stats["state"] in ("spawning", "running"))
        page.wait_for(lambda stats: stats["state"] == "stopped", 40)
        files = Files(tmp_path / name)
        until = time.monotonic() + 5
        while files.run["ended"] is None and time.monotonic() < until:
            time.sleep(0.1)
        assert files.run["how"] == "plan"
        assert [(row["target"], row["ended_by"]) for row in files.steps] == [("1", "hold"), ("3", "hold")]
        assert files.total("started") == files.statuses.total() == files.statuses[Status.OK]
    process.terminate()
    assert "Traceback" not in finish(process, 20).err


def test_a_target_that_is_down_is_said_and_the_page_stays(tmp_path: Path) -> None:
    port = free_port()
    with refused_port() as nobody:
        process = start(
            ["-H", f"http://127.0.0.1:{nobody}", "--web-port", str(port), "--run-dir", str(tmp_path / "run")]
        )
        page = Page(port)
        page.wait_for(lambda stats: stats["state"] == "ready")
        page.post("/swarm", user_count=1, spawn_rate=1)
        page.wait_for(lambda stats: stats["state"] == "stopped")
        process.terminate()
        ended = finish(process, 20)
    assert "cannot reach" in ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / "run").exists()


def test_a_host_from_the_form_never_gets_the_key(oracle: Oracle, tmp_path: Path) -> None:
    port = free_port()
    with refused_port() as nobody:
        words = with_page(f"http://127.0.0.1:{nobody}", port, tmp_path)
        process = start(words, {"LOADBAND_API_KEY": "sk-planted-0815"})
        page = Page(port)
        page.wait_for(lambda stats: stats["state"] == "ready")
        page.post("/swarm", user_count=1, spawn_rate=1, host=oracle.url, run_dir=str(tmp_path / "planted"))
        oracle.wait_until(lambda log: len(log.requests) > 8, 20)
        process.terminate()
        ended = finish(process, 20)
    assert "sk-planted" not in json.dumps([request.headers for request in oracle.log().requests])
    assert not (tmp_path / "planted").exists()
    assert "Traceback" not in ended.err, ended.err


WRONG: list[tuple[dict[str, str], str]] = [
    ({"max_tokens": "0"}, "--max-tokens: '0': write at least 1 token"),
    ({"seed": "abc"}, "--seed: 'abc' is no whole number"),
    ({"temperature": "hot"}, "--temperature: 'hot' is no temperature"),
    ({"idle_timeout": "0s"}, "--idle-timeout: '0s': write a time above 0 s"),
]


def test_a_wrong_value_of_the_form_is_a_sentence_and_no_test(oracle: Oracle, tmp_path: Path) -> None:
    port = free_port()
    process = start(with_page(oracle.url, port, tmp_path))
    page = Page(port)
    page.wait_for(lambda stats: stats["state"] == "ready")
    for form, sentence in WRONG:
        answer = page.post("/swarm", user_count=1, spawn_rate=1, host=oracle.url, **form)
        assert answer["success"] is False
        assert answer["message"].startswith(sentence)
    assert page.get("/stats/requests")["state"] == "ready"
    assert oracle.log().requests == []
    process.terminate()
    ended = finish(process, 20)
    assert all(f"loadband: {sentence}" in ended.err for _, sentence in WRONG)
    assert "Traceback" not in ended.err
    assert not (tmp_path / "run").exists()


def until_asked(run: Path) -> None:
    """Wait until a run has booked some requests."""
    until = time.monotonic() + 40
    while time.monotonic() < until:
        if (run / rundir.REQUESTS).exists() and Files(run).statuses[Status.OK] > 10:
            return
        time.sleep(0.2)
    raise AssertionError(f"nothing came of {run.name}")


def test_stop_and_start_at_once_keep_both_tables_whole(page: Page, tmp_path: Path) -> None:
    page.post("/swarm", user_count=3, spawn_rate=3)
    until_asked(tmp_path / "run")
    reset = page.post("/stats/reset")
    assert reset["success"] is False and "stop first" in reset["message"]
    for name in ("run-2", "run-3"):
        page.post("/stop")
        page.post("/swarm", user_count=2, spawn_rate=2)
        until_asked(tmp_path / name)
    page.post("/stop")
    for name in ("run", "run-2", "run-3"):
        files = Files(tmp_path / name)
        assert files.run["how"] == "stopped"
        assert files.statuses[Status.OK] > 5
        assert files.total("started") == files.statuses.total()
        assert files.aggregated == files.statuses[Status.OK] + files.statuses[Status.FAILED]
