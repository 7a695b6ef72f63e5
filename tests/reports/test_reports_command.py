"""`python -m reports` as a user meets it."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from loadband.analysis.level import STEP_TABLE_COLUMNS
from reports.__main__ import main
from tests.analysis.build_run import Build, Built, Server, build_run

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "reports" / "verdict.schema.json").read_text())
BUILD = Build(levels=(2, 4, 8, 16, 32), hold_s=30.0, server=Server(slots=8))
TABLE = "users,output_tok_s,ttft_p99_s\n1,100,0.1\n2,198,0.1\n4,380,0.1\n8,760,0.1\n16,1430,0.2\n32,1460,0.9\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    findings = {"findings": ["the server ignores `ignore_eos`"], "model": "tiny [bold]"}
    return build_run(tmp_path_factory.mktemp("reports") / "run", BUILD, run=findings)


def validated(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text)
    jsonschema.validate(data, SCHEMA)
    return data


def test_the_report_of_a_run(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(built.path)]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == "tiny [bold] at http://gpu1:8000"
    assert lines[1].split()[0] == "users"
    assert lines[2].split()[0] == "2"
    assert any(line == "Found: the server ignores `ignore_eos`" for line in lines)
    assert any(line.startswith("Best 8 users (8 in flight), operating point 8") for line in lines)
    assert lines[-1] == f"Report: {built.path}/report/report.md"
    assert "\x1b" not in "".join(lines)


def test_a_verdict_may_be_printed_alone(built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for file in built.path.iterdir():
        if file.is_file():
            (run / file.name).write_bytes(file.read_bytes())
    assert main([str(run), "--no-write", "--slo", "error_rate<=1%"]) == 0
    assert "Best 8 users" in capsys.readouterr().out
    assert not (run / "report").exists()


def test_the_files_of_a_report(built: Built) -> None:
    assert main([str(built.path)]) == 0
    report = built.path / "report"
    verdict = validated((report / "verdict.json").read_text())
    assert verdict["operating_point"]["users"] == 8
    assert verdict["exit_code"] == 0
    with (report / "step_table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(STEP_TABLE_COLUMNS)
    assert [row["users"] for row in rows] == ["2", "4", "8", "16", "32"]
    assert {row["valid"] for row in rows} == {"1"}
    assert {path.name for path in (report / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("throughput", "ttft", "tpot", "speeds") for kind in ("png", "svg")
    }
    text = (report / "report.md").read_text()
    assert text.startswith("# Loadband: tiny \\[bold\\] at http://gpu1:8000\n\n**Best 8 users")
    assert "![Throughput over users](figures/throughput.png)" in text
    assert "![Time to first token over users](figures/ttft.png)" in text
    assert "`error_limit` 0.01" in text


def test_the_step_table_gives_the_same_curve(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(built.path), "--json"])
    run = validated(capsys.readouterr().out)
    assert main(["curve", str(built.path / "report" / "step_table.csv"), "--json"]) == 0
    table = validated(capsys.readouterr().out)
    for part, key in (("operating_point", "users"), ("band", "low"), ("band", "high"), ("saturation", "at")):
        assert table[part][key] == pytest.approx(run[part][key], rel=1e-3)
    assert table["confidence"] == "low"


def test_the_step_table_tells_of_the_failure_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The level at which the target went away was never held: it has no number, and is the failure point."""
    build = replace(BUILD, levels=(2, 4, 6, 8, 16, 32), run={"how": "target_lost"})
    path = build_run(tmp_path / "run", build).path
    rows = (path / "steps.csv").read_text().splitlines()
    last = rows[-1].split(",")
    rows[-1] = ",".join([*last[:6], "", "", "target_lost"])
    (path / "steps.csv").write_text("\n".join(rows) + "\n")
    main([str(path), "--json"])
    run = validated(capsys.readouterr().out)
    assert (run["failure"]["at"], run["failure"]["mode"]) == (32, "outage")
    main(["curve", str(path / "report" / "step_table.csv"), "--json"])
    table = validated(capsys.readouterr().out)
    assert (table["failure"]["after"], table["failure"]["at"], table["failure"]["mode"]) == (16, 32, "outage")


def test_json_is_the_only_thing_on_standard_output(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(built.path), "--json"]) == 0
    out = capsys.readouterr()
    validated(out.out)
    assert out.err == ""


def test_an_slo_gates(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(built.path), "--no-write", "--slo", "tpot_p95<=1s,error_rate<=1%", "--json"]) == 0
    met = validated(capsys.readouterr().out)
    assert [each["result"] for each in met["slo"]] == ["met", "met"]
    assert main([str(built.path), "--no-write", "--slo", "tpot_p95<=1ms", "--json"]) == 1
    assert validated(capsys.readouterr().out)["exit_code"] == 1
    assert main([str(built.path), "--no-write", "--slo", "e2e_p50<=500ms@32"]) == 1
    assert "missed at 32 users" in capsys.readouterr().out


def test_the_slo_of_the_run_is_the_default(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", BUILD, slo="tpot_p95<=1ms")
    assert main([str(built.path), "--no-write", "--json"]) == 1
    assert main([str(built.path), "--no-write", "--json", "--slo", "tpot_p95<=1s"]) == 0


def test_one_level_needs_no_band(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", Build(levels=(8,), hold_s=30.0))
    assert main([str(built.path), "--no-write"]) == 0
    assert "One level says nothing about a band" in capsys.readouterr().out


def test_a_ladder_of_two_levels_cannot_be_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", Build(levels=(4, 8), hold_s=30.0))
    assert main([str(built.path), "--no-write"]) == 3
    assert "needs at least 5 valid levels for an interior optimum, 3 for a direction" in capsys.readouterr().out


def test_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    assert main(["curve", str(table)]) == 0
    said = capsys.readouterr().out
    assert "operating point 16" in said
    assert "Not checked, a table does not tell:" in said
    assert list(tmp_path.iterdir()) == [table]


def test_thresholds_are_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    main(["curve", str(table), "--json", "--threshold", "band_power=0.5"])
    wide = validated(capsys.readouterr().out)
    main(["curve", str(table), "--json"])
    usual = validated(capsys.readouterr().out)
    assert wide["thresholds"]["band_power"] == 0.5
    assert wide["band"]["low"] < usual["band"]["low"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "RUN_DIR"),
        (["nowhere"], "holds no run.json"),
        (["curve", "nowhere.csv"], "cannot read nowhere.csv"),
        (["curve", "table.csv", "--think", "long"], "--think: 'long' is no time: give seconds"),
        (["curve", "table.csv", "--think", "-1"], "--think: '-1' is no time"),
        (["curve", "table.csv", "--think", "nan"], "--think: 'nan' is no time"),
        (["curve", "table.csv", "--price-per-hour", "0"], "--price-per-hour: '0' is no number above 0"),
        (["curve", "table.csv", "--slo", "ttft<=1"], "needs a unit"),
        (["curve", "table.csv", "--threshold", "speed=1"], "there is no threshold 'speed'"),
        (["curve", "table.csv", "--threshold", "weight=much"], "needs a number"),
    ],
)
def test_a_users_mistake_is_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE)
    assert main(arguments) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("loadband: ")
    assert out.err.count("\n") == 1
    assert says in out.err


def test_a_report_that_cannot_be_written(built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for file in built.path.glob("*.*"):
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "report").write_text("in the way")
    assert main([str(copy)]) == 2
    assert "cannot write the report" in capsys.readouterr().err


@pytest.mark.parametrize(("levels", "begins"), [((8,), "8 users: "), ((4, 8), "No best number of users: ")])
def test_a_run_killed_in_mid_hold_has_that_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], levels: tuple[int, ...], begins: str
) -> None:
    built = build_run(tmp_path / "run", Build(levels=levels, hold_s=30.0), run={"ended": None, "how": None})
    *rows, last = (built.path / "steps.csv").read_text().splitlines()
    begun = ",".join([*last.split(",")[:7], "", ""])
    (built.path / "steps.csv").write_text("\n".join([*rows, begun]) + "\n")
    main([str(built.path)])
    said = capsys.readouterr().out
    assert "No level was held" not in said
    assert f"\n{begins}" in said
    assert "unfinished" in said
    verdict = validated((built.path / "report" / "verdict.json").read_text())
    assert verdict["levels"][-1]["hold_s"] == pytest.approx(30, abs=1)


def test_a_run_without_a_plan_says_so_and_gives_its_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the web UI makes it: users come and go as somebody likes, no step is written."""
    built = build_run(tmp_path / "run", Build(levels=(4,), hold_s=2.0, fail_share={4: 0.1}), run={"plan": None})
    (built.path / "steps.csv").write_text((built.path / "steps.csv").read_text().splitlines()[0] + "\n")
    assert main([str(built.path)]) == 3
    said = capsys.readouterr().out
    assert "No level was held: users rested at no number for long enough, and did not grow." in said
    failed = sum(record.status == "failed" for record in built.records)
    whole = f"The whole run, whatever its users did: {len(built.records)} requests in "
    assert whole in said
    line = next(line for line in said.splitlines() if line.startswith(whole))
    assert f"errors {failed / len(built.records):.2%}, TTFT p50 " in line
    assert line.endswith(" output tokens/s.")
    report = (built.path / "report" / "report.md").read_text()
    assert "The whole run, whatever its users did" in report


def test_a_run_that_ended_before_its_first_hold_says_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = Build(levels=(4,), hold_s=10.0, change=lambda record: replace(record, step=0, step_end=0))
    built = build_run(tmp_path / "run", begun)
    (built.path / "steps.csv").unlink()
    assert main([str(built.path)]) == 3
    said = capsys.readouterr().out
    assert "No level was held: the run ended before the first hold began.\nThe whole run, " in said
    assert "give --steps" not in said


def test_a_run_without_a_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", Build(levels=(4,), hold_s=10.0))
    for name in ("steps.csv", "requests.csv", "seconds.csv"):
        (built.path / name).unlink()
    assert main([str(built.path)]) == 3
    assert "No level was held" in capsys.readouterr().out


def test_reports_import_neither_locust_nor_gevent() -> None:
    code = (
        "import sys, reports.__main__, reports.panels; print([m for m in ('locust', 'gevent') if m in sys.modules], "
        "any(m.startswith('loadband.load') for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"


def test_an_output_that_is_not_utf8_is_no_traceback(built: Built) -> None:
    command = [sys.executable, "-m", "reports", str(built.path)]
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_table_of_one_row_asks_for_more_rows_and_not_for_an_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("users,output_tok_s\n8,843\n")
    main(["curve", str(table)])
    said = capsys.readouterr().out
    assert "8 users: 843 output tokens/s. One level says nothing about a band: it takes 5 or more." in said
    assert "--steps" not in said
