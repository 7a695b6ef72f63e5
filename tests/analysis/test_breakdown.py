import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadband.analysis import breakdown, windows
from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Level
from loadband.analysis.windows import Hold
from loadband.record import Record
from loadband.rundir import COLUMNS, REQUESTS, SECONDS
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS

HOLD = Hold(1000.0, 1010.0)
MIX = {"interactive": 7.0, "multi_turn": 2.0, "replay": 1.0}


def ended(*rows: dict[str, Any]) -> pd.DataFrame:
    blank = dict.fromkeys(COLUMNS[REQUESTS], np.nan) | {"status": "ok", "failure_class": "", "scenario": "interactive"}
    return pd.DataFrame([blank | row for row in rows], columns=list(COLUMNS[REQUESTS]))


def tokens(rows: list[tuple[float, str, float]]) -> pd.DataFrame:
    blank = dict.fromkeys(COLUMNS[SECONDS], 0.0)
    named = [blank | {"second": at, "scenario": name, "output_tokens_ok": count} for at, name, count in rows]
    return windows.seconds_inside(pd.DataFrame(named, columns=list(COLUMNS[SECONDS])), HOLD)


def test_each_scenario_has_its_own_numbers() -> None:
    rows: list[dict[str, Any]] = [
        *[{"ttft_s": 0.1, "tpot_s": 0.01, "e2e_s": 1.0}] * 3,
        *[{"scenario": "long_context", "ttft_s": 2.0, "tpot_s": 0.04, "e2e_s": 9.0}] * 2,
        {"scenario": "long_context", "status": "failed", "failure_class": "http_500"},
        {"scenario": "long_context", "status": "failed", "failure_class": "client"},
        {"scenario": "long_context", "status": "cut"},
    ]
    seconds = tokens([(1000, "interactive", 80), (1001, "long_context", 30), (1001, "interactive", 20), (1002, "", 5)])
    one, other, none = breakdown.scenario_parts(
        ("interactive", "long_context", "multi_turn"), ended(*rows), seconds, HOLD
    )
    assert (one.requests, one.ok, one.failed, one.error_rate) == (3, 3, 0, 0.0)
    assert (one.ttft_p50_s, one.tpot_p50_s, one.e2e_p50_s, one.output_tok_s) == (0.1, 0.01, 1.0, 10.0)
    assert (other.requests, other.ok, other.failed) == (5, 2, 2)
    assert other.error_rate == pytest.approx(1 / 3), "the client's own failures are not the server's"
    assert (other.ttft_p95_s, other.output_tok_s) == (2.0, 3.0)
    assert (none.requests, none.error_rate, none.ttft_p50_s, none.output_tok_s) == (0, None, None, None)


def test_shares_asked_are_held_against_conversations_and_successes() -> None:
    rows: list[dict[str, Any]] = [{}, {}, {"status": "failed", "failure_class": "http_500"}]
    rows += [{"scenario": "multi_turn", "turn": float(turn)} for turn in (1, 2, 3)]
    asked = {"interactive": 0.75, "multi_turn": 0.25}
    one, talk = breakdown.scenario_parts(("interactive", "multi_turn"), ended(*rows), tokens([]), HOLD, asked)
    assert (one.asked_share, one.conversation_share, one.completed_share) == (0.75, 0.75, 0.4)
    assert (talk.asked_share, talk.conversation_share, talk.completed_share) == (0.25, 0.25, 0.6)
    (none,) = breakdown.scenario_parts(("replay",), ended(), tokens([]), HOLD)
    assert (none.asked_share, none.conversation_share, none.completed_share) == (None, None, None)


def test_each_adapter_has_its_own_numbers() -> None:
    rows: list[dict[str, Any]] = [{"adapter": "a", "ttft_s": 0.1, "tpot_s": each, "e2e_s": 1.0} for each in (0.1, 0.3)]
    rows += [{"adapter": "b", "status": "failed", "failure_class": "http_500"}, {"adapter": ""}]
    one, other, none = breakdown.adapter_parts(("a", "b", "c"), ended(*rows))
    assert (one.requests, one.ok, one.error_rate, one.ttft_p50_s, one.e2e_p50_s) == (2, 2, 0.0, 0.1, 1.0)
    assert one.tok_s_user == pytest.approx(5.0)
    assert (other.requests, other.failed, other.error_rate, other.tok_s_user) == (1, 1, 1.0, None)
    assert (none.requests, none.error_rate, none.ttft_p50_s) == (0, None, None)


def test_first_tokens_by_turn_are_of_successes() -> None:
    rows: list[dict[str, Any]] = [
        {"turn": 2.0, "ttft_s": 0.4},
        {"turn": 1.0, "ttft_s": 0.2},
        {"turn": 2.0, "ttft_s": 0.6},
        {"ttft_s": 9.0},
    ]
    rows.append({"turn": 3.0, "status": "failed"})
    parts = breakdown.turn_parts(ended(*rows))
    assert [(part.turn, part.n, part.ttft_p50_s, part.ttft_p95_s) for part in parts] == [
        (1, 1, 0.2, 0.2),
        (2, 2, 0.4, 0.6),
    ]
    assert breakdown.turn_parts(ended({"ttft_s": 1.0})) == ()


def test_failures_by_class_the_most_frequent_first() -> None:
    classes = ["reset", "http_500", "http_500", "client", ""]
    rows = [{"status": "failed", "failure_class": name} for name in classes]
    assert list(breakdown.failures_by_class(ended(*rows, {})).items()) == [
        ("http_500", 2), ("client", 1), ("reset", 1), ("unknown", 1),
    ]  # fmt: skip


def test_a_conversation_is_one_choice_however_many_turns_it_has() -> None:
    assert breakdown.independent_draws(ended(*[{}] * 10)) == 10
    one = [{"user": 1.0, "repeat": 1.0, "conversation": 1.0, "turn": float(turn)} for turn in range(1, 6)]
    assert breakdown.independent_draws(ended(*one)) == 1
    assert breakdown.independent_draws(ended(*one, *[row | {"user": 2.0} for row in one])) == 2
    assert breakdown.independent_draws(ended(*one, *[{}] * 25)) == pytest.approx(30**2 / 50)
    assert breakdown.independent_draws(ended()) == 0


def mixed_levels(path: Path, **run: Any) -> tuple[Level, ...]:
    """Levels of a run in which every fourth request is a turn of a conversation, and some are of the warm-up."""

    def scenario(rng: random.Random, _level: int) -> str:
        return "multi_turn" if rng.random() < 0.25 else "interactive"

    def turned(record: Record) -> Record:
        flags = "warmup" if record.user == 0 else None
        if record.scenario != "multi_turn":
            return replace(record, flags=flags)
        return replace(record, flags=flags, conversation=1, turn=1 + int(record.started_at) % 3)

    built = build_run(path, Build(levels=(4, 8, 16), hold_s=32.0), scenario=scenario, change=turned, run=run)
    return analyse_run(built.path, None, LIMITS).verdict.levels


def test_a_run_with_a_mix_has_parts_that_add_up_to_the_level(tmp_path: Path) -> None:
    for level in mixed_levels(tmp_path / "run", mix=MIX):
        parts = level.scenarios
        assert [part.scenario for part in parts] == ["interactive", "multi_turn", "replay"]
        assert sum(part.requests for part in parts) == level.numbers.requests
        assert parts[2].requests == 0
        output = sum(part.output_tok_s or 0.0 for part in parts)
        assert output == pytest.approx(level.numbers.output_tok_s)
        assert [part.turn for part in level.turns] == [1, 2, 3]
        assert sum(part.n for part in level.turns) == parts[1].ok


def test_the_warm_up_is_in_no_level(tmp_path: Path) -> None:
    """Of 4, 8 and 16 equal users one only warms up: a quarter, an eighth, a sixteenth of the requests is missing."""
    for level in mixed_levels(tmp_path / "run"):
        rate = level.users / 1.28  # one request takes 1.28 s
        assert level.numbers.req_s == pytest.approx(rate * (1 - 1 / level.users), rel=0.05)


def test_a_run_of_one_scenario_has_no_parts(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(4,), hold_s=30.0), run={"mix": {"interactive": 1.0}})
    (level,) = analyse_run(built.path, None, LIMITS).verdict.levels
    assert (level.scenarios, level.turns) == ((), ())
