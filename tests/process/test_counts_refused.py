"""A server that refuses to be asked for token counts, asked twice by the same command: nothing fails, all is counted.

And no prompt begins like another, within a level, between levels, or in the second run: no prefix cache helps it.
"""

from pathlib import Path

import pytest

from loadband import rundir
from loadband.analysis.analyse import analyse_run
from loadband.analysis.thresholds import Thresholds
from loadband.record import Status
from tests.oracle import Oracle, rule, tokens
from tests.oracle.faults import no_stream_options
from tests.process.running import Files, run

pytestmark = pytest.mark.process


def test_a_server_that_gives_no_counts_fails_nothing_and_no_prompt_begins_twice(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(no_stream_options(), has="stream_options"), rule(tokens(ttft_ms=20, itl_ms=4, usage="never")))
    asked = 0
    for name in ("one", "two"):
        path = tmp_path / name
        ended = run(
            ["--headless", "-H", oracle.url, "--steps", "1,3", "--hold", "4s", "--settle", "0s", "--think-time", "0",
             "--max-tokens", "20", "--warmup", "0s", "--seed", "7", "--no-report", "--run-dir", str(path)]
        )  # fmt: skip
        assert ended.code == 0, ended.err
        files = Files(path)
        assert set(files.statuses) == {Status.OK}
        rows = files.rows(rundir.REQUESTS)
        assert {row["token_source"] for row in rows} == {"events"}
        assert {row["output_tokens"] for row in rows} == {"20"}
        assert any("stream_options" in finding for finding in files.run["findings"])
        found = analyse_run(path, None, Thresholds())
        assert all("tokens_counted_as_events" in level.grade.marks for level in found.verdict.levels)
        asked += len(rows)
    answered = [request for request in oracle.log().requests if request.tokens > 8]
    beginnings = {" ".join(request.body["messages"][0]["content"].split()[:16]) for request in answered}
    assert len(beginnings) == len(answered) >= asked, "what is asked before load is among them"
