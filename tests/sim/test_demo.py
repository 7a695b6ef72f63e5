"""`make demo`, whole: what it reports is what the profile's hour of virtual time says (docs/simulator.md)."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.long,
    pytest.mark.timing,
    pytest.mark.skipif(not shutil.which("make"), reason="make is missing"),
]
TRUE_OPTIMUM = 31
TRUE_END = 60


@dataclass(frozen=True)
class Demo:
    code: int
    said: str
    verdict: dict[str, Any]
    seconds: float


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    run = tmp_path_factory.mktemp("demo") / "run"
    before = os.times().elapsed
    done = subprocess.run(
        ["make", "demo", f"ARGS=--run-dir {run}"],
        cwd=ROOT, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    seconds = os.times().elapsed - before
    verdict = json.loads((run / "report" / "verdict.json").read_text(encoding="utf-8"))
    return Demo(done.returncode, done.stdout, verdict, seconds)


def test_it_ends_well_within_three_minutes(demo: Demo) -> None:
    assert (demo.code, demo.verdict["exit_code"]) == (0, 0)
    assert demo.seconds < 180
    assert "Best " in demo.said
    assert "Report: " in demo.said


def test_the_band_holds_the_true_optimum(demo: Demo) -> None:
    band = demo.verdict["band"]
    assert band["status"] == "found"
    assert 20 <= band["low"] <= TRUE_OPTIMUM <= band["high"] <= 40


def test_the_server_broke(demo: Demo) -> None:
    assert (demo.verdict["failure"]["status"], demo.verdict["failure"]["mode"]) == ("found", "outage")


def test_the_bracket_holds_the_true_end(demo: Demo) -> None:
    failure = demo.verdict["failure"]
    assert failure["after"] < TRUE_END <= failure["at"]
