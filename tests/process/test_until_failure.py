"""What ends a ladder early: `--until-failure` where a failure is confirmed, `--stop-when` where a guard fires."""

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
            "--warmup", "0s", "--think-time", "0", "--max-tokens", "10-30", "--prompt-tokens", "20-60", "--no-doctor",
            "--run-dir", str(path), *words,
        ])  # fmt: skip


def test_the_ladder_ends_where_the_failure_is_confirmed_and_the_report_finds_it(tmp_path: Path) -> None:
    ended = climb(tmp_path / "run", "1,2,4,8,12", "4s", "--until-failure")
    files = Files(tmp_path / "run")
    assert ended.code in (0, 3), "a client too busy for a band is said, and no failure of this"
    assert "a failure is confirmed at level 8: no further level" in ended.err
    assert [(row["target"], row["ended_by"]) for row in files.steps] == [
        ("1", "hold"), ("2", "hold"), ("4", "hold"), ("8", "failure"),
    ]  # fmt: skip
    assert (files.run["how"], files.run["plan"]["until_failure"]) == ("failure", True)
    verdict = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())
    assert (verdict["failure"]["status"], verdict["failure"]["mode"]) == ("found", "errors")
    assert verdict["failure"]["at"] == 8
    assert verdict["failure"]["after"] in (1, 2, 4), "4, unless the client was too busy to measure it"


def test_refusals_end_nothing_where_an_slo_says_what_the_accepted_must_keep(tmp_path: Path) -> None:
    climb(tmp_path / "run", "2,8,12", "2s", "--until-failure", "--slo", "ttft_p95<=1s", "--no-report")
    files = Files(tmp_path / "run")
    assert [row["ended_by"] for row in files.steps] == ["hold"] * 3
    assert files.run["how"] == "plan"


def test_a_guard_ends_the_run_and_is_told_everywhere_and_so_is_one_that_is_blind(tmp_path: Path) -> None:
    with serving(small(base_ms=20.0, max_num_seqs=16, blocks=24)) as server:
        ended = run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--steps", "1,12,16", "--hold", "6s", "--no-doctor",
            "--settle", "0s", "--warmup", "0s", "--think-time", "0", "--max-tokens", "20-40", "--prompt-tokens",
            "20-60", "--run-dir", str(tmp_path / "run"), "--stop-when", "kv_cache>=75% for 2s", "--stop-when",
            "device_memory>=95%,ttft_p95>=99s",
        ])  # fmt: skip
    files = Files(tmp_path / "run")
    assert "the guard kv_cache>=75% for 2s fired: " in ended.err, ended.err
    assert "the guard device_memory>=95% is blind" in ended.err
    assert [(row["target"], row["ended_by"]) for row in files.steps] == [("1", "hold"), ("12", "guard")]
    assert set(files.statuses) == {"ok"}, "drained: nothing is cut"
    fired, blind, silent = files.run["guards"]
    assert (files.run["how"], fired["guard"], blind["highest"]) == ("guard", "kv_cache>=75% for 2s", None)
    assert fired["value"] >= 0.75
    assert fired["fired_at"] - fired["since"] >= 2
    assert 0 < silent["highest"] < 99
    assert "Note: the run was ended by its guard kv_cache>=75% for 2s: " in ended.out
    assert "Note: the guard device_memory>=95% was blind" in ended.out
