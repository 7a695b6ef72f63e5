"""The master's pen: reports in, files out; every second written once, nothing lost and nothing twice."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadband.load.ledger import COUNTERS
from loadband.load.pen import Pen
from loadband.record import RECORD_COLUMNS, FailureClass, Status
from loadband.rundir import COLUMNS, HISTOGRAMS, REQUESTS, SECONDS, STEPS, TEXTS, WORKERS, RunDirectory, cell
from tests.load.records import counts, ended, record, report


@pytest.fixture
def pen(tmp_path: Path) -> Pen:
    return Pen(RunDirectory.create(tmp_path / "run"))


def rows(path: Path, name: str) -> list[dict[str, str]]:
    with (path / "run" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_files_have_headers_though_nothing_came(pen: Pen, tmp_path: Path) -> None:
    for name, columns in COLUMNS.items():
        assert (tmp_path / "run" / name).read_text() == ",".join(columns) + "\n"


def test_a_seconds_first_row_alone_carries_users(pen: Pen, tmp_path: Path) -> None:
    mine = [counts(1000, started=2), counts(1000, "long_context", started=1)]
    pen.absorb(report("w0", users=3, counters=mine), 1001.0)
    pen.absorb(report("w1", users=2, counters=[counts(1000, ok=1)]), 1001.0)
    pen.tick(1001.1)
    told = rows(tmp_path, SECONDS)
    assert [(row["second"], row["scenario"], row["users"], row["in_flight"]) for row in told] == [
        ("1000", "", "5", ""),
        ("1000", "interactive", "", ""),
        ("1000", "interactive", "", ""),
        ("1000", "long_context", "", ""),
    ]
    assert [row["started"] for row in told] == ["0", "0", "2", "1"], "the first row counts nothing itself"


def in_flight(tmp_path: Path) -> list[tuple[int, float]]:
    """(second, requests in flight) in the order of the file."""
    return [(int(row["second"]), float(row["in_flight"])) for row in rows(tmp_path, SECONDS) if row["in_flight"]]


def test_a_second_has_its_requests_in_flight_when_every_worker_told_all_of_it(pen: Pen, tmp_path: Path) -> None:
    pen.absorb(report("w0", open_seconds=[[999, 0.5], [1000, 2.0], [1001, 0.2]]), 1001.1)
    pen.absorb(report("w1", open_seconds=[[1000, 0.3]]), 1001.1)
    pen.tick(1001.15)
    assert in_flight(tmp_path) == [], "w1 has told of the first third of the second"
    pen.absorb(report("w1", open_seconds=[[1000, 0.7], [1001, 0.0]]), 1001.2)
    pen.absorb(report("w0", open_seconds=[[1001, 1.8], [1002, 0.0]]), 1002.0)
    pen.tick(1002.1)
    assert in_flight(tmp_path) == [(1000, 3.0)], "1001 is told by one"
    assert {row["users"] for row in rows(tmp_path, SECONDS) if row["in_flight"]} == {""}
    pen.lose("w1", 1002.5)
    pen.tick(1003.1)
    assert in_flight(tmp_path) == [(1000, 3.0), (1001, 2.0)], "a worker that died tells no more"


def test_an_extra_report_of_a_short_while_changes_no_second(pen: Pen, tmp_path: Path) -> None:
    """Workers report at once when they have drained: then nothing is in flight, in a second that was busy before."""
    pen.absorb(report(open_seconds=[[1000, 4.0], [1001, 1.6]], in_flight=4.0), 1001.4)
    pen.absorb(report(open_seconds=[[1001, 0.0]], in_flight=0.0), 1001.45)
    pen.tick(1001.5)
    assert in_flight(tmp_path) == [(1000, 4.0)]
    pen.absorb(report(open_seconds=[[1001, 0.0], [1002, 0.5]], in_flight=0.5), 1002.6)
    pen.finish(1002.6)
    assert in_flight(tmp_path) == [(1000, 4.0), (1001, 1.6), (1002, 0.5)], "nothing is open any more"


def test_a_second_that_is_not_over_waits(pen: Pen, tmp_path: Path) -> None:
    pen.absorb(report(counters=[counts(1001, started=1)]), 1001.4)
    pen.tick(1001.5)
    assert [row["second"] for row in rows(tmp_path, SECONDS)] == ["1000"]
    pen.tick(1002.1)
    assert [(row["second"], row["started"]) for row in rows(tmp_path, SECONDS)[1:]] == [("1001", "0"), ("1001", "1")]


def test_late_counters_of_a_past_second_follow_without_users(pen: Pen, tmp_path: Path) -> None:
    pen.tick(1001.1)
    pen.absorb(report(users=1, counters=[counts(1000, output_tokens_ok=9)]), 1001.5)
    pen.tick(1002.1)
    told = [(row["second"], row["users"], row["output_tokens_ok"]) for row in rows(tmp_path, SECONDS)]
    assert told == [("1000", "0", "0"), ("1001", "1", "0"), ("1000", "", "9")]


TICKS: list[tuple[list[float], list[int], str]] = [
    ([1001.1, 1002.1, 1003.1], [1000, 1001, 1002], "once a second"),
    ([1001.1, 1001.9, 1002.1], [1000, 1001], "twice in one second: written once"),
    ([1001.9, 1003.0], [1000, 1001, 1002], "late: the second that was missed is made up for"),
    ([1001.1, 1000.2, 1001.3], [1000], "a clock set back: no second comes twice"),
    ([1001.1, 1900.0], [1000, *range(1840, 1900)], "after a long sleep the rest stays unknown"),
]


@pytest.mark.parametrize(("moments", "seconds", "sentence"), TICKS, ids=[row[2] for row in TICKS])
def test_each_second_once(pen: Pen, tmp_path: Path, moments: list[float], seconds: list[int], sentence: str) -> None:
    for moment in moments:
        pen.tick(moment)
    assert [int(row["second"]) for row in rows(tmp_path, SECONDS)] == seconds, sentence


def test_the_end_writes_what_waits_and_no_second_beyond(pen: Pen, tmp_path: Path) -> None:
    pen.tick(1001.1)
    pen.absorb(report(users=4, counters=[counts(1001, ok=1), counts(1002, cut=2), counts(1007, started=1)]), 1002.0)
    pen.finish(1002.6)
    told = [(row["second"], row["users"]) for row in rows(tmp_path, SECONDS)]
    assert told == [
        ("1000", "0"), ("1001", "4"), ("1002", "4"), ("1001", ""), ("1002", ""), ("1007", ""),
    ]  # fmt: skip


def test_a_record_survives_the_file(pen: Pen, tmp_path: Path) -> None:
    sent = record(
        Status.FAILED, failure_class=FailureClass.STREAM_ERROR, message='a "quoted", 中\nsentence', ttft_s=0.1234567,
        output_tokens=0, http_status=200, flags="bursty;no_done",
    )  # fmt: skip
    pen.absorb(report(records=ended(sent)), 1001.0)
    (row,) = rows(tmp_path, REQUESTS)
    assert row == {name: cell(value) for name, value in zip(RECORD_COLUMNS, sent.values(), strict=True)}
    assert (row["message"], row["ttft_s"]) == ('a "quoted", 中 sentence', "0.123457")
    assert (row["output_tokens"], row["tpot_s"]) == ("0", ""), "unknown is empty, 0 is 0"


def test_an_answer_without_a_first_token_has_no_say_in_the_ttft(pen: Pen) -> None:
    pen.absorb(report(records=ended(record(e2e_s=2.0), record(e2e_s=2.0))), 1001.0)
    assert pen.ttft_p95_s is None
    pen.absorb(report(records=ended(record(e2e_s=2.0, ttft_s=0.5), record(e2e_s=1.0))), 1002.0)
    assert pen.ttft_p95_s == 0.5


def test_histograms_and_health_go_to_their_files(pen: Pen, tmp_path: Path) -> None:
    pen.absorb(report(histograms=[[2, 1000, "interactive", "itl", 3, 0.06, 0.01, 0.03, "-100:3"]], users=7), 1001.2)
    (histogram,) = rows(tmp_path, HISTOGRAMS)
    assert list(histogram.values()) == [
        "2", "1000", "1000", "interactive", "itl", "3", "0.06", "0.01", "0.03", "-100:3", "w0",
    ]  # fmt: skip
    (worker,) = rows(tmp_path, WORKERS)
    assert list(worker.values()) == ["1001", "w0", "7", "0", "0.0001", "0.004", "0.25", "running"]


def test_a_step_is_a_row_at_once(pen: Pen, tmp_path: Path) -> None:
    pen.write_step([1, 1, 8, None, 1000.0, 1001.0, 1003.0, 1093.0, "hold"])
    (row,) = rows(tmp_path, STEPS)
    assert row["offered_req_s"] == ""
    assert (row["target"], row["hold_to"], row["ended_by"]) == ("8", "1093", "hold")


drawn_counts = st.tuples(
    st.integers(990, 1015),
    st.sampled_from("ab"),
    st.lists(st.integers(0, 9), min_size=len(COUNTERS), max_size=len(COUNTERS)),
)
drawn_reports = st.lists(
    st.tuples(
        st.sampled_from(["w0", "w1", "w2"]),
        st.lists(drawn_counts, max_size=4),
        st.lists(st.sampled_from(list(Status)), max_size=4),
        st.booleans(),
    ),
    max_size=12,
)


@given(drawn_reports)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_nothing_is_lost_and_nothing_counted_twice(tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]) -> None:
    path = tmp_path_factory.mktemp("conserved")
    pen = Pen(RunDirectory.create(path / "run"))
    expected: Counter[str] = Counter()
    now = 1000.0
    for worker, cells, statuses, ticks in drawn:
        now += 0.7
        told = [[second, scenario, *by] for second, scenario, by in cells]
        pen.absorb(report(worker, counters=told, records=ended(*(record(status) for status in statuses))), now)
        for _, _, by in cells:
            expected.update(dict(zip(COUNTERS, by, strict=True)))
        if ticks:
            pen.tick(now)
    pen.finish(now)
    written: Counter[str] = Counter()
    for row in rows(path, SECONDS):
        written.update({name: int(row[name]) for name in COUNTERS})
    assert +written == +expected
    assert pen.totals.started == expected["started"]
    statuses = [status for _, _, several, _ in drawn for status in several]
    assert [row["status"] for row in rows(path, REQUESTS)] == [str(status) for status in statuses]
    first_rows = [row["second"] for row in rows(path, SECONDS) if row["users"]]
    assert len(set(first_rows)) == len(first_rows)


def test_texts_to_be_counted_wait_in_a_file_of_their_own_that_is_there_only_then(pen: Pen, tmp_path: Path) -> None:
    pen.absorb(report(), 1001.0)
    assert not (tmp_path / "run" / TEXTS).exists()
    text = "two\nlines,\u2028and \u4e2d"
    pen.absorb(report(records=ended(record()), texts=[["w0-1", 1000.25, text, [[1000, 2]]]]), 1002.0)
    (line,) = (tmp_path / "run" / TEXTS).read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"id": "w0-1", "started_at": "1000.25", "text": text, "seconds": [[1000, 2]]}
