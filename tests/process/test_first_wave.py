"""A server whose first answers are slow: kept out by default, and told where nothing is cut off."""

from pathlib import Path

import pytest

from loadband import rundir
from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds
from tests.oracle import Oracle, rule, tokens
from tests.process.running import Files, finish, start

pytestmark = pytest.mark.process

USERS = 10
COLD_S = 1.5
RUNS = {77: [], 78: ["--warmup", "0s", "--settle", "0s"]}
"""Length of the answers asked for, by which the server tells the runs apart -> what they say otherwise."""


def test_the_opening_wave_is_kept_out_or_told(oracle: Oracle, tmp_path: Path) -> None:
    cold, warm = tokens(ttft_ms=COLD_S * 1000, itl_ms=1, n=3), tokens(ttft_ms=100, itl_ms=1, n=3)
    rules = [rule(cold, equals=("max_tokens", length), times=USERS) for length in RUNS]
    oracle.script(*rules, rule(warm))
    started = [
        start(
            ["--headless", "-H", oracle.url, "--steps", str(USERS), "--hold", "100req", "--think-time", "0",
             "--max-tokens", str(length), "--no-doctor", "--no-report", "--run-dir", str(tmp_path / str(length)),
             *words]
        )
        for length, words in RUNS.items()
    ]  # fmt: skip
    for process in started:
        ended = finish(process)
        assert ended.code == 0, ended.err
    kept_out, told = (level_of(tmp_path / str(length)) for length in RUNS)
    print(f"TTFT p95: {kept_out.numbers.ttft_p95_s} s by default, {told.numbers.ttft_p95_s} s with nothing cut off")
    assert kept_out.numbers.ttft_p95_s is not None
    rows = [row for row in Files(tmp_path / "78").rows(f"{rundir.LOCUST_PREFIX}_stats.csv") if row["Type"] == "E2E"]
    quickest = [float(row["Min Response Time"]) for row in rows]
    print(f"quickest of Locust's own E2E: {quickest} ms")
    assert min(quickest) >= 100, "the last token's time, not that of the headers, which came at once"
    assert kept_out.numbers.ttft_p95_s < COLD_S / 2
    assert "first_wave" not in kept_out.grade.marks
    assert told.numbers.ttft_p99_s is not None and told.numbers.ttft_p99_s >= COLD_S
    assert "first_wave" in told.grade.marks


def level_of(path: Path) -> Level:
    (level,) = analyse_run(path, None, Thresholds()).verdict.levels
    return level
