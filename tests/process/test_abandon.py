"""Users who leave, in real Locust processes: booked apart, seen by the server, no failure."""

from pathlib import Path

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Files, run

pytestmark = pytest.mark.process


def test_some_leave_and_the_server_runs_no_more_for_them(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=100, itl_ms=20, n=50)))
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "10", "--hold", "6s", "--settle", "0s", "--warmup", "0s",
         "--think-time", "0", "--abandon", "40%@500ms", "--processes", "2", "--no-doctor", "--no-report",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files, log = Files(tmp_path / "run"), oracle.log()
    left, ok = files.statuses[Status.ABANDONED], files.statuses[Status.OK]
    print(f"started {files.total('started')}, ok {ok}, abandoned {left}; the server saw {len(log.aborts)} leave, "
          f"{log.in_flight} still run")  # fmt: skip
    assert set(files.statuses) == {Status.OK, Status.ABANDONED}
    assert left / (left + ok) == pytest.approx(0.4, abs=0.15)
    assert files.total("started") == files.statuses.total() == len(log.requests) - files.run["probe"]["requests"]
    assert files.total("abandoned") == left == len(log.aborts)
    assert log.in_flight == 0
    assert files.aggregated == ok, "Locust's table counts answers"
    assert files.run["abandon"] == "40%@500ms"
    rows = [row for row in files.rows(rundir.REQUESTS) if row["status"] == Status.ABANDONED]
    assert all(row["failure_class"] == "" for row in rows)
    tokens_left = sum(request.tokens for request in log.aborts)
    assert 0.8 * tokens_left <= files.total("output_tokens_cut") <= tokens_left
