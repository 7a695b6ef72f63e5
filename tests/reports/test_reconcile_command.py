"""`python -m reports reconcile` as a user meets it."""

import json
from pathlib import Path

import pytest

from reports.__main__ import main
from tests.analysis.build_run import Build, build_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_run(tmp_path_factory.mktemp("reconcile") / "run", Build(levels=(4, 8, 16, 32), hold_s=30.0)).path


def test_theirs_beside_ours(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconcile", str(run), "--at", "16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "16 users: " in lines[0] and "requests that ended in the hold" in lines[0]
    assert lines[1].split() == ["Loadband", "vllm", "bench", "GuideLLM", "AIPerf", "evalscope"]
    assert any(line.startswith(" ITL mean") and "not in the records" in line for line in lines)
    assert "Why they differ:" in lines
    said = [line for line in lines if line.startswith("vllm bench, GuideLLM, AIPerf, evalscope; ")]
    assert any("requests/s; output tokens/s: its successes, whole" in line for line in said)


def test_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconcile", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["theirs"]) == {"vllm bench", "GuideLLM", "AIPerf", "evalscope"}
    assert told["theirs"]["AIPerf"]["ttft_mean_s"]["low"] == pytest.approx(told["ours"]["ttft_mean_s"], rel=1e-3)
    assert told["theirs"]["vllm bench"]["itl_mean_s"] == {"low": None, "high": None}


def test_what_cannot_be_answered_is_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconcile", str(run), "--at", "5"]) == 3
    assert capsys.readouterr().err == "loadband: 5 users is no level of this run: choose one of 4, 8, 16, 32\n"
    assert main(["reconcile", str(tmp_path)]) == 2
    assert main(["reconcile"]) == 2
    built = build_run(tmp_path / "run", Build(levels=(4,), hold_s=10.0))
    (built.path / "steps.csv").unlink()
    assert main(["reconcile", str(built.path)]) == 3
