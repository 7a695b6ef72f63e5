"""A run that was stopped before a request could end says nothing against its target."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.analyse import analyse_run
from loadband.record import Record, Status
from loadband.rundir import STEPS
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS


def in_flight(status: str) -> Callable[[Record], Record | None]:
    def change(record: Record) -> Record:
        return replace(
            record, status=status, output_tokens=None, ttft_s=None, e2e_s=None, tpot_s=None, itl_p50_s=None,
            itl_p99_s=None, duration_s=None if status == Status.LOST else 3.0,
        )  # fmt: skip

    return change


@pytest.mark.parametrize("status", [Status.LOST, Status.CUT])
@pytest.mark.parametrize("ended_by", ["stopped", "worker_lost"])
def test_a_hold_that_was_broken_off_is_no_outage(tmp_path: Path, status: str, ended_by: str) -> None:
    build = Build(levels=(8,), hold_s=4.0)
    built = build_run(tmp_path / "run", build, change=in_flight(status), run={"how": "terminated"})
    steps = built.path / STEPS
    steps.write_text(steps.read_text().replace(",hold\n", f",{ended_by}\n"))
    verdict = analyse_run(built.path, None, LIMITS).verdict
    (level,) = verdict.levels
    assert level.grade.evidence is None
    assert "the run stopped 4 s into the hold, before any request could end" in level.grade.reasons
    assert verdict.failure.status != "found"
    assert verdict.exit_code == 3


def test_the_same_silence_through_a_whole_hold_is_one(tmp_path: Path) -> None:
    build = Build(levels=(8,), hold_s=4.0)
    built = build_run(tmp_path / "run", build, change=in_flight(Status.CUT))
    verdict = analyse_run(built.path, None, LIMITS).verdict
    assert verdict.levels[0].grade.evidence is not None
    assert verdict.exit_code == 4


def test_half_a_minute_of_silence_is_one_also_when_it_was_broken_off(tmp_path: Path) -> None:
    build = Build(levels=(8,), hold_s=40.0)
    built = build_run(tmp_path / "run", build, change=in_flight(Status.CUT))
    steps = built.path / STEPS
    steps.write_text(steps.read_text().replace(",hold\n", ",stopped\n"))
    assert analyse_run(built.path, None, LIMITS).verdict.exit_code == 4
