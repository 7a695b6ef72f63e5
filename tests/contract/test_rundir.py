"""The run directory: cells, lines, whole files, and what is left when the writer is killed."""

import csv
import json
import math
import re
import subprocess
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.rundir import (
    COLUMNS,
    MESSAGE_LENGTH,
    REQUESTS,
    SECONDS,
    WORKERS,
    Appender,
    RunDirectory,
    cell,
    make_own,
    one_line,
    whole_lines,
)

ROOT = Path(__file__).parents[2]
LINE_BREAKS = ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


class Word(StrEnum):
    OK = "ok"


CELLS: list[tuple[Any, str, str]] = [
    (None, "", "unknown is empty"),
    (math.nan, "", "not a number is unknown"),
    (math.inf, "", "infinite is unknown"),
    (0, "0", "zero is known"),
    (0.0, "0", "zero seconds are known"),
    (-0.0, "0", "no negative zero"),
    (-1e-9, "0", "no negative zero by rounding"),
    (True, "1", "true"),
    (False, "0", "false"),
    (1.0, "1", "no needless decimals"),
    (100.0, "100", "zeros before the point stay"),
    (0.1 + 0.2, "0.3", "no digits of the machine"),
    (1.23456789, "1.234568", "six decimals"),
    (1e-7, "0", "below the last decimal"),
    (1.5e16, "15000000000000000", "no exponent"),
    (1_800_000_000.25, "1800000000.25", "a time of day"),
    (-3, "-3", "below zero"),
    ("", "", "an empty word"),
    (Word.OK, "ok", "a word of a list"),
    ("a\r\nb\u2028c\x00d", "a b c d", "a word from the server stays on its line"),
    ("1,5", "1,5", "a comma is the writer's business"),
]


@pytest.mark.parametrize(("value", "text", "sentence"), CELLS, ids=[row[2] for row in CELLS])
def test_cells(value: Any, text: str, sentence: str) -> None:
    assert cell(value) == text, sentence


@given(st.floats(-1e12, 1e12))
def test_a_float_has_at_most_six_decimals_and_no_exponent(value: float) -> None:
    text = cell(value)
    assert re.fullmatch(r"-?\d+(\.\d{1,6})?", text)
    assert float(text) == pytest.approx(value, rel=1e-15, abs=5.1e-7)


MESSAGES: list[tuple[str, tuple[str, ...], str, str]] = [
    ("all is well", (), "all is well", "a plain sentence"),
    ("  two \t words  ", (), "two words", "spaces are collapsed"),
    ("a\x00b\x1bc", (), "a b c", "control characters go"),
    ("key sk-abc is wrong", ("sk-abc",), "key *** is wrong", "a key that the server echoes"),
    ("Bearer sk-abc, sk-abc", ("sk-abc",), "Bearer ***, ***", "each time"),
    ("key abcdef", ("abc", "abcdef"), "key ***", "a key that begins with another"),
    ("key sk-abc", ("sk-abc\n",), "key ***", "a key read with its line end"),
    ("no key", ("", " "), "no key", "an empty key is none"),
    ("模型不存在\u2028请检查", (), "模型不存在 请检查", "another script"),
    ("", (), "", "nothing"),
]


@pytest.mark.parametrize(("message", "secrets", "clean", "sentence"), MESSAGES, ids=[row[3] for row in MESSAGES])
def test_messages(message: str, secrets: tuple[str, ...], clean: str, sentence: str) -> None:
    assert one_line(message, secrets) == clean, sentence


@pytest.mark.parametrize("line_break", LINE_BREAKS, ids=repr)
def test_every_kind_of_line_break_becomes_a_space(line_break: str) -> None:
    assert one_line(f"first{line_break}{line_break}second") == "first second"
    assert cell(f"first{line_break}second") == "first second"


@given(st.text(max_size=2 * MESSAGE_LENGTH), st.lists(st.text("ab c", min_size=1, max_size=4), max_size=3))
@example("x" * 299 + " y", [])
def test_a_clean_message_is_one_short_line_and_stays_as_it_is(message: str, secrets: list[str]) -> None:
    clean = one_line(message, secrets)
    assert len(clean) <= MESSAGE_LENGTH
    assert len(clean.splitlines()) <= 1
    assert one_line(clean) == clean
    assert cell(clean) == clean


@given(st.text("abk-", max_size=10), st.text("abk-", max_size=10))
def test_no_key_is_left_in_a_message(before: str, after: str) -> None:
    assert "sk-SECRET" not in one_line(f"{before}sk-SECRET{after}", ["sk-SECRET"])


def test_a_key_across_the_cut_leaves_no_part() -> None:
    assert "sk-" not in one_line("x" * (MESSAGE_LENGTH - 4) + "sk-SECRET", ["sk-SECRET"])


@given(st.lists(st.tuples(st.text(max_size=20), st.none() | st.integers() | st.floats(-9, 9)), max_size=6))
@example([("half a pair \ud800", None)])
@example([('quote " comma , break \r\n', 1)])
def test_one_row_is_one_line_whatever_it_holds(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.unlink(missing_ok=True)
    file = Appender(path, ("text", "number"))
    for row in rows:
        file.append(row)
    file.close()
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(rows) + 1
    with path.open(encoding="utf-8", newline="") as lines:
        read = list(csv.reader(lines))
    encodable = [[cell(value).encode("utf-8", "replace").decode() for value in row] for row in rows]
    assert read == [["text", "number"], *encodable]


def test_a_row_of_the_wrong_width_is_refused(tmp_path: Path) -> None:
    file = Appender(tmp_path / SECONDS, COLUMNS[SECONDS])
    with pytest.raises(ValueError, match="2 values for 14 columns"):
        file.append((1, 2))
    file.close()


def test_files_begin_with_their_header_and_only_grow(tmp_path: Path) -> None:
    first = Appender(tmp_path / WORKERS, COLUMNS[WORKERS])
    first.append((1, "w1", 2, 2, 0.001, 0.002, 0.5, "running"))
    first.close()
    before = (tmp_path / WORKERS).read_bytes()
    again = Appender(tmp_path / WORKERS, COLUMNS[WORKERS])
    again.append((2, "w1", 2, 2, 0.001, 0.002, 0.5, "running"))
    again.close()
    after = (tmp_path / WORKERS).read_bytes()
    assert after.startswith(before)
    assert after.decode().splitlines()[0] == ",".join(COLUMNS[WORKERS])
    assert len(after.splitlines()) == 3


def test_a_run_directory_opens_each_file_once_and_flushes_all(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "new" / "run")
    assert run.appender(SECONDS) is run.appender(SECONDS)
    run.appender(WORKERS).append((1, "w1", 2, 2, None, None, None, "running"))
    run.flush()
    assert whole_lines(run.path / WORKERS)[0].endswith("1,w1,2,2,,,,running\n")
    run.close()
    assert sorted(path.name for path in run.path.iterdir()) == [SECONDS, WORKERS]


TORN = [
    (b"a,b\n1,2\n", "a,b\n1,2\n", False, "a whole file"),
    (b"a,b\n1,2\n3", "a,b\n1,2\n", True, "a torn last line"),
    (b"a,b", "", True, "a torn header"),
    (b"", "", False, "nothing yet"),
    (b"a\n" + "é".encode()[:1], "a\n", True, "torn inside a character"),
]


@pytest.mark.parametrize(("data", "text", "torn", "sentence"), TORN, ids=[row[3] for row in TORN])
def test_a_torn_last_line_is_dropped_and_told(
    tmp_path: Path, data: bytes, text: str, torn: bool, sentence: str
) -> None:
    (tmp_path / "file").write_bytes(data)
    assert whole_lines(tmp_path / "file") == (text, torn), sentence


WRITER = """
import sys
from pathlib import Path
from loadband.rundir import WORKERS, RunDirectory
run = RunDirectory.create(Path(sys.argv[1]))
for second in range(2000):
    run.appender(WORKERS).append((second, "w1", 1, 1, 0.001, 0.002, 0.5, "running"))
run.flush()
print("flushed", flush=True)
while True:
    second += 1
    run.appender(WORKERS).append((second, "w1", 1, 1, 0.001, 0.002, 0.5, "running"))
"""


@pytest.mark.process
def test_a_killed_writer_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "flushed\n"
        while (tmp_path / "run" / WORKERS).stat().st_size < 200_000:
            time.sleep(0.001)
        writer.kill()
    text, _ = whole_lines(tmp_path / "run" / WORKERS)
    rows = list(csv.DictReader(text.splitlines()))
    assert [int(row["second"]) for row in rows] == list(range(len(rows))), "whole lines, each once, in order"
    assert len(rows) >= 2000
    assert all(row["state"] == "running" for row in rows)


def test_every_file_has_columns_without_repetition() -> None:
    for name, columns in COLUMNS.items():
        assert len(set(columns)) == len(columns), name
    assert {REQUESTS, SECONDS, WORKERS} < set(COLUMNS)
    assert json.loads(json.dumps(COLUMNS)).keys() == COLUMNS.keys()


def test_runs_that_begin_in_the_same_second_have_directories_of_their_own(tmp_path: Path) -> None:
    made = [make_own(tmp_path / "runs" / "now") for _ in range(3)]
    assert [path.name for path in made] == ["now", "now-2", "now-3"]
    assert RunDirectory.create(made[1]).path == made[1]
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot make the run directory"):
        make_own(tmp_path / "file" / "now")
