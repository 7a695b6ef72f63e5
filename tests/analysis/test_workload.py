"""What was asked against what came: lengths, the prefix cache, conversations, why answers ended."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadband.analysis import workload
from loadband.analysis.analyse import Analysis, analyse_run
from loadband.analysis.workload import Meant
from loadband.record import Record
from loadband.rundir import COLUMNS, REQUESTS
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS

BUILD = Build(levels=(2, 4, 8), hold_s=32.0)
TEXT = {"status": "ok", "finish_reason": "", "adapter": ""}


def ended(*rows: dict[str, Any]) -> pd.DataFrame:
    blank = dict.fromkeys(COLUMNS[REQUESTS], np.nan) | TEXT
    return pd.DataFrame([blank | row for row in rows], columns=list(COLUMNS[REQUESTS]))


def test_prompts_are_held_against_what_was_asked_without_the_template() -> None:
    rows = [{"prompt_tokens": 10.0 + counted, "prompt_tokens_asked": 100.0} for counted in (99, 100, 90, 100, 103)]
    rows += [{"prompt_tokens": 500.0}, {"prompt_tokens_asked": 100.0}]
    numbers = workload.workload_numbers(ended(*rows), Meant(template_tokens=10))
    assert numbers["prompt_ratio_p50"] == 1.0
    assert numbers["prompt_ratio_worst"] == pytest.approx(0.9)
    unknown = workload.workload_numbers(ended(*rows), Meant())
    assert (unknown["prompt_ratio_p50"], unknown["prompt_ratio_worst"]) == (None, None)


@pytest.mark.parametrize(
    ("cached", "meant", "share", "word"),
    [
        ((None, None), Meant(), None, "unknown"),
        ((None, None), Meant(tells_cached=True), 0.0, "cold"),
        ((19.0, None), Meant(tells_cached=True), 0.095, "cold"),
        ((20.0, None), Meant(tells_cached=True), 0.1, "warm"),
        ((90.0, 90.0), Meant(tells_cached=True, shared_prefix=64), 0.9, "shared"),
        ((None, None), Meant(shared_prefix=64), None, "shared"),
    ],
)
def test_the_word_for_the_cache(
    cached: tuple[float | None, float | None], meant: Meant, share: float | None, word: str
) -> None:
    rows = [{"prompt_tokens": 100.0, "cached_tokens": np.nan if each is None else each} for each in cached]
    numbers = workload.workload_numbers(ended(*rows, {"status": "failed", "cached_tokens": 50.0}), meant)
    assert numbers["cached_share"] == (None if share is None else pytest.approx(share))
    assert workload.cache_word(numbers["cached_share"], meant) == word


def test_conversations_are_counted_once_and_those_a_failed_turn_ended() -> None:
    rows: list[dict[str, Any]] = [
        {"repeat": 1.0, "user": 1.0, "conversation": 1.0, "turn": 1.0},
        {"repeat": 1.0, "user": 1.0, "conversation": 1.0, "turn": 2.0, "status": "failed"},
        {"repeat": 1.0, "user": 1.0, "conversation": 2.0, "turn": 1.0},
        {"repeat": 2.0, "user": 1.0, "conversation": 2.0, "turn": 1.0},
        {"repeat": 1.0, "user": 2.0, "conversation": 2.0, "turn": 3.0, "status": "cut"},
        {"repeat": 1.0, "user": 3.0, "status": "failed"},
        {"repeat": 2.0, "user": 1.0, "conversation": 2.0, "turn": 2.0, "status": "failed", "flags": "retried"},
    ]
    assert workload.conversations(ended(*rows)) == (4, 1)
    assert workload.conversations(ended({"status": "failed"})) == (None, None)


def test_reasons_are_shares_of_successes_the_most_frequent_first() -> None:
    names = ["stop", "length", "length", ""]
    rows = [*({"finish_reason": name} for name in names), {"status": "failed", "finish_reason": "stop"}]
    assert list(workload.finish_reasons(ended(*rows)).items()) == [("length", 0.5), ("stop", 0.25), ("unknown", 0.25)]
    assert workload.finish_reasons(ended({"status": "failed"})) == {}


def test_shares_of_the_mix_and_several_adapters_are_what_was_meant() -> None:
    run = {"mix": {"interactive": 7.0, "multi_turn": 3.0, "replay": 0.0}, "adapters": ["b", "a"], "shared_prefix": 9}
    meant = workload.meant_by(run, ended({"adapter": "c", "cached_tokens": 0.0}, {}))
    assert meant.shares == {"interactive": 0.7, "multi_turn": 0.3}
    assert meant.adapters == ("a", "b", "c")
    assert (meant.shared_prefix, meant.tells_cached, meant.template_tokens) == (9, True, None)
    assert workload.meant_by({"adapters": ["a"]}, ended({"adapter": "a"})).adapters == ()


def analysis(path: Path, **changed: Any) -> Analysis:
    """A run whose records have some values replaced."""
    facts = {"template_tokens": 10, **changed.pop("run", {})}
    return analyse_run(
        build_run(path / "run", BUILD, change=lambda r: change(r, changed), run=facts).path, None, LIMITS
    )


def change(record: Record, changed: dict[str, Any]) -> Record:
    return replace(record, **{name: value(record) if callable(value) else value for name, value in changed.items()})


def said(found: Analysis, word: str) -> list[str]:
    return [note for note in found.notes if word in note]


def test_a_healthy_run_is_worth_no_word(tmp_path: Path) -> None:
    found = analysis(tmp_path, prompt_tokens=160, prompt_tokens_asked=150, cached_tokens=0)
    for word in ("asked", "cache"):
        assert said(found, word) == []
    for level in found.verdict.levels:
        numbers, work = level.numbers, level.workload
        assert (numbers.prompt_ratio_p50, numbers.prompt_ratio_worst, numbers.cached_share) == (1.0, 1.0, 0.0)
        assert (numbers.conversations, work.cache, work.finish_reasons) == (None, "cold", {"length": 1.0})


def test_answers_that_end_early_are_told(tmp_path: Path) -> None:
    (note,) = said(analysis(tmp_path, max_tokens=lambda record: 2 * record.output_tokens), "answers had")
    assert note.startswith("answers had 50% of the asked tokens at every level")


@pytest.mark.parametrize(("asked", "told"), [(150, False), (148, False), (140, True)])
def test_prompts_of_another_length_are_told(tmp_path: Path, asked: int, told: bool) -> None:
    found = analysis(tmp_path, prompt_tokens=160, prompt_tokens_asked=asked)
    notes = said(found, "not of the asked length")
    assert len(notes) == told
    if told:
        assert notes[0].startswith("100% of the prompts") and "has 1.07 of its tokens" in notes[0]


def test_a_cache_that_helped_unasked_is_told(tmp_path: Path) -> None:
    cached = {"prompt_tokens": 100, "cached_tokens": lambda record: 40 if record.step == 3 else None}
    (note,) = said(analysis(tmp_path / "a", **cached), "the cache was warm")
    assert "40% of the prompt tokens" in note and "at 8 users" in note
    shared = analysis(tmp_path / "b", **cached, run={"shared_prefix": 40})
    assert said(shared, "the cache was warm") == []
    assert {level.workload.cache for level in shared.verdict.levels} == {"shared"}
    talk = analysis(tmp_path / "c", **cached, conversation=1, turn=1)
    assert said(talk, "the cache was warm") == [], "a conversation finds its own history"
