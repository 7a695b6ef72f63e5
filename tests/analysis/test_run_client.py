"""The load generator in a run's files: late, overloaded, out of descriptors, a worker lost, or of unknown health."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Level
from loadband.record import Record
from loadband.rundir import HISTOGRAMS, WORKERS
from tests.analysis.build_run import EPOCH, Build, build_run
from tests.analysis.make_levels import LIMITS

SHORT = Build(levels=(4, 8, 16), hold_s=32.0)


def levels_of(path: Path) -> list[Level]:
    return list(analyse_run(path, None, LIMITS).verdict.levels)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"lag_s": 0.2}, "event-loop lag p99 of 2"), ({"cpu": 0.99}, "a worker used 99% of its core")],
)
def test_a_client_that_is_late_is_the_limit(tmp_path: Path, change: dict[str, float], says: str) -> None:
    built = build_run(tmp_path / "run", replace(SHORT, **change))  # type: ignore[arg-type]
    for level in levels_of(built.path):
        assert level.grade.client_limited
        assert not level.grade.valid
        assert says in level.grade.reasons[0]
    verdict = analyse_run(built.path, None, LIMITS).verdict
    assert verdict.exit_code == 3


def test_lag_marks_what_it_spoils_and_no_more(tmp_path: Path) -> None:
    """8 ms: more than 5 % of a TTFT of 100 ms and 20 % of gaps of 20 ms, far below 100 ms."""
    built = build_run(tmp_path / "run", SHORT, lag_s=0.008)
    for level in levels_of(built.path):
        assert level.grade.valid
        assert {"lag_ttft", "lag_itl"} <= set(level.grade.marks)


READ_LAGS = [
    (0.008, 0.0001, {"lag_ttft"}, "what is sent is late, what is stamped is not"),
    (0.0005, 0.008, {"lag_ttft", "lag_itl"}, "stamps are late"),
    (0.0005, 0.0001, set(), "neither"),
]


@pytest.mark.parametrize(("loop_s", "read_s", "marks", "sentence"), READ_LAGS, ids=[row[3] for row in READ_LAGS])
def test_gaps_are_spoilt_by_the_lag_of_what_stamps_them(
    tmp_path: Path, loop_s: float, read_s: float, marks: set[str], sentence: str
) -> None:
    built = build_run(tmp_path / "run", SHORT, lag_s=loop_s, read_lag_s=read_s)
    for level in levels_of(built.path):
        assert {"lag_ttft", "lag_itl"} & set(level.grade.marks) == marks, sentence


def test_a_reading_thread_that_is_late_is_a_client_that_is_the_limit(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, read_lag_s=0.2)
    assert all(level.grade.client_limited for level in levels_of(built.path))


def test_lag_without_histograms_comes_from_the_workers(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, lag_s=0.2)
    (built.path / HISTOGRAMS).unlink()
    assert all(level.grade.client_limited for level in levels_of(built.path))


def test_a_client_of_unknown_health_is_undecided_never_passed(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    (built.path / HISTOGRAMS).unlink()
    (built.path / WORKERS).unlink()
    for level in levels_of(built.path):
        assert {"client_lag", "client_cpu"} <= set(level.grade.undecided)
    assert analyse_run(built.path, None, LIMITS).verdict.confidence == "low"


def test_a_worker_that_falls_silent_was_lost(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    gone = EPOCH + 6 + 32 + 10
    head, *rows = (built.path / WORKERS).read_text().splitlines()
    kept = [row for row in rows if float(row.split(",")[0]) < gone]
    (built.path / WORKERS).write_text("\n".join([head, *kept]) + "\n")
    grades = [level.grade for level in levels_of(built.path)]
    assert [grade.client_limited for grade in grades] == [False, True, False]
    assert "a worker was lost (w1)" in grades[1].reasons[0]
    assert analyse_run(built.path, None, LIMITS).verdict.exit_code == 3
    assert "client_cpu" in grades[2].undecided


def test_a_worker_that_is_missing_is_lost(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    text = (built.path / WORKERS).read_text()
    (built.path / WORKERS).write_text(text.replace("running", "missing", 20))
    assert levels_of(built.path)[0].grade.client_limited


@pytest.mark.parametrize(
    ("noticed", "limited"),
    [
        (-9.0, [False, False, False]),
        (-1.0, [True, False, False]),
        (5.0, [True, False, False]),
        (6.5, [False, True, False]),
        (20.0, [False, True, False]),
    ],
)
def test_a_worker_died_up_to_six_seconds_before_it_was_missed(
    tmp_path: Path, noticed: float, limited: list[bool]
) -> None:
    """`noticed`: after the end of the first hold; settling takes 6 s, the worker had fallen silent 4 s before."""
    built = build_run(tmp_path / "run", SHORT)
    end = built.holds[0][3]
    at = end + noticed if noticed > -9 else built.holds[0][2] - 1
    head, *rows = (built.path / WORKERS).read_text().splitlines()
    other = [row.replace(",w1,", ",w2,") for row in rows if float(row.split(",")[0]) < at - 4]
    (built.path / WORKERS).write_text("\n".join([head, *rows, *other, f"{at},w2,0,0,,,,missing"]) + "\n")
    grades = [level.grade for level in levels_of(built.path)]
    assert [grade.client_limited for grade in grades] == limited
    if True in limited:
        assert "a worker was lost (w2)" in grades[limited.index(True)].reasons[0]
        assert analyse_run(built.path, None, LIMITS).verdict.exit_code == 3


def test_descriptors_that_run_out_are_the_clients(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, fail_share={16: 0.1}, failure_class="client")
    last = levels_of(built.path)[-1]
    assert last.grade.client_limited
    assert (last.server_failed, last.numbers.error_rate) == (0, 0.0)


def test_requests_that_died_with_their_worker_are_counted(tmp_path: Path) -> None:
    """started = ok + failed + cut + abandoned + lost."""

    def lose(record: Record) -> Record:
        return (
            replace(record, status="lost", output_tokens=None, duration_s=None, e2e_s=None)
            if record.user == 3
            else record
        )

    built = build_run(tmp_path / "run", SHORT, change=lose)
    analysis = analyse_run(built.path, None, LIMITS)
    lost = sum(record.status == "lost" for record in built.records)
    assert analysis.statuses == {"ok": len(built.records) - lost, "lost": lost}
    assert analysis.notes == ()
    assert all(level.grade.client_limited for level in analysis.verdict.levels)
