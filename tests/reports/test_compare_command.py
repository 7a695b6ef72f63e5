"""`python -m reports compare` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports.__main__ import main
from tests.analysis.build_history import write_history
from tests.analysis.build_open import Open, build_open
from tests.analysis.build_run import Build, Server, build_run

BUILD = Build(levels=(2, 4, 8, 16, 32), hold_s=60.0)
TABLE = "users,output_tok_s,req_s,e2e_mean_s\n4,150,1.2,3.3\n8,290,2.3,3.4\n16,420,3.4,4.7\n32,425,3.4,9.4\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`before` and `again` with 8 slots, `after` with 16, each saying so."""
    where = tmp_path_factory.mktemp("compare")
    for name, slots, seed in (("before", 8, 1), ("again", 8, 2), ("third", 8, 3), ("after", 16, 4)):
        facts = {"server_args": f"--max-num-seqs {slots}", "labels": {"gpu": "a100"}}
        built = build_run(where / name, BUILD, server=Server(slots=slots), seed=seed, run=facts)
        if name == "before":
            write_history(built)
    (where / "table.csv").write_text(TABLE)
    return where


@pytest.fixture
def here(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(runs)
    return runs


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_two_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after", "--vary", "max_num_seqs"]) == 0
    lines = said(capsys)
    assert lines[0].split()[:3] == ["run", "change", "users"]
    assert lines[2].split()[:5] == ["after", "max_num_seqs", "8", "→", "16"]
    assert "after against before, level by level" in lines
    (told,) = [line for line in lines if line.startswith("after against before: ")]
    assert "at 16, 32 users, no difference beyond noise at 2, 4, 8 users" in told
    assert "Noise: within-run only" in told
    assert lines[-1] == "Exit code 0."


def test_equal_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "again", "--fail-on", "output_tok_s<-5%"]) == 0
    lines = said(capsys)
    (told,) = [line for line in lines if line.startswith("again against before: ")]
    assert "no difference beyond noise in output tokens/s at 2, 4, 8, 16, 32 users" in told
    assert any(line.startswith("Gate output_tok_s<-5%, again: passed") for line in lines)


def test_repeats_of_the_baseline_are_its_noise(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "before", "after", "--vary", "max_num_seqs", "--baseline", "again", "--baseline", "third"]
    assert main(command) == 0
    assert any("Noise: between the repeats of the baseline" in line for line in said(capsys))


def test_a_gate_fails_with_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worse = ["compare", "after", "before", "--vary", "max_num_seqs", "--fail-on"]
    assert main([*worse, "output_tok_s@16<-5%"]) == 1
    assert any(line.startswith("Gate output_tok_s@16<-5%, before: FAILED, -5") for line in said(capsys))
    assert main([*worse, "output_tok_s@64<-5%"]) == 3


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "again", "after", "--vary", "max_num_seqs", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == 0
    assert [each["name"] for each in told["chain"]] == ["before", "again", "after"]
    assert told["chain"][2]["change"] == {"max_num_seqs": ["8", "16"]}
    assert told["chain"][2]["to_first"]["value"] == pytest.approx(2.0, rel=0.05)
    assert told["chain"][1]["to_first"]["beyond_noise"] is False
    assert {each["run"] for each in told["effects"]} == {"again", "after"}


def test_unlike_runs_are_refused_in_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "after"]) == 3
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err == (
        "loadband: before and after are not alike: max_num_seqs 8 → 16: compare like with like, or name what is "
        "under test (--vary max_num_seqs)\n"
    )


def test_a_table_and_locusts_files_can_be_a_side(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "before", "table.csv"]) == 0
    lines = said(capsys)
    assert any(line.startswith("Note: table.csv does not tell: ") for line in lines)
    assert any(line.startswith("Note: by its numbers it differs in: answer length") for line in lines)
    assert any("nothing tells the noise" in line for line in lines)
    assert main(["compare", "before", "before/locust"]) == 0
    assert any("req/s" in line for line in said(capsys))


def test_the_figure_is_drawn_where_it_was_asked_for(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "before", "again", "table.csv", "--figure", str(tmp_path / "c.png")]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"c.png", "c.svg"}
    assert main(["compare", "before", "again", "--figure", str(tmp_path / "no" / "c.png")]) == 2
    assert main(["compare", "before", "again", "--figure", str(tmp_path / "c.jpg")]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["before"], "one run is no comparison"),
        ([], "RUN"),
        (["before", "nowhere"], "holds no run.json"),
        (["before", "again", "--vary", "speed"], "no run tells speed"),
        (["before", "again", "--fail-on", "speed<-5%"], "is not understood"),
        (["before", "again", "--at", "many"], "--at"),
    ],
)
def test_a_users_mistake_is_one_line(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("loadband: ") and out.err.count("\n") == 1
    assert says in out.err


def test_another_tools_result_can_be_a_side(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Path(__file__).parents[1] / "analysis" / "results"
    assert main(["compare", "before", str(results / "vllm_bench")]) == 0
    assert any(line.startswith("Note: vllm_bench does not tell: model") for line in said(capsys))
    assert main(["compare", str(results / "guidellm" / "benchmarks.json"), str(results / "evalscope")]) == 0
    assert main(["curve", str(results / "evalscope")]) == 0
    assert "Note: results of evalscope perf" in capsys.readouterr().out


def test_open_loops_are_compared_over_their_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("one", 1), ("two", 2)):
        build_open(tmp_path / name, Open((1.0, 2.0, 3.0), (60.0,) * 3, seed=seed))
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 0
    lines = said(capsys)
    assert lines[0].split()[:3] == ["run", "change", "requests/s"]
    (told,) = [line for line in lines if line.startswith("two against one: ")]
    assert " at 1, 2, 3 requests/s" in told
    assert main(["reconcile", str(tmp_path / "one"), "--at", "2"]) == 0
    assert ", 2 requests/s: " in capsys.readouterr().out
    closed = build_run(tmp_path / "closed", Build(levels=(1, 2, 3), hold_s=20.0))
    assert main(["compare", str(tmp_path / "one"), str(closed.path)]) == 3
    assert "levels_of requests/s → users" in capsys.readouterr().err
