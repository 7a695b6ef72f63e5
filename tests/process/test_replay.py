"""Recorded traffic in real Locust processes: what was recorded is what the server gets, also on workers."""

import json
import statistics
from collections import Counter
from pathlib import Path

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Files, run

pytestmark = pytest.mark.process


def test_recorded_messages_are_sent_as_they_are(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=20, itl_ms=1, n=5))
    recorded = [
        {"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": f"question {n} 你好"}],
         "max_tokens": 10 + n}
        for n in range(6)
    ]  # fmt: skip
    data = tmp_path / "recorded.jsonl"
    lines = [json.dumps(each, ensure_ascii=False) for each in recorded]
    data.write_text("\n".join([*lines[:2], "{torn", *lines[2:]]), encoding="utf-8")
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "4", "--hold", "4s", "--settle", "0s", "--warmup", "0s",
         "--think-time", "0.02", "--dataset", str(data), "--bad-lines", "skip", "--processes", "2", "--no-report",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    assert set(files.statuses) == {Status.OK}
    assert files.run["scenarios"] == ["replay"]
    assert files.run["dataset"] | {"digest": ""} == {
        "file": "recorded.jsonl", "requests": 6, "digest": "", "bad_lines": 1,
    }  # fmt: skip
    assert any("line 3" in finding for finding in files.run["findings"])
    bodies = [request.body for request in oracle.log().requests[files.run["probe"]["requests"] :]]
    sent = Counter(json.dumps([body["messages"], body["max_tokens"]]) for body in bodies)
    assert set(sent) == {json.dumps([each["messages"], each["max_tokens"]]) for each in recorded}
    assert {row["kind"] for row in files.rows(rundir.REQUESTS)} == {"recorded"}


@pytest.mark.timing
def test_a_trace_comes_at_its_own_pace_8_requests_at_10_a_second_into_one_slot(
    oracle: Oracle, tmp_path: Path
) -> None:  # fmt: skip
    oracle.script(*after_probe(tokens(ttft_ms=100, itl_ms=50, n=9)), slots=1)
    data = tmp_path / "trace.jsonl"
    rows = [
        {"timestamp": 5000 + 100 * n, "input_length": 40 + n, "output_length": 9, "hash_ids": [n]} for n in range(8)
    ]
    data.write_text("\n".join(json.dumps(row) for row in rows))
    ended = run(
        ["--headless", "-H", oracle.url, "--dataset", str(data), "--columns", "mooncake", "--arrival", "trace",
         "--processes", "2", "--no-doctor", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    records = sorted(files.rows(rundir.REQUESTS), key=lambda row: int(row["user"]))
    assert [row["status"] for row in records] == [Status.OK] * 8
    planned = [float(row["started_at"]) - float(row["schedule_lag_s"]) for row in records]
    assert [at - planned[0] for at in planned] == pytest.approx([0.1 * n for n in range(8)], abs=1e-5)
    waits = [float(row["e2e_s"]) + float(row["schedule_lag_s"]) for row in records]
    print(f"from the schedule: mean {statistics.fmean(waits):.3f} s, max {max(waits):.3f} s")
    assert statistics.fmean(waits) == pytest.approx(1.9, abs=0.1)
    assert max(waits) == pytest.approx(3.3, abs=0.15)
    assert [row["prompt_tokens_asked"] for row in records] == [str(40 + n) for n in range(8)]
    (step,) = files.steps
    assert float(step["offered_req_s"]) == pytest.approx(10.0)
