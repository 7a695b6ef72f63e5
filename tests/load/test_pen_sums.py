"""What the pen tells the ladder: sums over workers, the newest successes, whether the target is still there."""

from pathlib import Path

import pytest

from loadband.load.pen import GONE_AFTER_S, NEWEST, Pen
from loadband.record import FailureClass, Record, Status
from loadband.rundir import RunDirectory
from tests.load.records import counts, ended, opened, record, report


@pytest.fixture
def pen(tmp_path: Path) -> Pen:
    return Pen(RunDirectory.create(tmp_path / "run"))


def test_totals_and_the_newest_successes(pen: Pen) -> None:
    assert (pen.e2e_mean_s, pen.e2e_p95_s) == (None, None)
    fast = [record(e2e_s=1.0)] * 19 + [record(e2e_s=3.0)]
    others = [record(Status.FAILED, e2e_s=90.0, failure_class="reset"), record(Status.CUT, e2e_s=90.0)]
    pen.absorb(report(records=ended(*fast, *others), counters=[counts(1000, started=23)]), 1001.0)
    assert (pen.totals.started, pen.totals.ended, pen.totals.by_status["ok"]) == (23, 22, 20)
    assert pen.e2e_mean_s == pytest.approx(1.1), "failures and cuts have no say"
    assert pen.e2e_p95_s == 1.0
    pen.absorb(report(records=ended(*[record(e2e_s=5.0)] * NEWEST)), 1002.0)
    assert (pen.e2e_mean_s, pen.e2e_p95_s) == (5.0, 5.0), "old ones are forgotten"


def test_in_flight_is_known_when_every_process_told_since_the_gate_moved(pen: Pen) -> None:
    assert pen.in_flight_since(0, 0) is None, "nobody told anything"
    pen.absorb(report("w0", in_flight_now=2), 1001.0)
    assert pen.in_flight_since(0, 1) == 2
    assert pen.in_flight_since(0, 2) is None, "one of two"
    pen.absorb(report("w1", in_flight_now=3), 1001.0)
    assert pen.in_flight_since(0, 2) == 5
    assert pen.in_flight_since(1, 2) is None, "the gate moved since"
    pen.absorb(report("w0", in_flight_now=1, gate_epoch=1), 1002.0)
    assert pen.in_flight_since(1, 2) is None, "one of them has not heard of it"
    pen.absorb(report("w1", in_flight_now=0, gate_epoch=1), 1002.0)
    assert pen.in_flight_since(1, 2) == 1


def test_a_worker_that_fell_silent_counts_no_more(pen: Pen) -> None:
    pen.absorb(report("w0", users=5, in_flight_now=5), 1000.0)
    pen.absorb(report("w1", users=4, in_flight_now=4), 1000.0)
    for second in range(1001, 1000 + int(GONE_AFTER_S)):
        pen.absorb(report("w1", users=4, in_flight_now=1), float(second))
        pen.tick(second + 0.1)
        assert pen.users == 9, "it may only be late"
    pen.tick(1000.0 + GONE_AFTER_S)
    assert pen.users == 4
    assert pen.in_flight_since(0, 2) is None
    assert pen.in_flight_since(0, 1) == 1
    pen.absorb(report("w0", users=5), 1000.0 + GONE_AFTER_S)
    assert pen.users == 9, "it was only late"


def refused(failure_class: str = FailureClass.CONNECT) -> Record:
    return record(Status.FAILED, failure_class=failure_class)


LOST: list[tuple[list[Record], bool, str]] = [
    ([], False, "nothing was asked"),
    ([refused(), refused()], False, "two refusals"),
    ([refused(), refused(FailureClass.TIMEOUT_CONNECT), refused(FailureClass.TLS)], True, "three in a row"),
    ([refused(), refused(), record(), refused(), refused()], False, "an answer among them"),
    ([refused(), refused(), refused("http_500"), refused()], False, "a refusal by HTTP is an answer"),
    ([refused(), refused(), record(Status.CUT), refused()], True, "a cut request says nothing"),
    ([refused(), refused(), refused(FailureClass.CLIENT), refused()], True, "nor does a client without descriptors"),
    ([refused(), refused(), refused(), record()], False, "it came back"),
]


@pytest.mark.parametrize(("records", "lost", "sentence"), LOST, ids=[row[2] for row in LOST])
def test_a_target_that_went_away(pen: Pen, records: list[Record], lost: bool, sentence: str) -> None:
    for second, each in enumerate(records):
        pen.absorb(report(records=ended(each)), 1001.0 + second)
    pen.tick(1010.0)
    assert pen.target_lost is lost, sentence


def test_refusals_of_one_moment_are_no_lost_target(pen: Pen) -> None:
    pen.absorb(report(records=[refused().values() for _ in range(50)]), 1001.0)
    assert not pen.target_lost
    pen.tick(1004.0)
    assert pen.target_lost


def test_tokens_by_whole_seconds(pen: Pen) -> None:
    pen.absorb(report(counters=[
        counts(1000, output_tokens_ok=5), counts(1002, output_tokens_ok=7, output_tokens_cut=1, output_tokens_failed=9),
    ]), 1003.0)  # fmt: skip
    assert pen.tokens_between(1000.0, 1003.0) == [5.0, 0.0, 8.0]
    assert pen.tokens_between(1000.5, 1002.9) == [0.0], "only seconds that lie inside as a whole"
    assert pen.tokens_between(1002.0, 1002.0) == []
    assert pen.tokens_between(1002.0, 1000.0) == []


def test_what_a_dead_worker_had_in_flight_is_lost(pen: Pen) -> None:
    open_rows = [list(opened(id=f"w1-{n}")) for n in range(3)]
    pen.absorb(report("w0", users=5, in_flight_now=5), 1001.0)
    pen.absorb(report("w1", users=3, in_flight_now=3, open=open_rows, counters=[counts(1000, started=3)]), 1001.0)
    assert pen.users == 8
    assert pen.lose("w1", 1005.0) == 3
    assert pen.users == 5
    assert pen.totals.by_status == {Status.LOST: 3}
    assert pen.totals.started == pen.totals.ended
