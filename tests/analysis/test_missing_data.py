"""What the files lack is said of the files, never of the server."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.analyse import Analysis, analyse_run
from loadband.analysis.thresholds import Thresholds
from loadband.record import Record
from reports.wording import answer
from tests.analysis.build_run import EPOCH, Build, Server, build_run

BUILD = Build(levels=(2, 4, 6, 8, 16, 32), hold_s=30.0, server=Server(slots=8))


def of(path: Path) -> Analysis:
    return analyse_run(path, None, Thresholds())


def cut(path: Path, keep: Callable[[list[str]], list[str]]) -> None:
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *keep(rows)]) + "\n")


@pytest.mark.parametrize("how", ["plan", "target_lost"])
@pytest.mark.parametrize("state", ["gone", "empty", "header"])
def test_without_records_the_files_are_at_fault(state: str, how: str, tmp_path: Path) -> None:
    path = build_run(tmp_path / "run", BUILD, run={"how": how}).path
    file = path / "requests.csv"
    if state == "gone":
        file.unlink()
    else:
        file.write_text("" if state == "empty" else file.read_text().splitlines()[0] + "\n")
    analysis = of(path)
    assert analysis.verdict.exit_code == 3
    assert any(note.startswith("requests.csv") for note in analysis.notes)
    said = " ".join(fault for level in analysis.verdict.levels for fault in level.grade.faults)
    assert "requests.csv has no request that ended in this hold, seconds.csv counts" in said
    assert "Little" not in said
    assert "target failed" not in said or how == "target_lost"


@pytest.mark.parametrize("state", ["gone", "empty", "header"])
def test_without_steps_the_levels_are_unknown_not_unheld(state: str, tmp_path: Path) -> None:
    path = build_run(tmp_path / "run", BUILD).path
    file = path / "steps.csv"
    if state == "gone":
        file.unlink()
    else:
        file.write_text("" if state == "empty" else file.read_text().splitlines()[0] + "\n")
    analysis = of(path)
    assert analysis.verdict.exit_code == 3
    assert "steps.csv does not tell when, though requests tell of 6 steps" in answer(analysis)[0]


@pytest.mark.parametrize("name", ["histograms.csv", "workers.csv", "seconds.csv"])
@pytest.mark.parametrize("text", ["", "header"])
def test_an_empty_file_leaves_a_note(name: str, text: str, tmp_path: Path) -> None:
    path = build_run(tmp_path / "run", BUILD).path
    (path / name).write_text((path / name).read_text().splitlines()[0] + "\n" if text else "")
    assert any(note.startswith(f"{name} ") for note in of(path).notes)


@pytest.mark.parametrize("name", ["requests.csv", "steps.csv", "workers.csv", "histograms.csv", "seconds.csv"])
def test_a_torn_line_in_the_middle_leaves_a_note(name: str, tmp_path: Path) -> None:
    path = build_run(tmp_path / "run", BUILD).path
    cut(path / name, lambda rows: [*rows[:2], rows[2][: rows[2].index(",") + 3], *rows[3:]])
    assert f"1 torn lines of {name} were dropped" in of(path).notes


def gone_from(second: float) -> Callable[[Record], Record]:
    def refuse(record: Record) -> Record:
        if record.started_at < EPOCH + second:
            return record
        return replace(
            record, status="failed", failure_class="connect", output_tokens=None, ttft_s=None, e2e_s=None,
            tpot_s=None, duration_s=0.01,
        )  # fmt: skip

    return refuse


def test_an_outage_in_a_step_that_is_not_on_file_is_not_the_level_below(tmp_path: Path) -> None:
    """32 users refused from their first moment on; their row is lost: 16 users did nothing wrong."""
    path = build_run(tmp_path / "run", BUILD, change=gone_from(5 * 36), run={"how": "target_lost"}).path
    cut(path / "steps.csv", lambda rows: rows[:-1])
    verdict = of(path).verdict
    assert verdict.levels[-1].users == 16
    assert verdict.levels[-1].grade.valid
    assert (verdict.failure.status, verdict.failure.at) == ("undecided", None)
    assert "steps.csv lacks step 6, of which requests tell" in verdict.failure.reason


def test_an_unknown_status_is_no_valid_level(tmp_path: Path) -> None:
    path = build_run(tmp_path / "run", BUILD).path
    text = (path / "requests.csv").read_text()
    (path / "requests.csv").write_text(text.replace(",ok,", ",great,"))
    analysis = of(path)
    assert analysis.verdict.exit_code == 3
    assert not any(level.grade.valid for level in analysis.verdict.levels)
    assert any("have a status that is none of ok" in note for note in analysis.notes)
    assert "status 'great'" in analysis.verdict.levels[0].grade.faults[0]


def test_a_failure_is_of_the_level_at_which_it_ended(tmp_path: Path) -> None:
    """D0: membership is by end. A request of 8 users that fails while 16 are there is one of 16."""
    path = build_run(tmp_path / "run", BUILD).path
    head, *rows = (path / "requests.csv").read_text().splitlines()
    names = head.split(",")
    cells = rows[0].split(",")
    for name, value in {"status": "failed", "failure_class": "reset", "step": "4", "step_end": "5"}.items():
        cells[names.index(name)] = value
    (path / "requests.csv").write_text("\n".join([head, ",".join(cells), *rows[1:]]) + "\n")
    (cause,) = of(path).verdict.causes
    assert (cause.failure_class, cause.first_level) == ("reset", 16)


def test_lost_response_times_are_said_to_be_assumed(tmp_path: Path) -> None:
    def without_times(record: Record) -> Record:
        return replace(record, e2e_s=None)

    verdict = of(build_run(tmp_path / "run", BUILD, change=without_times).path).verdict
    assert verdict.curve is not None
    assert verdict.curve.e2e_source == "response_time_law"
    assert any("users / requests/s - pause stands for it" in note for note in verdict.notes)
