"""Many users on one worker: each keeps its connection, also beyond descriptor 1024."""

from pathlib import Path

import pytest

from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Files, run

pytestmark = pytest.mark.process

USERS = 1500


def test_fifteen_hundred_users_keep_their_connections(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=1500, itl_ms=100, n=5)), keep_bodies=False)
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", str(USERS), "-r", "500", "--settle", "0s",
         "--hold", f"{2 * USERS}req", "--think-time", "0", "--no-doctor", "--no-report",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files, log = Files(tmp_path / "run"), oracle.log()
    assert set(files.statuses) == {Status.OK}
    assert files.statuses[Status.OK] >= 2 * USERS
    asked = log.requests[files.run["probe"]["requests"] :]
    print(f"{len(asked)} requests over {len({r.connection for r in asked})} connections, {log.peak_in_flight} at once")
    assert len(asked) == files.statuses[Status.OK]
    assert len({request.connection for request in asked}) == USERS
    assert log.peak_in_flight > 1024
