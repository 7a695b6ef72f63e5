"""What a process has seen: every request counted once, every token in its second, the mean in flight."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.histogram import Histogram
from loadband.load.ledger import COUNTERS, Ledger, Open
from loadband.load.token_clock import TokenClock
from loadband.record import Record, Status
from tests.load.records import opened, record, tokens_at


class Wall:
    """A clock that a test moves."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def counters(report: dict[str, Any]) -> dict[tuple[int, str], dict[str, int]]:
    """(second, scenario) -> the counters that are not 0."""
    return {
        (second, scenario): {name: by for name, by in zip(COUNTERS, counts, strict=True) if by}
        for second, scenario, *counts in report["counters"]
    }


def test_a_request_is_counted_where_it_began_and_where_it_ended() -> None:
    wall = Wall(1000.2)
    ledger = Ledger(wall)
    ledger.begin(opened())
    wall.now = 1003.7
    ledger.end(record(output_tokens=10, prompt_tokens=7), tokens_at(1001.5, 1001.9, 1003.1, 1003.6))
    assert counters(ledger.take()) == {
        (1000, "interactive"): {"started": 1},
        (1001, "interactive"): {"events": 2, "output_tokens_ok": 5, "prompt_tokens": 7},
        (1003, "interactive"): {"ok": 1, "events": 2, "output_tokens_ok": 5},
    }


ENDS = [
    (Status.OK, "ok", "output_tokens_ok", "a success"),
    (Status.FAILED, "failed", "output_tokens_failed", "a failure's tokens are kept apart"),
    (Status.CUT, "cut", "output_tokens_cut", "so are those of a request cut at the end"),
]


@pytest.mark.parametrize(("status", "counter", "tokens", "sentence"), ENDS, ids=[row[3] for row in ENDS])
def test_an_end_and_its_tokens(status: Status, counter: str, tokens: str, sentence: str) -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(status, output_tokens=3), tokens_at(1000.5))
    assert counters(ledger.take()) == {(1000, "interactive"): {"started": 1, counter: 1, "events": 1, tokens: 3}}


def test_a_request_that_was_hung_up_on_purpose_has_a_counter_of_its_own() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(Status.ABANDONED, output_tokens=3), tokens_at(1000.5))
    report = ledger.take()
    assert counters(report) == {
        (1000, "interactive"): {"started": 1, "abandoned": 1, "events": 1, "output_tokens_cut": 3}
    }
    assert (len(report["records"]), report["in_flight_now"]) == (1, 0)


def test_tokens_that_no_event_brought_go_to_the_second_of_the_end() -> None:
    ledger = Ledger(Wall(1009.0))
    ledger.begin(opened())
    ledger.end(record(output_tokens=3, prompt_tokens=4), TokenClock(0.0))
    assert counters(ledger.take()) == {
        (1009, "interactive"): {"started": 1, "ok": 1, "output_tokens_ok": 3, "prompt_tokens": 4}
    }


def test_unknown_tokens_add_nothing() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(Status.FAILED), TokenClock(0.0))
    assert counters(ledger.take()) == {(1000, "interactive"): {"started": 1, "failed": 1}}


def test_gaps_of_an_answer_in_lumps_are_in_no_histogram() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(Status.OK, step_end=4), tokens_at(*[1000.0] * 10, *[1001.0] * 10))
    assert ledger.take()["histograms"] == []


def test_gaps_of_successes_alone_enter_the_histogram() -> None:
    ledger = Ledger(Wall())
    for status in (Status.OK, Status.FAILED, Status.CUT):
        ledger.begin(opened())
        ledger.end(record(status, step_end=4), tokens_at(1000.0, 1000.1, 1000.3))
    ((step, second, scenario, metric, count, total, minimum, maximum, buckets),) = ledger.take()["histograms"]
    assert (step, second, scenario, metric, count) == (4, 1000, "interactive", "itl", 2)
    assert (round(total, 9), round(minimum, 9), round(maximum, 9)) == (0.3, 0.1, 0.2)
    assert Histogram.decode(count, total, minimum, maximum, buckets).percentile(100) == pytest.approx(0.2, rel=0.01)


def test_an_end_before_the_first_step_is_of_step_0() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(step=None, step_end=None), tokens_at(1000.0, 1000.1))
    assert [row[0] for row in ledger.take()["histograms"]] == [0]


def test_a_metric_without_values_has_no_histogram() -> None:
    ledger = Ledger(Wall())
    ledger.observe("lag", [], 1, 1000)
    assert ledger.take()["histograms"] == []
    ledger.observe("lag", [0.001, 0.002], 1, 1000)
    ledger.observe("lag", [0.003], 1, 1000)
    assert [row[:5] for row in ledger.take()["histograms"]] == [[1, 1000, "", "lag", 3]]


FLIGHTS: list[tuple[list[tuple[float, str]], float, str]] = [
    ([(10, "take")], 0.0, "nothing"),
    ([(0, "begin"), (10, "take")], 1.0, "one all the time"),
    ([(5, "begin"), (10, "take")], 0.5, "one for half the time"),
    ([(2, "begin"), (4, "begin"), (6, "end"), (8, "end"), (10, "take")], 0.8, "two that overlap"),
    ([(0, "begin"), (10, "take"), (15, "end"), (20, "take")], 0.5, "the mean is of the last interval alone"),
    ([(0.25, "begin"), (0.5, "take")], 0.5, "an interval of less than a second"),
    ([(0, "begin"), (0, "take")], 1.0, "no time has passed: what is open now"),
]


@pytest.mark.parametrize(("moments", "mean", "sentence"), FLIGHTS, ids=[row[2] for row in FLIGHTS])
def test_the_mean_in_flight_is_weighted_by_time(moments: list[tuple[float, str]], mean: float, sentence: str) -> None:
    wall = Wall()
    ledger = Ledger(wall)
    act: dict[str, Callable[[], Any]] = {
        "begin": lambda: ledger.begin(opened()),
        "end": lambda: ledger.end(record(), TokenClock(0.0)),
        "take": ledger.take,
    }
    told: Any = None
    for at, what in moments:
        wall.now = 1000.0 + at
        told = act[what]()
    assert told["in_flight"] == pytest.approx(mean), sentence
    assert told["in_flight_now"] == sum(1 if what == "begin" else -1 for _, what in moments if what != "take")


def test_a_pause_between_requests_is_not_in_flight() -> None:
    """Twenty users, answers of 100 ms, pauses of 400 ms: four in flight."""
    wall = Wall(0.0)
    ledger = Ledger(wall)
    moments = [(round(0.025 * user + 0.5 * turn, 6), "begin") for user in range(20) for turn in range(20)]
    moments += [(round(at + 0.1, 6), "end") for at, _ in moments]
    for at, what in sorted(moments):
        wall.now = at
        if what == "begin":
            ledger.begin(opened())
        else:
            ledger.end(record(), TokenClock(0.0))
    wall.now = 10.0
    assert ledger.take()["in_flight"] == pytest.approx(4.0, rel=0.05)


def test_open_time_lies_in_its_seconds() -> None:
    wall = Wall(1000.5)
    ledger = Ledger(wall)
    wall.now = 1000.75
    ledger.begin(opened())
    wall.now = 1002.25
    ledger.begin(opened(id="w0-2"))
    wall.now = 1002.5
    assert ledger.take()["open_seconds"] == [[1000, 0.25], [1001, 1.0], [1002, 0.75]]
    wall.now = 1003.0
    assert ledger.take()["open_seconds"] == [[1002, 1.0], [1003, 0.0]], "1002 is told in full"
    assert msgpack.unpackb(msgpack.packb(ledger.take()["open_seconds"])) == [[1003, 0.0]], "as another process sees it"


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30))
def test_open_seconds_add_up_to_the_time_that_requests_were_open(lengths: list[float]) -> None:
    wall, told = Wall(1000.3), defaultdict[int, float](float)
    ledger = Ledger(wall)
    for number, length in enumerate(lengths):
        ledger.begin(opened(id=f"w0-{number}"))
        wall.now += length
        if number % 3 == 2:
            for second, open_seconds in ledger.take()["open_seconds"]:
                told[second] += open_seconds
        ledger.end(record(id=f"w0-{number}"), tokens_at())
    for second, open_seconds in ledger.take()["open_seconds"]:
        told[second] += open_seconds
    assert sum(told.values()) == pytest.approx(sum(lengths), abs=1e-9)
    assert max(told.values()) <= 1.0 + 1e-9, "one request is open at a time"
    assert min(told) == 1000
    assert max(told) == int(wall.now)


def test_taking_empties_but_forgets_nobody_in_flight() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(), tokens_at(1000.0, 1000.1))
    ledger.begin(opened())
    assert ledger.take()["records"]
    report = ledger.take()
    assert [report[name] for name in ("counters", "histograms", "records")] == [[], [], []]
    assert (report["in_flight"], report["in_flight_now"], len(report["open"])) == (1.0, 1, 1)


def test_a_report_travels_and_comes_back() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    sent = record(output_tokens=5, prompt_tokens=1_000_000_000, ttft_s=0.1, message="忙", finish_reason="stop")
    ledger.end(sent, tokens_at(1000.0, 1000.1))
    ledger.observe("lag", [0.001], 1, 1000)
    report = ledger.take()
    assert msgpack.unpackb(msgpack.packb(report)) == report
    assert Record.of(msgpack.unpackb(msgpack.packb(report))["records"][0]) == sent


requests = st.lists(
    st.tuples(
        st.sampled_from([Status.OK, Status.FAILED, Status.CUT]),
        st.sampled_from(["interactive", "long_context"]),
        st.floats(1000, 1010),
        st.lists(st.floats(0, 5), max_size=6).map(sorted),
        st.none() | st.integers(0, 300),
        st.booleans(),
    ),
    max_size=25,
)


@given(requests)
def test_what_began_is_what_ended_and_every_token_is_booked_once(drawn: list[Any]) -> None:
    wall = Wall()
    ledger = Ledger(wall)
    reports: list[dict[str, Any]] = []
    expected: Counter[str] = Counter()
    for status, scenario, at, gaps, tokens, take in drawn:
        wall.now = max(wall.now, at)
        ledger.begin(opened(scenario))
        clock = tokens_at(*(wall.now + gap for gap in gaps))
        wall.now += gaps[-1] if gaps else 0.0
        ledger.end(record(status, scenario, output_tokens=tokens), clock)
        expected.update({"started": 1, status.value: 1, "events": len(gaps)})
        expected[f"output_tokens_{status}"] += tokens or 0
        if take:
            reports.append(ledger.take())
    reports.append(ledger.take())
    booked: Counter[str] = Counter()
    for report in reports:
        for counts in counters(report).values():
            booked.update(counts)
    assert booked == +expected
    assert booked["started"] == booked["ok"] + booked["failed"] + booked["cut"]
    assert sum(len(report["records"]) for report in reports) == len(drawn)


def test_what_is_in_flight_is_told_until_it_ends() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened(id="w0-1"))
    ledger.begin(opened(id="w0-2", user=7))
    assert [row[0] for row in ledger.take()["open"]] == ["w0-1", "w0-2"]
    ledger.end(record(id="w0-1"), tokens_at(1000.5))
    (row,) = ledger.take()["open"]
    lost = Open(*row).lost("w0")
    assert (lost.id, lost.user, lost.status, lost.worker, lost.step_end) == ("w0-2", 7, Status.LOST, "w0", None)
    assert msgpack.packb(row)


def test_a_text_to_be_counted_is_told_once_with_the_seconds_of_its_events() -> None:
    ledger = Ledger(Wall())
    ledger.begin(opened())
    ledger.end(record(output_tokens=3), tokens_at(1000.5, 1000.6, 1001.2), "a text")
    assert ledger.take()["texts"] == [["w0-1", 1000.0, "a text", [(1000, 2), (1001, 1)]]]
    assert ledger.take()["texts"] == []
