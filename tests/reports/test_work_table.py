"""What was asked and what came, in every file of the report."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema

from loadband.analysis.workload import Workload
from loadband.record import Record
from reports.__main__ import main
from reports.work_table import work_table
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import ladder, level, verdict_of

SCHEMA = json.loads((Path(__file__).parents[2] / "reports" / "verdict.schema.json").read_text())


def talked(record: Record) -> Record:
    """Every second request is one of two turns of a conversation; two adapters take turns; prompts are cached."""
    number = int(record.id.removeprefix("w1-"))
    told: dict[str, Any] = {"adapter": "ab"[number % 2], "prompt_tokens_asked": 90, "cached_tokens": 50}
    if record.scenario == "multi_turn":
        told |= {"conversation": number // 4, "turn": 1 + number % 2}
    return replace(record, **told, finish_reason="stop" if number % 4 == 0 else "length")


def test_the_work_is_told_in_every_file(tmp_path: Path) -> None:
    built = build_run(
        tmp_path / "run",
        Build(levels=(2, 4, 8), hold_s=30.0),
        change=talked,
        scenario=lambda rng, _level: "multi_turn" if rng.random() < 0.25 else "interactive",
        run={"mix": {"interactive": 3.0, "multi_turn": 1.0}, "adapters": ["a", "b"], "template_tokens": 10},
    )
    assert main([str(built.path)]) in (0, 3)
    report = built.path / "report"
    text = (report / "report.md").read_text()
    table = text.partition("## What was asked, and what came\n\n")[2].partition("\n\n")[0].splitlines()
    assert table[0] == (
        "| users | prompt tokens ÷ asked p50 | worst prompt | output tokens ÷ asked | ended by | cached | cache "
        "| conversations | failed conversations |"
    )
    assert [row.split(" | ")[0] for row in table[2:]] == ["| 2", "| 4", "| 8"]
    for line in table[2:]:
        assert line.split(" | ")[1:4] == ["1.000", "1.000", "1.000"]
        assert "length 7" in line and "| 50.0% | warm |" in line and line.endswith("| 0 |")
    adapters = text.partition("## LoRA adapters\n\n")[2].partition("\n\n")[0].splitlines()
    assert [row.split(" | ")[1] for row in adapters[2:]] == ["a", "b"] * 3
    assert "| share asked | of conversations | of completed |" in text
    verdict = json.loads((report / "verdict.json").read_text())
    jsonschema.validate(verdict, SCHEMA)
    last = verdict["levels"][-1]
    assert (last["cache"], last["cached_share"], last["conversations_failed"]) == ("warm", 0.5, 0.0)
    assert [part["adapter"] for part in last["adapters"]] == ["a", "b"]
    assert sum(part["requests"] for part in last["adapters"]) == last["requests"]
    shares = {part["scenario"]: (part["asked_share"], part["completed_share"]) for part in last["scenarios"]}
    assert shares["multi_turn"][0] == 0.25
    assert abs(shares["multi_turn"][1] + shares["interactive"][1] - 1) < 1e-5
    with (report / "step_table.csv").open(encoding="utf-8", newline="") as file:
        row = list(csv.DictReader(file))[-1]
    assert row["asked_shares"] == "interactive:0.75;multi_turn:0.25"
    assert row["cache"] == "warm" and row["finish_reasons"].startswith("length:0.7")
    assert main(["curve", str(report / "step_table.csv")]) in (0, 3)


def test_a_cache_of_which_the_server_does_not_tell_is_unknown() -> None:
    one = replace(level(8, 10), workload=Workload(finish_reasons={"stop": 0.75, "length": 0.25}))
    headers, rows = work_table(verdict_of([one]))
    assert headers == ["users", "ended by", "cache"]
    assert rows == [["8", "stop 75.0%, length 25.0%", "unknown"]]


def test_a_table_of_levels_tells_nothing_of_it() -> None:
    assert work_table(verdict_of(ladder({1: 10.0, 2: 20.0, 4: 40.0}))) == ([], [])
