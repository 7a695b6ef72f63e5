"""A key is in no file, page, log or message, also when the server says it back."""

import time
import urllib.request
from pathlib import Path

import pytest

from loadband.record import Status
from tests.oracle import Oracle, rule, tokens
from tests.oracle.faults import unauthorised
from tests.process.running import Files, finish, free_port, run, start

pytestmark = pytest.mark.process

KEY = "sk-planted-1234567890"
ENV = {"LOADBAND_API_KEY": KEY}


def holding_the_key(path: Path) -> list[str]:
    """Files below `path` that hold it."""
    return [file.name for file in path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


def test_a_key_that_the_server_echoes_in_mid_run_is_kept_out_of_everything(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(tokens(ttft_ms=5, itl_ms=1, n=3), times=40), rule(unauthorised()))
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "1,2", "--hold", "3s", "--settle", "0s", "--think-time", "0.1",
         "--processes", "2", "--run-dir", str(tmp_path / "run")],
        ENV,
    )  # fmt: skip
    files = Files(tmp_path / "run")
    told = [row["message"] for row in files.rows("requests.csv") if row["failure_class"] == "http_401"]
    assert files.statuses[Status.FAILED] == len(told) > 3
    assert all("Incorrect API key provided" in message for message in told)
    assert oracle.log().requests[-1].headers["authorization"] == f"Bearer {KEY}", "the server did get it"
    assert KEY not in ended.out + ended.err
    assert holding_the_key(tmp_path) == []


def test_a_key_is_on_no_page_and_in_no_process_list(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(unauthorised(), times=1, numbers=[8]), rule(tokens(n=3)))
    port = free_port()
    process = start(["-H", oracle.url, "--web-port", str(port), "--run-dir", str(tmp_path / "run")], ENV)
    try:
        page = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 20
        seen = b""
        while not seen and time.monotonic() < until:
            try:
                seen = urllib.request.urlopen(page, timeout=5).read()
            except OSError:
                time.sleep(0.2)
        urllib.request.urlopen(f"{page}/swarm", b"user_count=3&spawn_rate=3", timeout=20).read()
        oracle.wait_until(lambda log: len(log.requests) >= 14, 20)
        time.sleep(2)
        for path in ("/", "/stats/requests", "/stats/report", "/exceptions", "/logs", "/stats/failures/csv"):
            seen += urllib.request.urlopen(page + path, timeout=5).read()
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    finally:
        process.terminate()
        ended = finish(process, 20)
    assert b"TTFT" in seen
    assert KEY.encode() not in seen + arguments
    assert KEY not in ended.out + ended.err
    assert holding_the_key(tmp_path) == []
    assert (tmp_path / "run" / "run.json").exists()
