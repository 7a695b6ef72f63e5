"""`--retries` in a real run: the good attempt's latency, what its user felt, and no attempt that is hidden."""

from pathlib import Path

import pytest

from loadband import rundir
from loadband.analysis.analyse import analyse_run
from loadband.analysis.thresholds import Thresholds
from tests.oracle import Oracle, answer, at, content, done, finish, rule, tokens
from tests.oracle.faults import throttled
from tests.process.running import Files, run

pytestmark = pytest.mark.process

LENGTH = 77
"""Tells the load's requests from the probe's."""


def test_a_refused_request_is_asked_again_and_both_attempts_are_told(oracle: Oracle, tmp_path: Path) -> None:
    good = answer(at(100, content("a"), finish(), done()))
    oracle.script(rule(throttled(), good, equals=("max_tokens", LENGTH)), rule(tokens()))
    path = tmp_path / "run"
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "1", "--hold", "5s", "--settle", "0s", "--warmup", "0s",
         "--no-doctor", "--no-report", "--max-tokens", str(LENGTH), "--think-time", "0", "--retries", "1",
         "--run-dir", str(path)]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(path)
    rows = files.rows(rundir.REQUESTS)
    sent = [each for each in oracle.log().requests if each.body.get("max_tokens") == LENGTH]
    assert len(rows) == len(sent), "each attempt is a record"
    assert files.run["retries"] == 1
    whole = [row for row in rows if row["status"] != "cut"]
    assert {(row["status"], row["attempts"], row["flags"]) for row in whole} == {
        ("failed", "1", "retried"), ("ok", "2", ""),
    }  # fmt: skip
    for row in whole:
        if row["status"] == "ok":
            assert 0.09 <= float(row["ttft_s"]) < 0.5
            assert float(row["felt_s"]) >= 1.09
    (note,) = [note for note in analyse_run(path, None, Thresholds()).notes if "retries" in note]
    assert "each attempt counts as a request" in note
