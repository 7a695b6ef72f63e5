"""Which class suffers: a scenario alone, and beside another, at as many users altogether."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.side import Side, side_of_run
from loadband.analysis.suffering import sufferings
from loadband.analysis.thresholds import Thresholds
from loadband.record import Record
from reports.__main__ import main
from tests.analysis.build_run import Build, Server, build_run

LIMITS = Thresholds()
BUILD = Build(levels=(4, 8), hold_s=40.0, server=Server(slots=16))


def mixed(random_: random.Random, _level: int) -> str:
    return "long_context" if random_.random() < 0.25 else "interactive"


def slowed(record: Record) -> Record:
    """Beside long contexts first tokens come four times as late."""
    assert record.ttft_s is not None
    return replace(record, ttft_s=record.ttft_s * 4)


def alone(path: Path) -> Path:
    return build_run(path / "alone", BUILD).path


def beside(path: Path) -> Path:
    run = {"mix": {"interactive": 3, "long_context": 1}, "scenarios": ["interactive", "long_context"]}
    return build_run(path / "beside", BUILD, scenario=mixed, change=slowed, run=run).path


def sides(path: Path) -> list[Side]:
    return [side_of_run(alone(path), "alone", LIMITS), side_of_run(beside(path), "beside", LIMITS)]


def test_a_scenario_alone_is_held_against_itself_in_a_mix(tmp_path: Path) -> None:
    found = sufferings(sides(tmp_path), (4.0, 8.0))
    assert [(each.scenario, each.users) for each in found] == [("interactive", 4.0), ("interactive", 8.0)]
    for each in found:
        assert (each.after.ttft_p50_s or 0) / (each.before.ttft_p50_s or 1) == pytest.approx(4, rel=0.1)
        assert each.before.ok > each.after.ok > 50


def test_two_runs_of_one_scenario_say_nothing_more(tmp_path: Path) -> None:
    one = side_of_run(alone(tmp_path), "alone", LIMITS)
    assert sufferings([one, replace(one, name="again")], (4.0, 8.0)) == ()


def test_two_mixes_are_compared_scenario_by_scenario(tmp_path: Path) -> None:
    _, mix = sides(tmp_path)
    found = sufferings([mix, replace(mix, name="again")], (8.0,))
    assert [each.scenario for each in found] == ["interactive", "long_context"]
    assert all(each.before == each.after for each in found)


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(alone(tmp_path)), str(beside(tmp_path)), "--vary", "mix", "--vary", "prompt_length"]
    assert main(["compare", *runs]) == 0
    said = capsys.readouterr().out
    assert "First tokens by scenario, before → after" in said
    (row,) = [line for line in said.splitlines() if line.split()[:2] == ["interactive", "8"]]
    assert "×4.0" in row or "×3.9" in row
    main(["compare", *runs, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [each["scenario"] for each in told["scenarios"]] == ["interactive", "interactive"]
    assert told["scenarios"][0]["ttft_p50_s"]["after"] > 3 * told["scenarios"][0]["ttft_p50_s"]["before"]
