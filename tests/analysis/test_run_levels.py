"""Whole run directories: what each kind of trouble makes of a level, and that nothing but the files matters."""

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.analyse import analyse_run
from loadband.analysis.level import Grade, Level, Numbers
from loadband.analysis.run_files import read_run_files
from loadband.analysis.run_levels import levels_of_run
from loadband.analysis.validity import check_length
from loadband.record import Record
from loadband.rundir import HISTOGRAMS, REQUESTS, SECONDS, STEPS, WORKERS
from loadband.slo import parse_slo
from tests.analysis.build_run import EPOCH, Build, Built, Server, build_run
from tests.analysis.make_levels import LIMITS

SHORT = Build(levels=(4, 8, 16), hold_s=32.0)


def levels_of(path: Path, slo: str = "") -> list[Level]:
    return list(levels_of_run(read_run_files(path), parse_slo(slo) if slo else (), LIMITS))


def test_the_numbers_are_those_of_the_server(tmp_path: Path) -> None:
    """Closed form: throughput = users x tokens / cycle up to 16 slots, flat after."""
    built = build_run(tmp_path / "run")
    server = Server()
    for level in levels_of(built.path):
        numbers = level.numbers
        assert level.grade.valid, level.grade.reasons
        assert numbers.output_tok_s == pytest.approx(server.throughput(int(level.users)), rel=0.05)
        assert numbers.in_flight == pytest.approx(level.users, rel=0.03)
        assert numbers.tpot_p50_s == pytest.approx(server.tpot_s)
        assert numbers.itl_p50_s == pytest.approx(server.tpot_s, rel=0.01)
        assert numbers.output_ratio == pytest.approx(1.0)
        assert numbers.hold_s == pytest.approx(40)


def test_requests_that_ended_while_settling_are_of_no_level(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    for level, (_, _, begin, end) in zip(levels_of(built.path), built.holds, strict=True):
        inside = [r for r in built.records if begin <= r.started_at + (r.duration_s or 0) <= end]
        assert level.numbers.requests == pytest.approx(len(inside), abs=1)  # six decimals at the edges


def test_shuffling_the_rows_changes_nothing(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    before = levels_of(built.path, "ttft_p95<=1s")
    for name in (REQUESTS, HISTOGRAMS, WORKERS, STEPS):
        head, *rows = (built.path / name).read_text().splitlines()
        random.Random(7).shuffle(rows)
        (built.path / name).write_text("\n".join([head, *rows]) + "\n")
    assert levels_of(built.path, "ttft_p95<=1s") == before


def test_missing_users_make_a_level_invalid(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, users_shown={8: 7})
    levels = levels_of(built.path)
    assert [level.grade.valid for level in levels] == [True, False, True]
    assert "users were not 8" in levels[1].grade.reasons[0]


def test_users_of_the_next_level_in_the_last_second_are_the_masters_delay(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    last = int(built.holds[0][3]) - 1
    text = (built.path / SECONDS).read_text()
    row = next(line for line in text.splitlines() if line.startswith(f"{last},,"))
    (built.path / SECONDS).write_text(text.replace(row, row.replace(f"{last},,4", f"{last},,8")))
    assert levels_of(built.path)[0].grade.valid


def test_without_seconds_no_level_is_valid(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    (built.path / SECONDS).unlink()
    for level in levels_of(built.path):
        assert not level.grade.valid
        assert level.numbers.output_tok_s is None
        assert level.numbers.e2e_p50_s is not None


def test_requests_that_vanish_break_the_books(tmp_path: Path) -> None:
    """A third of the requests is in no record: Little's law sees it."""
    built = build_run(tmp_path / "run", SHORT)
    head, *rows = (built.path / REQUESTS).read_text().splitlines()
    kept = [row for n, row in enumerate(rows) if n % 3]
    (built.path / REQUESTS).write_text("\n".join([head, *kept]) + "\n")
    for level in levels_of(built.path):
        assert not level.grade.valid
        assert any("Little" in reason for reason in level.grade.reasons)


def test_every_request_that_started_must_have_ended(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    analysis = analyse_run(built.path, None, LIMITS)
    assert analysis.statuses == {"ok": len(built.records)}
    assert not any("balance" in note for note in analysis.notes)
    head, *rows = (built.path / REQUESTS).read_text().splitlines()
    (built.path / REQUESTS).write_text("\n".join([head, *rows[:-2]]) + "\n")
    started = len(built.records)
    assert (
        f"{started:,} requests started, {started - 2:,} have a record"
        in analyse_run(built.path, None, LIMITS).notes[-1]
    )


def test_tokens_counted_twice_break_the_books(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    head, *rows = (built.path / SECONDS).read_text().splitlines()
    again = [row for row in rows if row.split(",")[1]]
    (built.path / SECONDS).write_text("\n".join([head, *rows, *again]) + "\n")
    for level in levels_of(built.path):
        assert any("requests/s x mean tokens" in reason for reason in level.grade.reasons)
        assert not level.grade.valid


def test_answers_that_end_early_are_told(tmp_path: Path) -> None:
    def asked_twice(record: Record) -> Record:
        return replace(record, max_tokens=2 * (record.output_tokens or 0) or None)

    built = build_run(tmp_path / "run", SHORT, change=asked_twice)
    assert all("short_answers" in level.grade.marks for level in levels_of(built.path))


def test_a_short_hold_is_marked(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, hold_s=10.0)
    assert all("short" in level.grade.marks for level in levels_of(built.path))


def test_a_hold_of_a_second_is_too_short(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", Build(levels=(4, 8), hold_s=1.0))
    for level in levels_of(built.path):
        assert level.grade.faults[0] == "the hold of 1 s is too short: hold a level for 3 s or longer"


@pytest.mark.parametrize(
    ("hold_s", "e2e_s", "says"),
    [
        (10.0, 0.01, "the hold of 10 s is short (30 s are wanted)"),
        (31.0, 8.0, "the hold of 31 s is short (5 mean E2E of 8 s are wanted)"),
    ],
)
def test_a_short_hold_names_the_rule_that_it_breaks(hold_s: float, e2e_s: float, says: str) -> None:
    grade = check_length(Grade(), Numbers(hold_s=hold_s, e2e_mean_s=e2e_s), LIMITS)
    assert grade.reasons == (says,)


def test_users_in_step_are_marked_and_their_first_token_judges_nothing(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, server=Server(tokens=(60, 60)))

    def in_step(path: Path) -> None:
        head, *rows = (path / REQUESTS).read_text().splitlines()
        column = head.split(",").index("started_at")
        moved = []
        for row in rows:
            cells = row.split(",")
            cycle = Server(tokens=(60, 60)).service_s
            cells[column] = f"{EPOCH + round((float(cells[column]) - EPOCH) / cycle) * cycle:.6f}"
            moved.append(",".join(cells))
        (path / REQUESTS).write_text("\n".join([head, *moved]) + "\n")

    in_step(built.path)
    last = levels_of(built.path, "ttft_p95<=1s")[-1]
    assert "in_waves" in last.grade.marks
    assert not last.measured[0].judgeable


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ((0.7, 0.45), "users march in waves: starts repeat with the length of an answer (autocorrelation 0.45)"),
        ((3.0, 0.1), "users march in waves: starts bunch 3.0 times as much as random ones"),
        ((3.0, 0.45), "bunch 3.0 times as much as random ones, starts repeat with the length of an answer (auto"),
    ],
)
def test_waves_are_told_by_the_sign_that_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: tuple[float, float], says: str
) -> None:
    monkeypatch.setattr("loadband.analysis.validity.waves", lambda *_: found)
    built = build_run(tmp_path / "run", SHORT, levels=(4,))
    assert says in "; ".join(levels_of(built.path)[0].grade.remarks)


def test_the_mix_of_each_level_is_compared_with_the_others(tmp_path: Path) -> None:
    def scenario(rng: random.Random, level: int) -> str:
        return "long_context" if rng.random() < (0.5 if level == 16 else 0.1) else "interactive"

    built = build_run(tmp_path / "run", SHORT, scenario=scenario)
    marks = [level.grade.marks for level in levels_of(built.path)]
    assert "mix" in marks[2]


def test_a_step_that_was_never_held(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT)
    with (built.path / STEPS).open("a") as file:
        file.write(f"4,1,32,,{EPOCH + 200},,,,not_reached\n")
    last = levels_of(built.path)[-1]
    assert last.grade.reasons == ("never held (ended by not_reached)",)
    assert last.numbers.users == 32


def test_a_run_killed_inside_a_hold_keeps_what_it_had(tmp_path: Path) -> None:
    built = build_run(tmp_path / "run", SHORT, run={"ended": None, "how": None})
    lines = (built.path / STEPS).read_text().splitlines()
    cells = lines[-1].split(",")
    cells[7:] = ["", ""]
    (built.path / STEPS).write_text("\n".join([*lines[:-1], ",".join(cells)]) + "\n")
    last = levels_of(built.path)[-1]
    assert "unfinished" in last.grade.marks
    assert last.grade.valid
    assert last.numbers.hold_s == pytest.approx(32)


@pytest.fixture(scope="module")
def outage_run(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The target refuses connections from the middle of the last of four levels on."""
    build = Build(levels=(2, 4, 8, 16), hold_s=32.0)
    down = EPOCH + 4 * 38 - 20.0

    def refuse(record: Record) -> Record | None:
        if record.started_at + (record.duration_s or 0.0) < down:
            return record
        if record.started_at < down:
            changes = {"failure_class": "reset", "duration_s": down - record.started_at}
        else:
            changes = {"failure_class": "connect", "duration_s": 0.01}
        return replace(
            record, status="failed", message="refused", output_tokens=None, ttft_s=None, e2e_s=None, tpot_s=None,
            **changes,  # type: ignore[arg-type]
        )  # fmt: skip

    return build_run(tmp_path_factory.mktemp("outage") / "run", build, change=refuse)


def test_a_target_that_goes_away_is_evidence_not_a_measurement(outage_run: Built) -> None:
    levels = levels_of(outage_run.path)
    assert [level.grade.valid for level in levels] == [True, True, True, False]
    evidence = levels[-1].grade.evidence
    assert evidence is not None
    assert (evidence.mode, evidence.healed) == ("outage", False)
    verdict = analyse_run(outage_run.path, None, LIMITS).verdict
    assert (verdict.failure.status, verdict.failure.after, verdict.failure.at) == ("found", 8, 16)
    assert verdict.failure.mode == "outage"
    assert (verdict.operating.users, verdict.operating.limited_by) == (8, "failure")
    assert verdict.exit_code == 0


def test_a_lower_level_after_a_target_that_is_gone_is_not_where_it_failed(outage_run: Built, tmp_path: Path) -> None:
    """A search drains and goes down; that the target is lost may show only there."""
    path = Path(shutil.copytree(outage_run.path, tmp_path / "run"))
    with (path / STEPS).open("a") as file:
        file.write(f"5,2,6,,{EPOCH + 4 * 38 + 1},,,,target_lost\n")
    verdict = analyse_run(path, None, LIMITS).verdict
    last = verdict.levels[-1].grade
    assert last.evidence is None
    assert last.reasons[1:] == ("the target was gone already, since 16 users",)
    assert (verdict.failure.after, verdict.failure.at) == (8, 16)


def test_a_target_that_is_lost_before_anything_could_be_said(tmp_path: Path) -> None:
    def refuse(record: Record) -> Record:
        return replace(
            record, status="failed", failure_class="connect", output_tokens=None, ttft_s=None, e2e_s=None,
            tpot_s=None, duration_s=0.01,
        )  # fmt: skip

    built = build_run(tmp_path / "run", SHORT, change=refuse, run={"how": "target_lost"})
    assert analyse_run(built.path, None, LIMITS).verdict.exit_code == 4


def test_requests_that_run_into_the_clients_limit_are_a_timeout(tmp_path: Path) -> None:
    limits = {"connect_s": 10.0, "first_token_s": 1.0, "idle_s": 60.0, "total_s": 600.0}
    built = build_run(tmp_path / "run", Build(levels=(4, 8, 16, 32), hold_s=32.0), run={"timeouts": limits})
    verdict = analyse_run(built.path, None, LIMITS).verdict
    assert (verdict.failure.mode, verdict.failure.after, verdict.failure.at) == ("timeout", 16, 32)
    assert "first token limit of 1 s" in verdict.failure.reason
