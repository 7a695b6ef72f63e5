"""Standard output that ends early, and what a user may give by mistake."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reports import console, output
from reports.__main__ import main
from tests.analysis.build_run import Build, Built, Server, build_run

ROOT = Path(__file__).parents[2]
BUILD = Build(levels=(2, 4, 8, 16, 32), hold_s=30.0, server=Server(slots=8))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build_run(tmp_path_factory.mktemp("output") / "run", BUILD)


def shell(path: Path, rest: str) -> subprocess.CompletedProcess[str]:
    command = f'{sys.executable} -m reports "{path}" --no-write {rest}'
    return subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_closed_pipe_leaves_the_code_of_the_verdict(how: str, built: Built) -> None:
    met = shell(built.path, f"{how} | head -c 20 > /dev/null; exit ${{PIPESTATUS[0]}}")
    missed = shell(built.path, f"{how} --slo 'tpot_p95<=1ms' | head -c 20 > /dev/null; exit ${{PIPESTATUS[0]}}")
    assert (met.returncode, met.stderr) == (0, "")
    assert (missed.returncode, missed.stderr) == (1, "")


@pytest.mark.parametrize(("how", "says"), [("> /dev/full", "cannot write to standard"), (">&-", "is closed")])
@pytest.mark.parametrize("form", ["", "--json"])
def test_output_that_cannot_be_written_is_one_line(form: str, how: str, says: str, built: Built) -> None:
    done = shell(built.path, f"{form} {how}")
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_terminal_no_table_is_cut(
    built: Built, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However narrow prose is."""
    tables = []
    for width in (40, 400):
        monkeypatch.setattr(console, "report_console", lambda wide=width: output.report_console(wide))
        main([str(built.path), "--no-write"])
        lines = capsys.readouterr().out.splitlines()
        head = next(place for place, line in enumerate(lines) if line.lstrip().startswith("users  "))
        tables.append([line.rstrip() for line in lines[head : head + 1 + len(BUILD.levels)]])
    assert tables[0] == tables[1]
    assert len(tables[0][0]) > 60


def test_a_second_slo_adds_to_the_first(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [str(built.path), "--no-write", "--json", "--slo", "tpot_p95<=1ms", "--slo", "error_rate<=1%,tpot_p50<=1s"]
        )
        == 1
    )
    assert [each["result"] for each in json.loads(capsys.readouterr().out)["slo"]] == ["missed", "met", "met"]


@pytest.mark.parametrize("slo", [5, ["ttft_p95<=1s"], {"a": 1}])
def test_a_gate_that_cannot_be_read_is_no_pass(slo: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", BUILD, run={"slo": slo})
    assert main([str(built.path), "--no-write"]) == 3
    assert "its gate is undecided: give it with --slo" in capsys.readouterr().out
    assert main([str(built.path), "--no-write", "--slo", "tpot_p95<=1s"]) == 0


@pytest.mark.parametrize("path", [".", "", "/"])
def test_a_directory_without_a_name(path: str, monkeypatch: pytest.MonkeyPatch, built: Built) -> None:
    monkeypatch.chdir(built.path)
    assert main([path]) == (2 if path == "/" else 0)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema": true}', '{"schema": 1.5}'])
def test_a_run_json_that_is_none_is_one_line(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text(text)
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_files_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = build_run(tmp_path / "run", BUILD).path
    for name in ("run.json", "requests.csv", "seconds.csv", "steps.csv", "workers.csv", "histograms.csv"):
        (path / name).write_bytes(b"\xef\xbb\xbf" + (path / name).read_bytes())
    assert main([str(path)]) == 0


def test_no_escape_sequence_reaches_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = build_run(tmp_path / "run", BUILD, run={"host": "http://x/\x1b[31m", "findings": ["\x1b]0;owned\x07"]}).path
    main([str(path)])
    assert "\x1b" not in capsys.readouterr().out
    assert "\x1b" not in (path / "report" / "report.md").read_text()
