"""Scenarios in real Locust processes: mixed inside the user, conversations that grow, passes that number users anew."""

from collections import Counter
from pathlib import Path

import pytest

from loadband import rundir
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.running import Files, run

pytestmark = pytest.mark.process


def test_a_mix_is_chosen_for_each_conversation(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=5, itl_ms=1, n=8))
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "3,9", "--hold", "5s", "--settle", "1s", "--think-time", "0.01",
         "--mix", "interactive=7,long_context=1,multi_turn=2", "--turns", "3", "--long-context-tokens", "500-600",
         "--processes", "2", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    rows = files.rows(rundir.REQUESTS)
    assert set(files.statuses) == {Status.OK}
    assert files.run["mix"] == {"interactive": 7.0, "long_context": 1.0, "multi_turn": 2.0}
    conversations = Counter(row["scenario"] for row in rows if row["turn"] in ("", "1"))
    shares = {scenario: count / conversations.total() for scenario, count in conversations.items()}
    assert shares == pytest.approx({"interactive": 0.7, "long_context": 0.1, "multi_turn": 0.2}, abs=0.1)
    turns = Counter(row["turn"] for row in rows if row["scenario"] == "multi_turn")
    assert set(turns) == {"1", "2", "3"}
    assert {row["kind"] for row in rows} == {"chat", "zh", "code", "document", "conversation"}


def test_a_conversation_sends_back_what_the_model_said(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=1, itl_ms=1, n=3, text=" yes"))
    ended = run(
        ["MultiTurnUser", "--headless", "-H", oracle.url, "--steps", "1", "--hold", "3s", "--settle", "0s",
         "--think-time", "0.01", "--turns", "4", "--warmup", "0s", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    probes = Files(tmp_path / "run").run["probe"]["requests"]
    asked = [request.body["messages"] for request in oracle.log().requests[probes:]]
    assert [len(messages) for messages in asked[:8]] == [1, 3, 5, 7, 1, 3, 5, 7]
    assert [message["role"] for message in asked[3]] == ["user", "assistant"] * 3 + ["user"]
    assert {message["content"] for message in asked[3] if message["role"] == "assistant"} == {" yes yes yes"}
    assert asked[3][:5] == asked[2]


def test_two_passes_ask_the_same_texts_under_other_nonces(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=200, itl_ms=20, n=20))
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "2,6", "--hold", "3s", "--settle", "0s", "--think-time", "0",
         "--repeats", "2", "--warmup", "0s", "--processes", "2", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    assert set(files.statuses) == {Status.OK}
    assert [(row["repeat"], row["target"], row["ended_by"]) for row in files.steps] == [
        ("1", "2", "hold"), ("1", "6", "hold"), ("2", "2", "hold"), ("2", "6", "hold"),
        ("3", "2", "hold"),
    ]  # fmt: skip
    by_pass = {repeat: {r["user"] for r in files.rows(rundir.REQUESTS) if r["repeat"] == repeat} for repeat in "12"}
    assert by_pass["1"] == by_pass["2"] == set("012345")
    prompts = [r.body["messages"][0]["content"] for r in oracle.log().requests[files.run["probe"]["requests"] :]]
    assert len(set(prompts)) == len(prompts), "no prompt twice"
    texts = Counter(" ".join(prompt.split(" ")[5:]).partition(" ")[2] for prompt in prompts)
    assert sum(count >= 2 for count in texts.values()) > len(texts) / 2, "the second pass asks the same texts"


def test_the_warm_up_is_kept_apart(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=20, itl_ms=1, n=5))
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "2,4", "--hold", "2s", "--settle", "0s", "--think-time", "0",
         "--warmup", "3s", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    rows = Files(tmp_path / "run").rows(rundir.REQUESTS)
    warm = [row for row in rows if "warmup" in row["flags"].split(";")]
    assert {row["step"] for row in warm} == {"0"}
    assert {row["step"] for row in rows} == {"0", "1", "2"}
    assert len(warm) == sum(row["step"] == "0" for row in rows) > 20


def test_users_and_a_time_are_a_plan_of_one_level(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=2, n=10))
    ended = run(
        ["--headless", "-H", oracle.url, "-u", "3", "-t", "4s", "--settle", "0s", "--think-time", "0", "--no-report",
         "--label", "gpu=none", "--label", "seqs=8", "--server-args", "--max-num-seqs 8",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    (step,) = files.steps
    assert (step["target"], step["ended_by"]) == ("3", "hold")
    assert float(step["hold_to"]) - float(step["hold_from"]) == pytest.approx(4.0)
    assert files.run["labels"] == {"gpu": "none", "seqs": "8"}
    assert files.run["server_args"] == "--max-num-seqs 8"
