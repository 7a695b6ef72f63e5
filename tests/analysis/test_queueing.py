"""D5 `queue`: the rate from which a queue grows, told from chance; and a client that did not keep its schedule."""

import math
from pathlib import Path

import pytest

from loadband.analysis.analyse import Analysis, analyse_run
from loadband.analysis.queueing import Queue, confirmed, gap_cv, unsent
from loadband.analysis.rates import in_rates, is_open
from loadband.analysis.run_files import read_run_files
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict_json import as_json
from loadband.analysis.windows import Hold
from loadband.errors import ExitCode
from reports.wording import answer
from tests.analysis.build_open import Open, build_open


def analysed(path: Path, made: Open) -> Analysis:
    """The verdict of a synthetic run."""
    build_open(path, made)
    return analyse_run(path, None, Thresholds())


def climb(rates: tuple[float, ...], hold_s: float = 60.0, **changes: object) -> Open:
    """Equal holds; the server completes 4 requests per second."""
    return Open(rates, (hold_s,) * len(rates), **changes)  # type: ignore[arg-type]


def test_the_queue_grows_beyond_the_capacity_and_is_the_failure_point(tmp_path: Path) -> None:
    analysis = analysed(tmp_path / "run", climb((0.5, 1.0, 2.0, 3.0, 6.0, 8.0)))
    verdict = analysis.verdict
    assert (verdict.failure.status, verdict.failure.mode) == ("found", "queue")
    assert (verdict.failure.after, verdict.failure.at) == (3.0, 6.0)
    assert "the backlog grew" in verdict.failure.reason
    assert [level.queue.grows for level in verdict.levels if level.queue] == [False] * 4 + [True] * 2
    assert [("queue_grows" in level.grade.marks) for level in verdict.levels] == [False] * 4 + [True] * 2
    assert all(level.grade.valid for level in verdict.levels)
    assert verdict.exit_code == ExitCode.OK, "a failure point that was found is a result"
    said = answer(analysis)[0]
    print(said)
    assert said.startswith("Best 3 requests/s (")
    assert "users" not in said


def test_bands_and_slo_are_over_the_offered_rate(tmp_path: Path) -> None:
    made = climb((0.5, 1.0, 2.0, 3.0, 3.5, 6.0), 300.0, slo="ttft_p95<=1s,error_rate<=1%@2")
    analysis = analysed(tmp_path / "run", made)
    verdict = as_json(analysis.verdict)
    assert verdict["axis"] == "offered_req_s"
    assert verdict["operating_point"]["users"] is None
    assert 1.0 <= verdict["operating_point"]["offered_req_s"] <= 3.5
    assert [level["users"] for level in verdict["levels"]] == [None] * 6
    assert 2.0 <= verdict["slo"][0]["n_slo"] <= 6.0
    assert verdict["slo"][1]["judged_at"] == 2.0
    print(*answer(analysis), sep="\n")
    assert any("holds up to" in said and "requests/s" in said for said in answer(analysis))


def test_a_healthy_server_has_no_queue_whatever_the_bursts(tmp_path: Path) -> None:
    verdict = analysed(tmp_path / "run", climb((0.5, 1.0, 2.0, 3.0), 200.0)).verdict
    assert verdict.failure.status == "not_reached"
    assert "requests/s" in verdict.failure.reason


def test_one_level_alone_is_not_confirmed_and_one_held_twice_as_long_is(tmp_path: Path) -> None:
    rates = (1.0, 2.0, 3.0, 8.0)
    alone = analysed(tmp_path / "alone", Open(rates, (60.0, 60.0, 60.0, 60.0))).verdict.failure
    assert (alone.status, alone.at, alone.mode) == ("unconfirmed", 8.0, "queue")
    long = analysed(tmp_path / "long", Open(rates, (60.0, 60.0, 60.0, 120.0))).verdict.failure
    assert (long.status, long.at, long.mode) == ("found", 8.0, "queue")


def test_8_requests_at_10_a_second_into_a_slot_of_half_a_second(tmp_path: Path) -> None:
    records = build_open(
        tmp_path / "run", Open((10.0,), (60.0,), slots=1, service_s=0.5, arrival="constant", lag_s=0.0)
    )
    waits = [record.e2e_s or 0.0 for record in records[:8]]
    assert math.fsum(waits) / 8 == pytest.approx(1.9)
    assert max(waits) == pytest.approx(3.3)
    (level,) = analyse_run(tmp_path / "run", None, Thresholds()).verdict.levels
    assert level.numbers.req_s == pytest.approx(2.0, abs=0.05)
    assert level.numbers.offered_req_s == 10.0
    assert "queue_grows" in level.grade.marks


QUEUES = [
    (Queue(100, 100, 5, 5), False, "all served"),
    (Queue(100, 71, 5, 34), False, "within three deviations"),
    (Queue(100, 69, 5, 36), True, "beyond"),
    (Queue(0, 0, 0, 0), False, "nothing came"),
    (Queue(4, 0, 0, 4), False, "of four requests nothing can be told"),
]


@pytest.mark.parametrize(("queue", "grows", "sentence"), QUEUES, ids=[row[2] for row in QUEUES])
def test_when_a_queue_grows(queue: Queue, grows: bool, sentence: str) -> None:
    assert queue.grows is grows, sentence


def test_what_confirms_a_growing_queue() -> None:
    assert confirmed(0, [[True], [True]], [60, 60]), "two levels in a row"
    assert confirmed(1, [[False], [True]], [60, 120]), "a doubled hold"
    assert confirmed(0, [[True, False, True], [False] * 3], [60, 60]), "two of three repeats"
    assert not confirmed(0, [[True], [False]], [60, 60])
    assert not confirmed(0, [[True]], [600]), "a lone level has nothing to be longer than"


def test_a_client_that_did_not_send_its_schedule_is_the_limit(tmp_path: Path) -> None:
    few = analysed(tmp_path / "few", climb((1.0, 2.0, 3.0), 200.0, sent=0.6)).verdict
    assert all(level.grade.client_limited for level in few.levels)
    assert "planned arrivals were sent" in few.levels[0].grade.faults[0]
    full = analysed(tmp_path / "full", climb((1.0, 2.0, 3.0), waited=True)).verdict
    assert all(level.grade.client_limited for level in full.levels)
    assert "waited for a place" in full.levels[0].grade.faults[0]


def test_a_schedule_that_was_kept_within_chance_is_no_fault(tmp_path: Path) -> None:
    build_open(tmp_path / "run", Open((3.0,), (100.0,)))
    files = read_run_files(tmp_path / "run")
    hold = Hold(float(files.steps["hold_from"].iloc[0]), float(files.steps["hold_to"].iloc[0]))
    assert unsent(files.requests, hold, 3.0, 1.0) is None
    assert unsent(files.requests, hold, 6.0, 1.0)
    assert unsent(files.requests, hold, 6.0, None) is None, "nothing to expect of an unknown spread"


def test_latency_from_the_schedule_holds_the_clients_own_lag(tmp_path: Path) -> None:
    (level, *_) = analysed(tmp_path / "run", climb((1.0, 2.0), lag_s=0.4)).verdict.levels
    assert level.numbers.e2e_mean_s is not None
    assert level.numbers.e2e_planned_mean_s == pytest.approx(level.numbers.e2e_mean_s + 0.4)
    assert level.numbers.schedule_lag_p99_s == pytest.approx(0.4)


def test_words() -> None:
    assert in_rates("holds up to 2.5 users") == "holds up to 2.5 requests/s"
    assert in_rates("failed at 1 user") == "failed at 1 requests/s"
    assert in_rates("users marched in waves") == "users marched in waves"
    assert gap_cv({"plan": {"arrival": "gamma(2)"}}) == 2.0
    assert gap_cv({"plan": {"arrival": "trace"}}) is None
    assert gap_cv({}) is None
    assert not is_open(())
