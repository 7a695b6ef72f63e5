"""What makes two runs unlike, and by what name it is told."""

from typing import Any

import pandas as pd
import pytest

from loadband.analysis.conditions import conditions_of, differences, flags_of, known_keys, remarks
from loadband.analysis.run_facts import sound_facts

RUN: dict[str, Any] = {
    "model": "m", "api": "openai-chat", "scenarios": ["interactive"], "mix": {"interactive": 1}, "prompts": "ab12",
    "prompt_tokens": "50-200", "think_time": "0.5-2",
    "sampling": {"max_tokens": "64-448", "temperature": 0.7, "extra_body": {}},
    "server": {"version": "0.11.0"}, "host": "http://a:8000", "labels": {"gpu": "a100"},
    "server_args": "serve m --max-num-seqs 8 --enable-prefix-caching --port 8000 --api-key s3cret",
    "plan": {"hold": "60s", "levels": [1, 2]}, "abandon": None, "dataset": None, "stream": True, "shared_prefix": 0,
    "adapters": [], "settings": {}, "reset_cache": False,
}  # fmt: skip


def requests(prompt: float = 100, answer: float = 250, n: int = 50, source: str = "usage") -> pd.DataFrame:
    spread = [(-1) ** each * 20 for each in range(n)]
    return pd.DataFrame({
        "status": "ok", "token_source": source, "prompt_tokens": [prompt + each for each in spread],
        "output_tokens": [answer + each for each in spread],
    })  # fmt: skip


def found(change: dict[str, Any], **changed: Any) -> list[str]:
    one, other = conditions_of(RUN, requests()), conditions_of(RUN | change, requests(**changed))
    return [str(each) for each in differences(one, other)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, []),
        ({"model": "n"}, ["model m → n"]),
        ({"prompts": "cd34"}, ["prompts ab12 → cd34"]),
        ({"sampling": {"max_tokens": "512", "temperature": 0.7}}, ["max_tokens 64-448 → 512"]),
        ({"server": {"version": "0.12.0"}}, ["server_version 0.11.0 → 0.12.0"]),
        ({"labels": {"gpu": "h200"}}, ["gpu a100 → h200"]),
        ({"labels": {}}, ["gpu a100 → not set"]),
        ({"labels": {"gpu": "a100", "driver": "570"}}, ["driver not set → 570"]),
        ({"server_args": "serve m --max-num-seqs=16 --enable-prefix-caching"}, ["max_num_seqs 8 → 16"]),
        ({"server_args": "--max-num-seqs 8"}, ["enable_prefix_caching yes → not set"]),
        ({"mix": {"interactive": 7, "long_context": 3}}, ["mix interactive=1 → interactive=0.7, long_context=0.3"]),
        ({"mix": {"interactive": 5.0}}, []),
        ({"mix": None}, []),
        ({"abandon": "5%@2s"}, ["abandon none → 5%@2s"]),
        ({"dataset": {"file": "b.jsonl", "digest": "ff", "requests": 9}}, ["dataset none → ff"]),
        ({"shared_prefix": 1000}, ["shared_prefix none → 1000"]),
        ({"adapters": ["a", "b"]}, ['adapters none → ["a", "b"]']),
        ({"settings": {"interactive": {"turns": "3"}}}, ['settings none → {"interactive": {"turns": "3"}}']),
        ({"reset_cache": True}, ["reset_cache none → true"]),
        ({"sampling": {"max_tokens": "64-448", "extra_body": {"top_k": 5}}}, ['extra_body none → {"top_k": 5}']),
        ({"stream": False}, ["stream true → false"]),
        ({"plan": {"levels": [], "rates": [1, 2], "arrival": "poisson"}}, ["levels_of users → requests/s"]),
        ({"host": "http://b:9000", "seed": 7}, []),
    ],
)  # fmt: skip
def test_a_condition_is_named(change: dict[str, Any], says: list[str]) -> None:
    assert found(change) == says


def test_what_an_older_file_does_not_tell_is_unlike_nothing() -> None:
    assert found({"server": None, "prompts": None, "sampling": None}) == []


@pytest.mark.parametrize("value", [None, 5, "x", [], [1], {}, {"x": []}, True])
@pytest.mark.parametrize("key", sorted(RUN))
def test_whatever_stands_in_the_file_is_no_traceback(key: str, value: Any) -> None:
    run, _ = sound_facts(RUN | {key: value})
    strange = conditions_of(run, requests())
    differences(conditions_of(RUN, requests()), strange)
    remarks(strange, strange)


def test_lengths_are_those_that_were_measured() -> None:
    assert found({}, answer=280) == ["answer_length 250 tokens → 280 tokens"]
    assert found({}, answer=272) == []
    assert found({}, prompt=60) == ["prompt_length 100 tokens → 60 tokens"]
    assert found({}, answer=280, n=4) == [], "too few to tell"
    assert found({}, source="events") == ["token_source usage → events"]


def test_flags() -> None:
    line = "--max-num-seqs 8 --kv-cache-dtype=fp8 -np 4 --x -1 --y 'a b' c --async --hf-token t"
    assert flags_of(line) == {
        "max_num_seqs": "8", "kv_cache_dtype": "fp8", "np": "4", "x": "-1", "y": "a b c", "async": "yes",
    }  # fmt: skip
    assert flags_of(None) == {}
    assert flags_of("--x 'open") == {"x": "'open"}


def test_no_secret_is_told() -> None:
    told = conditions_of(RUN, requests())
    assert "s3cret" not in str(told)
    assert "api_key" not in known_keys([told])
    assert {"model", "max_num_seqs", "gpu", "answer_length"} <= known_keys([told])


def test_what_differs_and_is_no_condition_is_told_beside() -> None:
    one, other = conditions_of(RUN, requests()), conditions_of(RUN | {"host": "http://b:9000"}, requests())
    assert remarks(one, other) == ["host differs: http://a:8000 and http://b:9000"]


def test_a_label_that_has_the_name_of_a_condition_keeps_its_own() -> None:
    told = conditions_of(RUN | {"labels": {"model": "mine", "max_num_seqs": "9"}}, requests())
    assert told.words["model"] == "m"
    assert told.settings["label_model"] == "mine"
    assert (told.settings["max_num_seqs"], told.settings["label_max_num_seqs"]) == ("8", "9")
