"""Locust's own files: the same levels from them, and the traps they hold."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from loadband.analysis.analyse import Analysis, analyse_locust, analyse_run
from loadband.analysis.locust_files import prefix_of, read_history, written_at
from loadband.errors import UnansweredError, UsageError
from loadband.record import Record
from tests.analysis.build_history import write_history
from tests.analysis.build_run import Build, Built, Server, build_run
from tests.analysis.make_levels import LIMITS

BUILD = Build(levels=(4, 8, 16, 32, 64), hold_s=32.0, settle_s=8.0, fail_share={64: 0.3})
NEEDED = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time"
BEGIN = 1795961360


def alone(prefix: Path) -> Path:
    """Locust's file without the run's own beside it."""
    there = prefix.parent / "alone"
    there.mkdir()
    (there / "locust_stats_history.csv").write_bytes((prefix.parent / "locust_stats_history.csv").read_bytes())
    return there / "locust"


def of_locust(prefix: Path, slo: str | None = None, think_s: float | None = None) -> Analysis:
    return analyse_locust(prefix, slo, think_s, LIMITS)


def mixed(rng: random.Random, _level: int) -> str:
    return "long_context" if rng.random() < 0.3 else "interactive"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = build_run(tmp_path_factory.mktemp("locust") / "run", BUILD, scenario=mixed)
    write_history(built)
    return built


def test_a_step_after_too_much_load_is_no_level(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", BUILD, run={"recovery": {"step": 5, "after": 4}})
    write_history(run)
    assert [level.users for level in of_locust(run.path / "locust").verdict.levels] == [4, 8, 16, 32]


@pytest.mark.parametrize("where", ["beside", "alone"])
def test_the_levels_are_those_of_our_own_records(built: Built, where: str) -> None:
    """The same holds when the run's steps lie beside; else the same load, seen in other seconds."""
    ours = analyse_run(built.path, None, LIMITS).verdict.levels
    analysis = of_locust(built.path / "locust" if where == "beside" else alone(built.path / "locust"))
    theirs = analysis.verdict.levels
    assert any("steps.csv" in note for note in analysis.notes) is (where == "beside")
    assert [level.users for level in theirs] == [level.users for level in ours] == [4, 8, 16, 32, 64]
    for our, their in zip(ours, theirs, strict=True):
        for name in ("req_s", "e2e_mean_s", "ttft_mean_s", "tpot_mean_s", "tok_s_user"):
            assert their.numbers.get(name) == pytest.approx(our.numbers.get(name), rel=0.05), (name, our.users)
        assert their.numbers.error_rate == pytest.approx(our.numbers.error_rate or 0.0, abs=0.05)
        assert their.numbers.in_flight == pytest.approx(our.numbers.in_flight, rel=0.4 if our.users == 64 else 0.07)


def test_throughput_is_successful_requests_and_says_so(built: Built) -> None:
    analysis = of_locust(built.path / "locust")
    assert analysis.verdict.metric == "req_s"
    assert all(level.numbers.output_tok_s is None for level in analysis.verdict.levels)
    assert "Locust's files count no tokens: throughput is successful requests per second" in analysis.notes
    assert analysis.verdict.operating.users == 16
    assert analysis.verdict.failure.at == 64


def test_percentiles_of_a_level_are_not_in_these_files(built: Built) -> None:
    verdict = of_locust(built.path / "locust", "ttft_p95<=1s,e2e_mean<=60s").verdict
    assert [each.result for each in verdict.slo] == ["undecided", "met"]
    assert all(level.numbers.e2e_p95_s is None for level in verdict.levels)


def test_repeats_are_climbs(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(2, 4, 8), hold_s=20.0, repeats=2))
    levels = of_locust(alone(write_history(built))).verdict.levels
    assert [(level.users, level.numbers.repeat) for level in levels] == [(n, r) for r in (1, 2) for n in (2, 4, 8)]


def test_failures_have_no_time_in_our_files(tmp_path: Path) -> None:
    """Half of the requests fail at once: the mean is of the others."""
    build = Build(levels=(4,), hold_s=30.0, fail_share={4: 0.5})
    (level,) = of_locust(write_history(build_run(tmp_path / "run", build))).verdict.levels
    assert level.numbers.e2e_mean_s == pytest.approx(Server().service_s, rel=0.1)
    assert level.numbers.error_rate == pytest.approx(0.5, abs=0.15)


def history(path: Path, rows: list[str], header: str = NEEDED) -> Path:
    (path / "x_stats_history.csv").write_text("\n".join([header, *rows]) + "\n")
    return path / "x"


def resting(counts: list[float], users: int = 8, begin: int = BEGIN) -> list[str]:
    return [f"{begin + second},{users},,Aggregated,{count:.0f},0,1000" for second, count in enumerate(counts)]


def test_a_ramp_is_in_no_level(tmp_path: Path) -> None:
    """16 users that ask 2 requests/s in all, then 8 at 8/s: the level's rate is from when the users rest."""
    ramp = [f"{BEGIN + n},{1 + n // 2},,Aggregated,{278 + 2 * n},0,1000" for n in range(14)]
    rest = resting([306 + 8 * n for n in range(20)], begin=BEGIN + 14)
    (level,) = of_locust(history(tmp_path, ramp + rest)).verdict.levels
    assert level.users == 8
    assert level.numbers.req_s == pytest.approx(8.0)


def test_long_requests_count_by_their_counts(tmp_path: Path) -> None:
    """Four users, 16 s each: 0 requests/s and percentiles of 0 between the waves; 8 requests in 32 s are 0.25/s."""
    header = f"{NEEDED},Requests/s,95%"
    rows = [
        f"{BEGIN + n},4,,Aggregated,{4 * (n // 16)},0,16000,{'0.25' if n % 16 < 3 else '0.000000'},"
        f"{'N/A' if n < 16 else '16000' if n % 16 < 3 else '0'}"
        for n in range(97)
    ]
    (level,) = of_locust(history(tmp_path, rows, header)).verdict.levels
    assert level.numbers.req_s == pytest.approx(0.25, rel=0.01)
    assert level.numbers.e2e_mean_s == 16.0


def test_a_server_that_hangs_has_the_rate_of_the_whole_stretch(tmp_path: Path) -> None:
    """10 requests/s for 20 s, then nothing for 40 s: Locust goes on showing 10."""
    counts = [10.0 * min(n, 20) for n in range(60)]
    up = [f"{BEGIN + 60 + n},16,,Aggregated,{200 + n},0,1000" for n in range(20)]
    level = of_locust(history(tmp_path, resting(counts) + up)).verdict.levels[0]
    assert level.numbers.req_s == pytest.approx(180 / 57, rel=0.05)


def test_a_level_without_a_success_is_not_valid(tmp_path: Path) -> None:
    (level,) = of_locust(history(tmp_path, resting([3.0] * 40))).verdict.levels
    assert level.grade.faults == ("no request succeeded while the users rested",)


def test_a_second_test_in_the_same_file_is_the_one_that_counts(tmp_path: Path) -> None:
    one, two = resting([10 * n for n in range(40)]), resting([5 * n for n in range(40)], begin=BEGIN + 60)
    analysis = of_locust(history(tmp_path, one + two))
    (level,) = analysis.verdict.levels
    assert level.numbers.req_s == pytest.approx(5.0)
    assert "2 tests follow each other in this file: only the last is used" in analysis.notes


def test_rows_without_users_and_history_without_types(tmp_path: Path) -> None:
    idle = [f"{BEGIN + n},0,,Aggregated,0,0,N/A" for n in range(30)]
    analysis = of_locust(history(tmp_path, idle + resting([5 * n for n in range(40)], begin=BEGIN + 30)))
    (level,) = analysis.verdict.levels
    assert (level.users, level.numbers.ttft_mean_s, level.numbers.e2e_mean_s) == (8, None, 1.0)
    assert "failed requests are inside the mean times of this file" in analysis.notes


def test_rows_of_other_kinds_never_enter_the_requests(built: Built) -> None:
    read = read_history(built.path / "locust")
    assert read.requests.count[-1] < len(built.records) + 1
    assert read.metrics["TTFT"].count[-1] < read.requests.count[-1], "failures have no first token"


def test_torn_and_damaged_lines(tmp_path: Path) -> None:
    rows = resting([5 * n for n in range(40)])
    rows[20] = f'{BEGIN + 20},8,,"Aggregated,100,0,1000'
    prefix = history(tmp_path, rows)
    with (tmp_path / "x_stats_history.csv").open("a") as file:
        file.write("1795961400,8,,Aggregated,8.0000")
    analysis = of_locust(prefix)
    assert analysis.verdict.levels[0].numbers.req_s == pytest.approx(5.0, rel=0.02)
    assert "the torn last line of x_stats_history.csv was dropped" in analysis.notes
    assert "1 damaged lines of x_stats_history.csv were dropped" in analysis.notes


@pytest.mark.parametrize("cell", ["9" * 400, "-5", "1e308", "nan", "none"])
@pytest.mark.parametrize("column", [0, 1, 4, 5, 6])
def test_what_no_count_can_be_is_unknown(tmp_path: Path, cell: str, column: int) -> None:
    rows = resting([5 * n for n in range(60)])
    cells = rows[30].split(",")
    cells[column] = cell
    rows[30] = ",".join(cells)
    levels = of_locust(history(tmp_path, rows)).verdict.levels
    assert [level.numbers.req_s for level in levels] == pytest.approx([5.0] * len(levels), rel=0.05)


def test_a_name_with_commas_and_quotes_survives(tmp_path: Path) -> None:
    rows = [line for n in range(40) for line in (
        f'{BEGIN + n},8,POST,"/v1/chat, long ""x""",{5 * n},0,1000', f"{BEGIN + n},8,,Aggregated,{5 * n},0,1000"
    )]  # fmt: skip
    analysis = of_locust(history(tmp_path, rows))
    assert analysis.verdict.levels[0].numbers.req_s == pytest.approx(5.0)
    assert not any("damaged" in note for note in analysis.notes)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no column User Count, Total Failure Count"):
        of_locust(history(tmp_path, [], "Timestamp,Type,Name,Total Request Count,Total Average Response Time"))
    (tmp_path / "x_stats_history.csv").write_text("")
    with pytest.raises(UsageError, match="has no column Timestamp"):
        of_locust(tmp_path / "x")
    with pytest.raises(UnansweredError, match="no number of users rested"):
        of_locust(history(tmp_path, []))
    with pytest.raises(UnansweredError, match="no number of users rested"):
        of_locust(history(tmp_path, resting([0.0, 5.0, 10.0])))


def test_a_prefix_is_told_from_a_directory(built: Built) -> None:
    assert prefix_of(built.path / "locust") == built.path / "locust"
    assert prefix_of(built.path / "locust_stats_history.csv") == built.path / "locust"
    assert prefix_of(built.path) is None
    assert prefix_of(built.path / "other") is None


@pytest.mark.parametrize("phase", [0.3, 0.6, 0.95])
def test_the_time_of_a_row_is_better_than_its_stamp(phase: float) -> None:
    """Stamps of whole seconds skip one once in a while; ten rows are then eleven seconds apart, and were not."""
    true = BEGIN + phase + 1.006 * np.arange(120)
    found = written_at(np.floor(true))
    lengths = found[15:] - found[:-15]
    assert np.abs(lengths - 15 * 1.006).max() < 0.35
    assert np.abs(np.floor(true)[15:] - np.floor(true)[:-15] - 15 * 1.006).max() > 0.9


def test_shuffled_kinds_of_failures(tmp_path: Path) -> None:
    """A record that failed after its first token counts as a request and a failure, and has no time."""

    def cut_short(record: Record) -> Record:
        return replace(record, status="failed", failure_class="reset") if record.user == 0 else record

    built = build_run(tmp_path / "run", Build(levels=(4,), hold_s=30.0), change=cut_short)
    (ours,) = analyse_run(built.path, None, LIMITS).verdict.levels
    (theirs,) = of_locust(write_history(built)).verdict.levels
    assert theirs.numbers.error_rate == pytest.approx(ours.numbers.error_rate, abs=0.03)
    assert theirs.numbers.e2e_mean_s == pytest.approx(ours.numbers.e2e_mean_s, rel=0.05)
