"""What other tools wrote of load on the simulator (profile `vllm-small`): trimmed, else as they saved it."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from loadband.analysis.analyse import Analysis, analyse_results
from loadband.analysis.tool_numbers import figure
from loadband.analysis.tool_results import is_results
from loadband.errors import UnansweredError, UsageError
from tests.analysis.make_levels import LIMITS

RESULTS = Path(__file__).with_name("results")
VLLM, GUIDELLM, EVALSCOPE = RESULTS / "vllm_bench", RESULTS / "guidellm" / "benchmarks.json", RESULTS / "evalscope"
ALL = pytest.mark.parametrize("path", [VLLM, GUIDELLM, EVALSCOPE], ids=["vllm bench", "GuideLLM", "evalscope"])


def read(path: Path, slo: str | None = None) -> Analysis:
    return analyse_results(path, slo, None, LIMITS)


def changed(where: Path, **changes: Any) -> Path:
    """One result of vllm bench with some of its keys replaced; None takes one out."""
    data = json.loads((VLLM / "concurrency-4.json").read_text()) | changes
    path = where / "result.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))
    return path


@ALL
def test_three_tools_saw_the_same_server(path: Path) -> None:
    """1, 4 and 16 at once, 64 tokens each: steps of 8.2, 8.7 and 10.8 ms, from the simulator's profile."""
    levels = read(path).verdict.levels
    assert [level.users for level in levels] == [1, 4, 16]
    for level, step_ms in zip(levels, (8.15, 8.72, 10.9), strict=True):
        numbers = level.numbers
        assert numbers.tpot_mean_s == pytest.approx(step_ms / 1000, rel=0.03)
        assert numbers.output_tok_s == pytest.approx((numbers.served_req_s or 0) * 64, rel=0.06)
        assert numbers.e2e_mean_s == pytest.approx((numbers.ttft_mean_s or 0) + 63 * step_ms / 1000, rel=0.06)
        assert numbers.in_flight == pytest.approx(level.users, rel=0.08)
        assert (numbers.failed, numbers.error_rate) == (0, 0.0)
        assert numbers.ttft_p50_s is not None and numbers.ttft_p99_s is not None
        assert numbers.ttft_p50_s <= numbers.ttft_p99_s < 0.2
        assert level.build == "vllm-small"
        assert level.grade.valid


@ALL
def test_what_a_tool_does_not_write_is_not_checked(path: Path) -> None:
    analysis = read(path)
    assert {"client", "drift", "outage", "users", "waves"} <= set(analysis.verdict.levels[0].grade.not_checked)
    assert "short" in analysis.verdict.levels[0].grade.marks
    assert analysis.verdict.confidence == "low"
    assert any("its own definitions" in note for note in analysis.notes)


@ALL
def test_an_slo_can_be_asked_of_it(path: Path) -> None:
    verdict = read(path, "tpot_mean<=10ms,e2e_p95<=10s").verdict
    assert [each.result for each in verdict.slo] == ["met", "met"]
    assert verdict.slo[0].n_slo == pytest.approx(11, abs=3)


def test_one_file_is_one_level() -> None:
    verdict = read(VLLM / "concurrency-16.json").verdict
    assert [level.users for level in verdict.levels] == [16]
    assert int(verdict.exit_code) == 0


def test_results_that_were_appended_to_one_file(tmp_path: Path) -> None:
    lines = [json.dumps(json.loads(path.read_text())) for path in sorted(VLLM.glob("*.json"))]
    (tmp_path / "all.json").write_text("\n".join([*lines, lines[0]]))
    levels = read(tmp_path / "all.json").verdict.levels
    assert [(level.users, level.numbers.repeat) for level in levels] == [(1, 1), (4, 1), (16, 1), (1, 2)]


def test_failures_of_an_older_version_are_what_is_missing(tmp_path: Path) -> None:
    (level,) = read(changed(tmp_path, failed=None, num_prompts=60)).verdict.levels
    assert (level.numbers.ok, level.numbers.failed) == (48, 12)
    assert level.numbers.error_rate == pytest.approx(0.2)
    (level,) = read(changed(tmp_path, failed=None, num_prompts=None)).verdict.levels
    assert (level.numbers.failed, level.numbers.error_rate) == (None, None)
    assert "errors" in level.grade.not_checked


def test_the_end_to_end_time_is_that_of_the_listed_requests(tmp_path: Path) -> None:
    (level,) = read(changed(tmp_path, mean_e2el_ms=None, latencies=[0.5, 0.7])).verdict.levels
    assert level.numbers.e2e_mean_s == pytest.approx(0.6)
    (level,) = read(changed(tmp_path, mean_e2el_ms=None, latencies=[0.5, 0.0], failed=1)).verdict.levels
    assert level.numbers.e2e_mean_s is None, "which of the two failed is not told"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"request_rate": 5.0}, "5.0 requests/s were sent on a schedule"),
        ({"max_concurrency": 0}, "all prompts were sent at once"),
    ],
)
def test_what_is_no_level_of_users_is_left_out(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    changed(tmp_path, **changes)
    with pytest.raises(UnansweredError, match=f"holds no level of users: .*{says}"):
        read(tmp_path)
    shutil.copy(VLLM / "concurrency-1.json", tmp_path / "one.json")
    analysis = read(tmp_path)
    assert [level.users for level in analysis.verdict.levels] == [1]
    assert any(says in note for note in analysis.notes)


def test_results_of_two_models_are_refused(tmp_path: Path) -> None:
    changed(tmp_path, model_id="another")
    shutil.copy(VLLM / "concurrency-16.json", tmp_path / "one.json")
    verdict = read(tmp_path).verdict
    assert verdict.refused == "the levels come from different builds (another, vllm-small): give one table per build"
    assert int(verdict.exit_code) == 3


def test_a_benchmark_of_guidellm_that_is_no_level(tmp_path: Path) -> None:
    data = json.loads(GUIDELLM.read_text())
    data["benchmarks"][2]["config"]["strategy"] = {"type_": "throughput", "max_concurrency": 512}
    (tmp_path / "b.json").write_text(json.dumps(data))
    analysis = read(tmp_path / "b.json")
    assert [level.users for level in analysis.verdict.levels] == [1, 4]
    assert "b.json: a benchmark of the strategy throughput is no level of users" in analysis.notes
    for benchmark in data["benchmarks"]:
        benchmark["args"] = benchmark.pop("config")
    (tmp_path / "b.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"is a report of GuideLLM 0\.8\.1, whose layout is not known"):
        read(tmp_path / "b.json")


def test_tokens_of_requests_that_the_time_limit_cut_came_all_the_same() -> None:
    data = json.loads(GUIDELLM.read_text())["benchmarks"][0]["metrics"]["output_tokens_per_second"]
    both = data["successful"]["mean"] + data["incomplete"]["mean"]
    assert read(GUIDELLM).verdict.levels[0].numbers.output_tok_s == pytest.approx(both)
    assert data["incomplete"]["mean"] > 0


@pytest.mark.parametrize("value", [None, "much", True, [], {}, -1, math.nan, math.inf, 10**400, 1e300])
def test_what_is_no_number_is_unknown(value: Any) -> None:
    assert figure({"a": {"b": value}}, "a", "b") is None
    assert figure({"a": value}, "a", "b") is None
    assert figure(value, "a") is None


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"benchmarks": 5}', "nonsense", "[" * 100_000, '{"duration": 1'])
def test_what_no_tool_wrote_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match=r"holds no result of vllm bench serve, GuideLLM, evalscope perf|is no JSON"):
        read(tmp_path / "x.json")


def test_values_of_a_wrong_kind_are_unknown(tmp_path: Path) -> None:
    (level,) = read(changed(tmp_path, mean_ttft_ms="fast", p95_ttft_ms=[], output_throughput=447.0)).verdict.levels
    assert (level.numbers.ttft_mean_s, level.numbers.ttft_p95_s) == (None, None)
    assert level.numbers.output_tok_s == 447.0


def test_what_may_be_a_result() -> None:
    assert is_results(GUIDELLM) and is_results(VLLM) and is_results(EVALSCOPE)
    assert not is_results(Path(__file__)) and not is_results(Path(__file__).parent / "nowhere")


def test_a_copy_is_no_repeat(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "result.json").write_text('{"request_throughput": 1.0}')
    with pytest.raises(UsageError, match=r"two/result\.json is a copy of .*one/result\.json"):
        analyse_results(tmp_path, None, None, LIMITS)
