"""A target that goes away in mid-run: noticed within seconds, not hammered, and the run ends or waits as told."""

from pathlib import Path

import pytest

from loadband import rundir
from tests.oracle import Oracle, Outage, rule, tokens
from tests.oracle.faults import error
from tests.process.running import Files, run

pytestmark = pytest.mark.process

QUICK = tokens(ttft_ms=20, itl_ms=2, n=5)
HOLD, GONE_AFTER = 200, 320
"""Requests of each level, and of all before the target goes: in the second level, however quick the machine is."""


def words(oracle: Oracle, path: Path, *more: str) -> list[str]:
    return [
        "--headless", "-H", oracle.url, "--steps", "2,4,8", "--hold", f"{HOLD}req", "--settle", "0s",
        "--think-time", "0", "--no-doctor", "--warmup", "0s", "--run-dir", str(path), *more,
    ]  # fmt: skip


def test_a_target_that_stays_away_ends_the_run(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(QUICK), outage=Outage(after=GONE_AFTER, seconds=None))
    ended = run(words(oracle, tmp_path / "run", "--no-report"))
    files = Files(tmp_path / "run")
    assert "Traceback" not in ended.err, ended.err
    assert "the target went away" in ended.err
    assert files.run["how"] == "target_lost"
    assert [row["ended_by"] for row in files.steps] == ["hold", "target_lost"]
    refused = [row for row in files.rows(rundir.REQUESTS) if row["failure_class"] == "connect"]
    assert 3 <= len(refused) <= 8 * 2 * 10, "a few attempts per user and second at most"


def test_a_target_that_comes_back_is_waited_for_when_told_so(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(QUICK), outage=Outage(after=GONE_AFTER, seconds=4.0))
    ended = run(words(oracle, tmp_path / "run", "--on-target-loss", "continue", "--no-report"))
    files = Files(tmp_path / "run")
    assert ended.code == 0, ended.err
    assert files.run["how"] == "plan"
    assert [row["ended_by"] for row in files.steps] == ["hold"] * 3
    rows = files.rows(rundir.REQUESTS)
    assert sum(row["failure_class"] == "connect" for row in rows) >= 3
    last = [row for row in rows if row["step_end"] == "3"]
    assert {row["status"] for row in last} == {"ok"}


def test_users_do_not_hammer_a_server_that_fails_at_once(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(QUICK, times=5), rule(error(500, "out of memory")))
    users, seconds = 3, 6
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", str(users), "--hold", f"{seconds}s", "--settle", "0s", "--warmup",
         "0s", "--think-time", "0", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    rows = Files(tmp_path / "run").rows(rundir.REQUESTS)
    assert {row["failure_class"] for row in rows} == {"http_500"}
    assert {row["message"] for row in rows} == {"out of memory"}
    assert users * seconds * 2 < len(rows) < users * (seconds + 4) * 5
