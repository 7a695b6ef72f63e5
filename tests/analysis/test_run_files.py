from pathlib import Path

import numpy as np
import pytest

from loadband.analysis.run_files import read_run_files
from loadband.errors import UsageError
from loadband.record import RECORD_COLUMNS, Record
from loadband.rundir import COLUMNS, HISTOGRAMS, REQUESTS, SECONDS, STEPS, WORKERS, RunDirectory


def record(n: int, **changes: object) -> Record:
    values = dict.fromkeys(RECORD_COLUMNS) | {
        "id": f"w1-{n}", "worker": "w1", "scenario": "interactive", "started_at": 1_790_000_000.5 + n, "status": "ok",
        "duration_s": 1.25, "message": 'said "no", then\nleft',
    }  # fmt: skip
    return Record(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = RunDirectory.create(tmp_path / "run")
    for name in COLUMNS:
        directory.appender(name)
    for n in range(3):
        directory.appender(REQUESTS).append(record(n).values())
    directory.appender(SECONDS).append([1_790_000_000, "", 2, 1.5, *[0] * 10])
    for name in (HISTOGRAMS, STEPS, WORKERS):
        directory.appender(name).append([1] * len(COLUMNS[name]))
    directory.write_run({"ended": 1_790_000_010.0, "plan": {"levels": [1]}})
    directory.close()
    return tmp_path / "run"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_was_written_is_read(run: Path) -> None:
    files = read_run_files(run)
    assert files.notes == ()
    assert list(files.requests["started_at"]) == [1_790_000_000.5, 1_790_000_001.5, 1_790_000_002.5]
    assert files.requests["message"][0] == 'said "no", then left'
    assert files.requests["failure_class"][0] == ""
    assert np.isnan(files.requests["ttft_s"][0])
    assert list(files.seconds["in_flight"]) == [1.5]


def test_a_torn_last_line_is_dropped_with_one_note(run: Path) -> None:
    with (run / REQUESTS).open("a") as file:
        file.write("w1-3,w1,interactive,,,")
    files = read_run_files(run)
    assert len(files.requests) == 3
    assert files.notes == ("the torn last line of requests.csv was dropped",)


def test_a_killed_run_says_so(run: Path) -> None:
    edit(run / "run.json", '"ended"', '"was_never"')
    assert any("killed" in note for note in read_run_files(run).notes)


def test_columns_of_another_version_are_ignored_or_unknown(run: Path) -> None:
    text = (run / SECONDS).read_text().splitlines()
    (run / SECONDS).write_text("\n".join([text[0].replace("events", "novelty"), *text[1:]]) + "\n")
    files = read_run_files(run)
    assert files.seconds["events"].isna().all()
    assert files.notes == ("seconds.csv has no column events: what needs it is unknown",)


def test_a_column_without_which_nothing_can_be_said_is_named(run: Path) -> None:
    edit(run / REQUESTS, "status", "state")
    with pytest.raises(UsageError, match=r"requests\.csv has no column status"):
        read_run_files(run)


def test_words_among_numbers_are_unknown_not_zero(run: Path) -> None:
    edit(run / REQUESTS, "1790000001.5", "N/A")
    files = read_run_files(run)
    assert np.isnan(files.requests["started_at"][1])
    assert files.notes == ("1 cells of requests.csv are no numbers that can be, and count as unknown",)


def test_a_line_with_too_many_cells_is_dropped_with_a_note(run: Path) -> None:
    with (run / REQUESTS).open("a") as file:
        file.write("x," * 99 + "\n")
    files = read_run_files(run)
    assert len(files.requests) == 3
    assert files.notes == ("1 damaged lines of requests.csv were dropped",)


def test_a_quote_that_never_closes_costs_its_own_line_only(run: Path) -> None:
    edit(run / REQUESTS, "w1-1,", '"w1-1,')
    files = read_run_files(run)
    assert list(files.requests["id"]) == ["w1-0", "w1-2"]
    assert files.notes == ("1 damaged lines of requests.csv were dropped",)


def test_a_header_that_is_all_there_is_and_damaged(run: Path) -> None:
    (run / HISTOGRAMS).write_text('"' + ",".join(COLUMNS[HISTOGRAMS]) + "\n")
    assert read_run_files(run).histograms.empty


@pytest.mark.parametrize("cell", ["9" * 400, "inf", "nan", "abc", "-1790000001.5"])
def test_what_no_clock_can_show_is_unknown(run: Path, cell: str) -> None:
    edit(run / REQUESTS, "1790000001.5", cell)
    assert np.isnan(read_run_files(run).requests["started_at"][1])


@pytest.mark.parametrize("name", [SECONDS, HISTOGRAMS, STEPS, WORKERS, REQUESTS])
def test_a_missing_file_is_empty_with_a_note(run: Path, name: str) -> None:
    (run / name).unlink()
    files = read_run_files(run)
    assert files.notes == (f"{name} is missing: what needs it is undecided",)


@pytest.mark.parametrize("name", list(COLUMNS))
def test_an_empty_file_is_an_empty_table(run: Path, name: str) -> None:
    header = (run / name).read_text().splitlines()[0] + "\n"
    for text, state in (("", "is empty"), (header, "has no row")):
        (run / name).write_text(text)
        assert read_run_files(run).notes == (f"{name} {state}: what needs it is undecided",)


def test_a_run_without_a_plan_has_no_steps_and_no_note_on_them(run: Path) -> None:
    edit(run / "run.json", '"plan"', '"no_plan"')
    (run / STEPS).write_text((run / STEPS).read_text().splitlines()[0] + "\n")
    assert read_run_files(run).notes == ()


def test_facts_of_a_wrong_kind_are_unknown(run: Path) -> None:
    """`run.json` of another version, or mended by hand."""
    edit(run / "run.json", '"ended"', '"timeouts": ["10s"], "mix": {"a": "b"}, "slo": 5, "findings": true, "ended"')
    files = read_run_files(run)
    assert not {"timeouts", "mix", "slo", "findings"} & set(files.run)
    assert files.notes == ("run.json: findings, mix, slo, timeouts cannot be read and count as unknown",)
    edit(run / "run.json", "1790000010.0", "1e300")
    assert "ended" not in read_run_files(run).run


def test_no_run_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.json"):
        read_run_files(tmp_path)
