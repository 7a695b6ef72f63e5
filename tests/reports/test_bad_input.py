"""Run directories in a bad state: an answer with its reason, or one line and exit 2."""

import random
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from reports.__main__ import main
from tests.analysis.build_run import Build, Server, build_run

BUILD = Build(levels=(2, 4, 6, 8, 16, 32), hold_s=30.0, server=Server(slots=8))
FILES = ("requests.csv", "seconds.csv", "histograms.csv", "steps.csv", "workers.csv")


def rewrite(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """The rows below the header, changed."""
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *change(rows)]) + "\n")


def header_only(run: Path) -> None:
    for name in FILES:
        rewrite(run / name, lambda _rows: [])


def torn(run: Path) -> None:
    for name in FILES:
        text = (run / name).read_text()
        (run / name).write_text(text[: -len(text.splitlines()[-1]) // 2 - 1])


def shuffled(run: Path) -> None:
    for name in FILES:
        rewrite(run / name, lambda rows: random.Random(3).sample(rows, len(rows)))


def doubled_steps(run: Path) -> None:
    rewrite(run / "steps.csv", lambda rows: rows + rows)


def negative_times(run: Path) -> None:
    column = (run / "requests.csv").read_text().split("\n", 1)[0].split(",").index("ttft_s")

    def negate(rows: list[str]) -> list[str]:
        cells = [row.split(",") for row in rows]
        for row in cells[::50]:
            row[column] = "-" + row[column]
        return [",".join(row) for row in cells]

    rewrite(run / "requests.csv", negate)


def not_numbers(run: Path) -> None:
    for name in ("requests.csv", "seconds.csv"):
        text = (run / name).read_text().splitlines()
        text[5] = ",".join("NaN" if cell.replace(".", "").isdigit() else cell for cell in text[5].split(","))
        (run / name).write_text("\n".join(text) + "\n")


def still_growing(run: Path) -> None:
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"ended"', '"not_yet"'))
    rewrite(run / "steps.csv", lambda rows: rows[:-1])


@pytest.mark.parametrize(
    ("spoil", "code", "says"),
    [
        (header_only, 3, "No level was held"),
        (torn, 0, "the torn last line of requests.csv was dropped"),
        (shuffled, 0, "operating point 8"),
        (doubled_steps, 0, "operating point 8"),
        (negative_times, 0, "cells of requests.csv are no numbers that can be, and count as unknown"),
        (not_numbers, 0, "operating point 8"),
        (still_growing, 0, "the run has not ended or was killed: this covers what it had written so far"),
    ],
)
def test_a_spoilt_run_has_an_answer_with_its_reason(
    spoil: Callable[[Path], None], code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = build_run(tmp_path / "run", BUILD).path
    spoil(run)
    assert main([str(run)]) == code
    said = capsys.readouterr()
    assert says in said.out
    assert said.err == ""


def test_a_server_that_fails_every_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = build_run(tmp_path / "run", BUILD, fail_share=dict.fromkeys(BUILD.levels, 1.0)).path
    assert main([str(run)]) == 3, "it is there, and nothing can be said of its speed"
    assert "Failure point at or below 2, errors: 100.0% of the requests failed at 2 users" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "holds no run.json"),
        ("", "cannot read"),
        ('{"schema": 1, "ended": 17', "cannot read"),
        ('{"schema": 99}', "read it with the Loadband version that wrote it"),
        ("[]", "not of schema 1"),
        ("\x00\x01", "cannot read"),
    ],
    ids=["empty directory", "empty run.json", "half-written run.json", "of the future", "foreign", "binary"],
)
def test_what_is_no_run_is_one_line(
    text: str | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    assert main([str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err


@pytest.mark.parametrize(
    ("command", "name", "says"),
    [
        ("curve", "table.csv", "one row per level"),
        ("curve", "result.json", "without single requests"),
        ("", "locust_stats_history.csv", "of memory to analyse"),
        ("", "requests.csv", "of memory to analyse"),
    ],
)
@pytest.mark.usefixtures("eight_free_gigabytes")
def test_a_file_of_ten_gigabytes_is_one_line(
    command: str, name: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = build_run(tmp_path / "run", Build(levels=(1,), hold_s=5.0)).path
    with (run / name).open("ab") as file:
        file.truncate(10_000_000_000)  # sparse: takes no room on the disk
    told = run if name == "requests.csv" else run / name
    assert main([*command.split(), str(told)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.fixture
def eight_free_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 8e9}))


def test_a_column_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = build_run(tmp_path / "run", BUILD).path
    for name, column in (("requests.csv", "duration_s"), ("seconds.csv", "users"), ("steps.csv", "hold_from")):
        text = (run / name).read_text()
        (run / name).write_text(text.replace(column, "other", 1))
        assert main([str(run)]) == 2
        assert f"{name} has no column {column}" in capsys.readouterr().err
        (run / name).write_text(text)
