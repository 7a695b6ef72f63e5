"""A ladder in virtual time through the whole analysis: the verdict is held against the profile's known truth."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.virtual_run import virtual_run

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]
LEVELS = [4, 8, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64]
"""An hour of virtual time at each: best at 31, P at least 90 % from 25 to 38, the end at 60 (docs/simulator.md)."""


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("virtual") / "run"
    virtual_run("a100-qwen2.5-32b-q4", path, LEVELS, 90.0)
    done = subprocess.run(
        [sys.executable, "-m", "reports", str(path)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "do not balance" not in done.stdout
    told: dict[str, Any] = json.loads((path / "report" / "verdict.json").read_text(encoding="utf-8"))
    return told


def test_the_band_is_the_true_one(verdict: dict[str, Any]) -> None:
    assert verdict["operating_point"]["users"] in (28, 32)
    assert verdict["band"]["low"] == pytest.approx(25, abs=2)
    assert verdict["band"]["high"] == pytest.approx(38, abs=2)


def test_every_level_below_the_end_is_valid(verdict: dict[str, Any]) -> None:
    assert [level["users"] for level in verdict["levels"] if level["valid"]][: len(LEVELS) - 2] == LEVELS[:-2]


def test_it_is_close_to_linear_up_to_twenty(verdict: dict[str, Any]) -> None:
    assert 20 <= verdict["linear"]["upto"] <= 26


def test_the_end_is_an_outage(verdict: dict[str, Any]) -> None:
    failure = verdict["failure"]
    assert (failure["status"], failure["mode"]) == ("found", "outage")
    assert failure["at"] >= 56
