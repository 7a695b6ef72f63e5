"""Is the load what was meant? Users against requests in flight, and answers that end before the length asked for."""

from pathlib import Path

import pytest

from loadband import rundir
from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds
from tests.oracle import Oracle, tokens
from tests.process.running import Files, finish, start

pytestmark = pytest.mark.process


def levels_of(oracle: Oracle, paths: tuple[Path, Path], words: tuple[str, ...], *own: tuple[str, ...]) -> list[Level]:
    """The one level of each of two runs at the same time."""
    started = [
        start(
            ["--headless", "-H", oracle.url, "--hold", "5s", "--settle", "1s", "--warmup", "0s", "--no-report",
             "--no-doctor", "--run-dir", str(path), *words, *more]
        )
        for path, more in zip(paths, own, strict=True)
    ]  # fmt: skip
    ends = [finish(process) for process in started]
    assert [ended.code for ended in ends] == [0, 0], [ended.err for ended in ends]
    return [level for path in paths for level in analyse_run(path, None, Thresholds()).verdict.levels]


@pytest.mark.timing
def test_twenty_users_who_pause_are_four_requests_in_flight(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=160, itl_ms=20, n=3))
    words = ("--steps", "20", "--max-tokens", "16")
    paths = (tmp_path / "pausing", tmp_path / "steady")
    levels = levels_of(oracle, paths, words, ("--think-time", "0.8"), ("--think-time", "0"))
    pausing, steady = (level.numbers for level in levels)
    assert pausing.in_flight is not None and pausing.req_s is not None and pausing.e2e_mean_s is not None
    assert pausing.in_flight == pytest.approx(pausing.req_s * pausing.e2e_mean_s, rel=0.15), "Little's law"
    assert pausing.in_flight == pytest.approx(4.0, rel=0.25)
    assert pausing.req_s == pytest.approx(20.0, rel=0.15)
    assert steady.in_flight == pytest.approx(20.0, rel=0.05)


def test_answers_that_end_early_are_told_and_ignore_eos_mends_them(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=5, itl_ms=1, eos_after=30))
    words = ("--steps", "4", "--max-tokens", "100", "--think-time", "0.05")
    whole, early = levels_of(oracle, (tmp_path / "whole", tmp_path / "early"), words, (), ("--no-ignore-eos",))
    assert whole.numbers.output_ratio == pytest.approx(1.0)
    assert "short_answers" not in whole.grade.marks
    assert early.numbers.output_ratio == pytest.approx(0.3)
    assert "short_answers" in early.grade.marks
    for name, reason in (("whole", "length"), ("early", "stop")):
        rows = Files(tmp_path / name).rows(rundir.REQUESTS)
        assert {row["finish_reason"] for row in rows if row["status"] == "ok"} == {reason}
