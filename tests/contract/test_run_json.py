"""The run directory as a whole: `run.json` is never seen half, and a place that cannot be used is told before load."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loadband.errors import UsageError
from loadband.rundir import RUN_JSON, SCHEMA, RunDirectory, check_usable, read_run, write_atomically

READER = """
import json, sys
from pathlib import Path
path, seen = Path(sys.argv[1]), set()
print("ready", flush=True)
while (run := json.loads(path.read_text())).get("ended") is None:
    assert len(run["filler"]) == run["size"]
    seen.add(run["size"])
print(len(seen), flush=True)
"""


@pytest.mark.process
def test_a_reader_in_another_process_never_sees_half_a_run_json(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.write_run({"size": 0, "filler": ""})
    command = [sys.executable, "-c", READER, str(tmp_path / RUN_JSON)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout
        assert reader.stdout.readline() == "ready\n"
        for turn in range(400):
            size = turn * 1009 % 300_000
            run.write_run({"size": size, "filler": "x" * size})
        run.write_run({"ended": 1.0})
        seen = int(reader.stdout.readline())
        assert reader.wait() == 0
    assert seen > 1, "the reader really read between writes"
    assert [path.name for path in tmp_path.iterdir()] == [RUN_JSON], "no temporary file is left"


def test_a_failed_replacement_leaves_the_old_file_alone(tmp_path: Path) -> None:
    write_atomically(tmp_path / RUN_JSON, "old")
    with pytest.raises(TypeError):
        write_atomically(tmp_path / RUN_JSON, 1)  # type: ignore[arg-type]
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(RUN_JSON, "old")]


def test_run_json_is_read_as_it_was_written(tmp_path: Path) -> None:
    RunDirectory(tmp_path).write_run({"model": "千问", "slo": None, "probe": {"lag": math.nan, "all": [math.inf, 1.5]}})
    assert read_run(tmp_path) == {
        "schema": SCHEMA, "model": "千问", "slo": None, "probe": {"lag": None, "all": [None, 1.5]},
    }  # fmt: skip
    assert "千问" in (tmp_path / RUN_JSON).read_text(encoding="utf-8")
    assert (tmp_path / RUN_JSON).stat().st_mode & 0o777 == 0o644


def test_run_json_takes_what_a_server_says_of_itself(tmp_path: Path) -> None:
    RunDirectory(tmp_path).write_run({"server": "half a pair \ud800"})
    assert read_run(tmp_path)["server"] == "half a pair ?"


UNREADABLE = [
    (None, "holds no run.json", "no file"),
    (b"", "cannot read", "an empty file"),
    (b'{"schema": 1', "cannot read", "half a file"),
    (b"\xff\xfe", "cannot read", "no text"),
    (b"9" * 5000, "cannot read", "a number without end"),
    (b"[]", "schema", "no object"),
    (b"{}", "schema", "no schema"),
    (b'{"schema": 99}', "schema", "a schema of later days"),
]


@pytest.mark.parametrize(("data", "words", "sentence"), UNREADABLE, ids=[row[2] for row in UNREADABLE])
def test_what_is_no_run_is_told_in_a_sentence(tmp_path: Path, data: bytes | None, words: str, sentence: str) -> None:
    if data is not None:
        (tmp_path / RUN_JSON).write_bytes(data)
    with pytest.raises(UsageError, match=words) as told:
        read_run(tmp_path)
    assert str(tmp_path) in str(told.value), sentence


def test_an_empty_directory_and_a_missing_one_are_usable(tmp_path: Path) -> None:
    check_usable(tmp_path)
    check_usable(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists(), "looking makes nothing"
    RunDirectory.create(tmp_path)
    RunDirectory.create(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == [], "the trial of writing leaves nothing"


BEGINNER = """
import sys
from pathlib import Path
from loadband.rundir import RunDirectory, check_usable
for turn in range(500):
    check_usable(Path(sys.argv[1]) / str(turn) / "runs" / sys.argv[2])
    RunDirectory.create(Path(sys.argv[1]) / str(turn) / "runs" / sys.argv[2])
"""


@pytest.mark.process
def test_two_runs_may_begin_at_once_where_none_has_been(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BEGINNER, str(tmp_path)]
    runs = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    assert [run.communicate()[1] for run in runs] == ["", ""]


def test_a_directory_in_use_is_refused_even_with_one_hidden_file(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    with pytest.raises(UsageError, match="is not empty: choose another with --run-dir"):
        RunDirectory.create(tmp_path)


def unusable(tmp_path: Path) -> list[tuple[Path, str, str]]:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "at all")
    return [
        (tmp_path / "file", "is a file: choose a directory with --run-dir", "a file"),
        (tmp_path / "file" / "below", "cannot", "below a file"),
        (tmp_path / "dangling", "cannot", "a link to nowhere"),
        (tmp_path / ("x" * 300), "cannot", "a name that is too long"),
        (Path("/proc/loadband"), "cannot write", "where even root cannot write"),
    ]


def test_what_cannot_be_written_is_told_before_load(tmp_path: Path) -> None:
    for path, words, sentence in unusable(tmp_path):
        with pytest.raises(UsageError, match=words) as told:
            RunDirectory.create(path)
        assert str(path) in str(told.value), sentence
        assert "--run-dir" in str(told.value), sentence


@pytest.mark.skipif(os.geteuid() == 0, reason="root ignores permission bits")
def test_a_directory_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0)
    with pytest.raises(UsageError, match="cannot look at"):
        check_usable(tmp_path / "locked")
