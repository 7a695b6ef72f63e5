"""The open loop in real Locust processes: the same schedule with 1, 2 and 4 workers, sent when it says, all booked."""

import csv
import itertools
import os
import signal
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from loadband import rundir
from loadband.load.prompts import PromptBook
from loadband.record import Status
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Files, finish, run, start

pytestmark = pytest.mark.process

LATE_S = 0.005
"""What an arrival may be late at the server, in the median: the machine of a test may be busy."""


def words(oracle: Oracle, path: Path, rates: str, *more: str) -> list[str]:
    """An open loop without warm-up and settling."""
    return [
        "--headless", "-H", oracle.url, "--rates", rates, "--warmup", "0s", "--settle", "0s", "--no-report",
        "--no-doctor", "--run-dir", str(path), *more,
    ]  # fmt: skip


def planned(files: Files) -> dict[tuple[int, int], float]:
    """(step, number of the arrival) -> moment by the schedule, Unix seconds."""
    return {
        (int(row["step"]), int(row["user"])): float(row["started_at"]) - float(row["schedule_lag_s"])
        for row in files.rows(rundir.REQUESTS)
    }


def nonce(prompt: str) -> str:
    """What a prompt begins with."""
    return " ".join(prompt.split()[:6])


def booked(files: Files) -> dict[str, float]:
    """Nonce of each arrival -> its moment by the schedule, Unix seconds."""
    levels = {int(row["step"]): index for index, row in enumerate(files.steps, start=1)}
    book = PromptBook(1, files.run["run_id"])
    return {book.nonce(1, number, levels[step]).text: moment for (step, number), moment in planned(files).items()}


def late_at_server(oracle: Oracle, files: Files) -> list[float]:
    """How much later than planned each arrival was read by the server, seconds, rising."""
    to_wall = time.time() - time.monotonic()
    read = {nonce(request.prompt): request.read_at + to_wall for request in oracle.log().requests}
    return sorted(read[text] - moment for text, moment in booked(files).items())


def offsets(files: Files, step: int) -> dict[int, float]:
    """Number -> seconds after the first arrival of the step."""
    moments = {number: moment for (of, number), moment in planned(files).items() if of == step}
    return {number: moment - moments[0] for number, moment in moments.items()}


@pytest.mark.timing
def test_1_2_and_4_workers_send_the_same_schedule_when_it_says(oracle: Oracle, tmp_path: Path) -> None:
    """All three at once: together they are 60 arrivals a second."""
    arrival = "gamma(2)"
    oracle.script(*after_probe(tokens(ttft_ms=300, itl_ms=10, n=20)))
    more = ["--hold", "4s", "--arrival", arrival, "--processes"]
    runs = {n: start(words(oracle, tmp_path / str(n), "10,20", *more, str(n))) for n in (1, 2, 4)}
    ends = [finish(process) for process in runs.values()]
    assert [ended.code for ended in ends] == [0, 0, 0], [ended.err for ended in ends]
    seen: list[tuple[dict[int, float], set[str]]] = []
    for workers in runs:
        files = Files(tmp_path / str(workers))
        assert set(files.statuses) == {Status.OK}
        assert {row["users"] for row in files.rows(rundir.SECONDS)} == {""}
        assert [(row["target"], row["offered_req_s"]) for row in files.steps] == [("", "10"), ("", "20")]
        late = late_at_server(oracle, files)
        p99 = late[int(0.99 * len(late))]
        print(f"{workers} workers, {arrival}: {len(late)} arrivals, late at the server by "
              f"{statistics.median(late) * 1000:.2f} ms in the median, {p99 * 1000:.1f} ms p99")  # fmt: skip
        assert statistics.median(late) < LATE_S
        own = booked(files)
        prompts = [each.body["messages"][0]["content"] for each in oracle.log().requests if nonce(each.prompt) in own]
        seen.append((offsets(files, 2), {prompt.removeprefix(nonce(prompt)).strip()[:60] for prompt in prompts}))
    assert_same([moments for moments, _ in seen])
    common = set.intersection(*(texts for _, texts in seen))
    assert len(common) > 20
    assert len(common) >= 0.8 * min(len(texts) for _, texts in seen), "the same prompts"


def assert_same(schedules: Sequence[dict[int, float]]) -> None:
    """The same numbers at the same moments, as far as every run came."""
    shortest = min(len(schedule) for schedule in schedules)
    assert shortest > 40
    for schedule in schedules:
        assert set(range(shortest)) <= set(schedule)
        for number in range(shortest):
            assert schedule[number] == pytest.approx(schedules[0][number], abs=5e-6), "cells have six decimals"


def test_answers_do_not_delay_arrivals_and_all_are_drained(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=3000, itl_ms=1, n=5)))
    ended = run(words(oracle, tmp_path / "run", "20", "--arrival", "constant", "--hold", "5s", "--processes", "2"))
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    assert set(files.statuses) == {Status.OK}
    assert (
        files.total("started")
        == files.statuses[Status.OK]
        == len(oracle.log().requests) - files.run["probe"]["requests"]
    )
    gaps = [later - earlier for earlier, later in itertools.pairwise(sorted(offsets(files, 1).values()))]
    assert gaps == pytest.approx([0.05] * len(gaps), abs=3e-6)
    assert oracle.log().peak_in_flight >= 50, "60 are open when nothing waits"


def test_ctrl_c_books_what_is_open_as_cut(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=100, itl_ms=50, n=100)))
    process = start(words(oracle, tmp_path / "run", "10", "--hold", "60s"))
    oracle.wait_until(lambda log: log.in_flight >= 30, 60)
    os.killpg(process.pid, signal.SIGINT)
    ended = finish(process)
    assert "Traceback" not in ended.err, ended.err
    files = Files(tmp_path / "run")
    assert files.statuses[Status.CUT] >= 25
    assert files.total("started") == files.statuses.total()
    assert set(files.statuses) <= {Status.OK, Status.CUT}
    at_server = {nonce(request.prompt) for request in oracle.log().requests[files.run["probe"]["requests"] :]}
    assert at_server <= set(booked(files)), "whatever the server saw; one stopped while it connects is there too"


@pytest.mark.timing
def test_8_requests_at_10_a_second_into_a_slot_of_half_a_second(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=100, itl_ms=50, n=9)), slots=1)
    more = ["--arrival", "constant", "--hold", "5s", "--drain", "0s", "--report"]
    command = [word for word in words(oracle, tmp_path / "run", "10", *more) if word != "--no-report"]
    ended = run(command)
    files = Files(tmp_path / "run")
    first = [row for row in files.rows(rundir.REQUESTS) if int(row["user"]) < 8]
    waits = [float(row["e2e_s"]) + float(row["schedule_lag_s"]) for row in first]
    (row,) = csv.DictReader((tmp_path / "run" / "report" / "step_table.csv").open())
    print(f"8 requests: mean {statistics.fmean(waits):.3f} s, max {max(waits):.3f} s from the schedule; "
          f"offered {row['offered_req_s']}/s, achieved {float(row['req_s']):.2f}/s, marks {row['marks']}")  # fmt: skip
    print(ended.out)
    assert statistics.fmean(waits) == pytest.approx(1.9, abs=0.1)
    assert max(waits) == pytest.approx(3.3, abs=0.15)
    assert "queue_grows" in row["marks"].split(";")
    assert float(row["req_s"]) == pytest.approx(2.0, abs=0.5)
    assert row["users"] == ""


def test_a_process_without_places_says_so_and_its_level_is_client_limited(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=2000, itl_ms=1, n=5)))
    few = ["bash", "-c", 'ulimit -n 280; exec "$@"', "--"]  # 256 of them are spared
    command = [each for each in words(oracle, tmp_path / "run", "30", "--hold", "4s") if each != "--no-report"]
    ended = finish(start(command, prefix=few))
    files = Files(tmp_path / "run")
    rows = files.rows(rundir.REQUESTS)
    waited = [row for row in rows if "waited" in row["flags"].split(";")]
    lags = [float(row["schedule_lag_s"]) for row in waited]
    print(f"{len(rows)} sent, {len(waited)} of them waited, up to {max(lags):.2f} s; in flight at most "
          f"{oracle.log().peak_in_flight}; exit {ended.code}")  # fmt: skip
    assert files.total("started") == files.statuses.total() == files.statuses[Status.OK]
    assert oracle.log().peak_in_flight <= 24
    assert max(lags) > 0.5
    assert ended.code == 3, ended.out
    assert "waited for a place in their process" in ended.out
