"""A report says why requests failed: class, count, first level, the server's own words."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from loadband.record import Record
from reports.__main__ import main
from tests.analysis.build_run import Build, build_run

SCHEMA = json.loads((Path(__file__).parents[2] / "reports" / "verdict.schema.json").read_text())


def breaking(record: Record) -> Record:
    """Every third request of 4 users has a full memory, the first of 8 users a broken connection, without a word."""
    number = int(record.id.removeprefix("w1-"))
    if record.step == 2 and number % 3 == 0:
        return replace(record, status="failed", failure_class="http_500", message="CUDA | full_memory", e2e_s=None)
    if record.step == 3 and record.user == 0:
        return replace(record, status="failed", failure_class="reset", message=None, e2e_s=None)
    return record


def test_why_requests_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", Build(levels=(2, 4, 8), hold_s=32.0, change=breaking))
    main([str(built.path)])
    counts = {name: sum(r.failure_class == name for r in built.records) for name in ("http_500", "reset")}
    assert (
        f"\nFailed: {counts['http_500']} × http_500, first at 4 users: CUDA | full_memory\n" in capsys.readouterr().out
    )
    verdict = json.loads((built.path / "report" / "verdict.json").read_text())
    jsonschema.validate(verdict, SCHEMA)
    assert verdict["failures"] == [
        {"class": "http_500", "count": counts["http_500"], "first_level": 4, "sentence": "CUDA | full_memory"},
        {"class": "reset", "count": counts["reset"], "first_level": 8, "sentence": ""},
    ]
    report = (built.path / "report" / "report.md").read_text()
    assert "## Why requests failed\n\n| class | requests | first at | first sentence |\n|---|---:|---|---|\n" in report
    assert f"| http\\_500 | {counts['http_500']} | 4 users | CUDA \\| full\\_memory |\n" in report
    assert f"| reset | {counts['reset']} | 8 users | - |\n" in report


def test_a_run_without_a_failure_has_no_table_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", Build(levels=(2,), hold_s=32.0))
    main([str(built.path)])
    assert "Failed:" not in capsys.readouterr().out
    assert "Why requests failed" not in (built.path / "report" / "report.md").read_text()
