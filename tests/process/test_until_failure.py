"""A server that refuses what it has no place for: `--until-failure` ends the ladder at the level that confirms it."""

import json
from pathlib import Path

import pytest

from tests.process.running import Ended, Files, run
from tests.sim.profiles import small
from tests.sim.serving import serving

pytestmark = pytest.mark.process

PLACES = 4


def climb(path: Path, levels: str, hold: str, *words: str) -> Ended:
    """A short ladder past the places of a server without a queue."""
    with serving(small(base_ms=5.0, max_num_seqs=PLACES, max_waiting=0)) as server:
        return run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--steps", levels, "--hold", hold, "--settle", "0s",
            "--warmup", "0s", "--think-time", "0", "--max-tokens", "10-30", "--run-dir", str(path), *words,
        ])  # fmt: skip


def test_the_ladder_ends_where_the_failure_is_confirmed_and_the_report_finds_it(tmp_path: Path) -> None:
    ended = climb(tmp_path / "run", "1,2,4,8,12", "5s", "--until-failure")
    files = Files(tmp_path / "run")
    assert ended.code == 0, ended.out
    assert "a failure is confirmed at level 8: no further level" in ended.err
    assert [(row["target"], row["ended_by"]) for row in files.steps] == [
        ("1", "hold"), ("2", "hold"), ("4", "hold"), ("8", "failure"),
    ]  # fmt: skip
    assert (files.run["how"], files.run["plan"]["until_failure"]) == ("failure", True)
    verdict = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())
    assert (verdict["failure"]["status"], verdict["failure"]["mode"]) == ("found", "errors")
    assert (verdict["failure"]["after"], verdict["failure"]["at"]) == (4, 8)


def test_refusals_end_nothing_where_an_slo_says_what_the_accepted_must_keep(tmp_path: Path) -> None:
    climb(tmp_path / "run", "2,8,12", "2s", "--until-failure", "--slo", "ttft_p95<=1s", "--no-report")
    files = Files(tmp_path / "run")
    assert [row["ended_by"] for row in files.steps] == ["hold"] * 3
    assert files.run["how"] == "plan"
