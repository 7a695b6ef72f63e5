"""Before a run the doctor looks for a moment: findings go into `run.json`; only hopeless runs are refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracle import Oracle, answer, at, done, finish, glued, rule, tokens, usage
from tests.oracle.faults import json_body, unauthorised
from tests.oracle.wire import content
from tests.process.running import Files, run

pytestmark = pytest.mark.process

QUICK = tokens(ttft_ms=5, itl_ms=1.5)
KEY = "sk-planted-8899"


def headless(oracle: Oracle, path: Path, *words: str) -> list[str]:
    """A short headless run."""
    return ["--headless", "-H", oracle.url, "--steps", "1", "--hold", "1s", "--settle", "0s", "--max-tokens", "16",
            "--think-time", "0.1", "--warmup", "0s", "--no-report", "--run-dir", str(path), *words]  # fmt: skip


def test_the_findings_of_a_good_server(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(QUICK)
    assert run(headless(oracle, tmp_path / "run")).code == 0
    told = Files(tmp_path / "run").run
    marks = {row["check"]: row["mark"] for row in told["doctor"]}
    assert {"address", "link", "key", "models", "streams", "usage", "ignore_eos", "prompt length", "context",
            "prefix cache", "keep-alive", "descriptors", "ports"} <= set(marks)  # fmt: skip
    assert "bad" not in marks.values()
    assert 0 < told["link"]["round_trip_min_s"] <= told["link"]["round_trip_median_s"] < 0.5
    assert told["probe"]["requests"] == len([r for r in oracle.log().requests if "max_tokens" in r.body]) - len(
        Files(tmp_path / "run").rows("requests.csv")
    )


def test_without_it_only_the_probe_asks(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(QUICK)
    run(headless(oracle, tmp_path / "with"))
    run(headless(oracle, tmp_path / "without", "--no-doctor"))
    looked, bare = (Files(tmp_path / name).run for name in ("with", "without"))
    assert (bare["doctor"], bare["link"]) == (None, None)
    assert bare["probe"]["requests"] + 2 == looked["probe"]["requests"], "one longer answer and one longest prompt"


def test_a_buffer_is_found_told_and_kept_and_the_run_goes_on(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(
        rule(QUICK, equals=("max_tokens", 8)),
        rule(answer(glued(300, *([content(" tok")] * 16), finish("length"), usage(9, 16), done()))),
    )
    ended = run(headless(oracle, tmp_path / "run"))
    assert ended.code == 0
    (sentence,) = [each for each in Files(tmp_path / "run").run["findings"] if each.startswith("streams: ")]
    assert "held back" in sentence and "proxy" in sentence
    assert f"loadband: found: {sentence}" in ended.err


def test_a_plan_whose_every_prompt_is_too_long_is_refused_with_the_servers_sentence(
    oracle: Oracle, tmp_path: Path
) -> None:
    models = json_body({"data": [{"id": "oracle"}]})
    oracle.script(
        rule(models, method="GET", path="/v1/models"), rule(replace(QUICK, overhead=40, context_limit=300)),
    )  # fmt: skip
    ended = run(headless(oracle, tmp_path / "run", "--prompt-tokens", "290"))
    assert ended.code == 2
    assert "maximum context length is 300" in ended.err
    assert "--prompt-tokens" in ended.err
    assert not (tmp_path / "run").exists()


def test_one_whose_longest_prompts_are_is_told_and_goes_on(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(replace(QUICK, overhead=40, context_limit=300))
    ended = run(headless(oracle, tmp_path / "run", "--prompt-tokens", "20-290"))
    assert ended.code == 0, ended.err
    assert any("a prompt of 290 tokens is too long" in each for each in Files(tmp_path / "run").run["findings"])


def test_a_key_that_is_echoed_to_the_doctor_alone_is_in_no_file(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(unauthorised(), equals=("max_tokens", 4)), rule(QUICK))
    ended = run(headless(oracle, tmp_path / "run"), {"LOADBAND_API_KEY": KEY})
    assert any("Incorrect API key provided" in each for each in Files(tmp_path / "run").run["findings"])
    assert KEY not in ended.out + ended.err
    assert [f.name for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()] == []


def test_nothing_of_it_is_asked_of_a_server_that_hangs_on_strange_pages(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(answer(at(60_000, b"late"), framing="length", head_ms=60_000), method="GET", path="/props"),
                  rule(QUICK))  # fmt: skip
    ended = run(headless(oracle, tmp_path / "run"))
    assert ended.code == 0, ended.err
