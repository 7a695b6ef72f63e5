"""Is the load what was meant? Users against requests in flight, and answers that end before the length asked for."""

import csv
from pathlib import Path

import pytest

from loadband import rundir
from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.running import Files, run

pytestmark = pytest.mark.process


def level_of(oracle: Oracle, path: Path, *words: str) -> Level:
    ended = run(
        ["--headless", "-H", oracle.url, "--hold", "6s", "--settle", "1s", "--warmup", "0s", "--no-report",
         "--run-dir", str(path), *words]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    (level,) = analyse_run(path, None, Thresholds()).verdict.levels
    return level


@pytest.mark.timing
def test_twenty_users_who_pause_are_four_requests_in_flight(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=60, itl_ms=20, n=3))
    words = ("--steps", "20", "--max-tokens", "16")
    pausing = level_of(oracle, tmp_path / "pausing", *words, "--think-time", "0.4").numbers
    steady = level_of(oracle, tmp_path / "steady", *words, "--think-time", "0").numbers
    assert pausing.in_flight is not None and pausing.req_s is not None and pausing.e2e_mean_s is not None
    assert pausing.in_flight == pytest.approx(pausing.req_s * pausing.e2e_mean_s, rel=0.15), "Little's law"
    assert pausing.in_flight == pytest.approx(4.0, rel=0.25)
    assert pausing.req_s == pytest.approx(40.0, rel=0.15)
    assert steady.in_flight == pytest.approx(20.0, rel=0.05)


@pytest.mark.timing
def test_requests_in_flight_are_those_of_their_second(oracle: Oracle, tmp_path: Path) -> None:
    """All users answer and pause together, and the worker tells at odd moments too: no second may have another's value.

    Requests of 0.3 s, pauses of 0.9 s: seconds differ, from almost none to all of the users.
    """
    oracle.script(tokens(ttft_ms=280, itl_ms=10, n=3))
    level_of(oracle, tmp_path / "run", "--steps", "6", "--max-tokens", "3", "--think-time", "0.9")
    files = Files(tmp_path / "run")
    spans = [
        (float(row["started_at"]), float(row["started_at"]) + float(row["duration_s"] or row["e2e_s"]))
        for row in files.rows(rundir.REQUESTS)
    ]
    told = {int(row["second"]): float(row["in_flight"]) for row in files.rows(rundir.SECONDS) if row["in_flight"]}
    first, last = int(min(spans)[0]) + 1, int(max(end for _, end in spans))
    print({second: told.get(second) for second in range(first, last)})
    assert last - first >= 6
    for second in range(first, last):
        truth = sum(max(0.0, min(end, second + 1) - max(begin, second)) for begin, end in spans)
        assert told[second] == pytest.approx(truth, abs=0.2), second


def test_answers_that_end_early_are_told_and_ignore_eos_mends_them(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=5, itl_ms=1, eos_after=30))
    words = ("--steps", "4", "--max-tokens", "100", "--think-time", "0.05")
    whole = level_of(oracle, tmp_path / "whole", *words)
    early = level_of(oracle, tmp_path / "early", *words, "--no-ignore-eos")
    assert whole.numbers.output_ratio == pytest.approx(1.0)
    assert "short_answers" not in whole.grade.marks
    assert early.numbers.output_ratio == pytest.approx(0.3)
    assert "short_answers" in early.grade.marks
    for name, reason in (("whole", "length"), ("early", "stop")):
        rows = Files(tmp_path / name).rows(rundir.REQUESTS)
        assert {row["finish_reason"] for row in rows if row["status"] == "ok"} == {reason}


@pytest.mark.long
def test_answers_longer_than_the_window_count_by_what_arrived(oracle: Oracle, tmp_path: Path) -> None:
    """Four users, answers of 16 s, a window of 40 s: 12 begin, 8 end in it, 4 are cut, and 40 tokens/s come all along.

    By finished requests it would be 8 x 160 / 40 = 32 tokens/s.
    """
    oracle.script(tokens(ttft_ms=100, itl_ms=100))
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "4", "-r", "100", "--warmup", "0s", "--settle", "0s",
         "--hold", "40s", "--drain", "0s", "--think-time", "0", "--max-tokens", "160", "--no-doctor",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    files = Files(tmp_path / "run")
    (row,) = csv.DictReader((tmp_path / "run" / "report" / "step_table.csv").open())
    print(f"started {files.total('started')}, {dict(files.statuses)}, {float(row['output_tok_s']):.2f} tokens/s")
    print(ended.out)
    assert files.total("started") == 12
    assert files.statuses == {Status.OK: 8, Status.CUT: 4}
    assert float(row["output_tok_s"]) == pytest.approx(40, rel=0.02)
