"""The report of an open loop speaks of requests per second; of users there is no word, for there are none."""

import csv
import json
from pathlib import Path

import pytest

from reports.__main__ import main
from tests.analysis.build_open import Open, build_open


def test_a_report_over_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Open((0.5, 1.0, 2.0, 3.0, 6.0, 8.0), (60.0,) * 6, slo="ttft_p95<=1s")
    build_open(tmp_path / "run", made)
    assert main([str(tmp_path / "run")]) == 0
    out, report = capsys.readouterr().out, tmp_path / "run" / "report"
    text = (report / "report.md").read_text(encoding="utf-8")
    for told in (out, text):
        assert "requests/s" in told
        lines = [line for line in told.splitlines() if "user" in line.replace("one user", "").replace("tok_s_user", "")]
        assert lines == []
    with (report / "step_table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["users"], row["offered_req_s"]) for row in rows] == [("", f"{rate:g}") for rate in made.rates]
    assert float(rows[0]["e2e_planned_max_s"]) >= float(rows[0]["e2e_planned_mean_s"]) > 0
    verdict = json.loads((report / "verdict.json").read_text(encoding="utf-8"))
    assert (verdict["axis"], verdict["failure"]["mode"]) == ("offered_req_s", "queue")
    assert verdict["operating_point"]["offered_req_s"] == 3.0
