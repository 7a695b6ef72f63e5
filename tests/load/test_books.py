"""The books of a killed run: what was in flight is found, and whatever a kill left unwritten, they balance."""

import math
from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from loadband.load.books import COUNTED, Balance, Told, balance


def counts(**by: int) -> list[int]:
    return [by.get(name, 0) for name in COUNTED]


def test_what_started_and_has_no_record_was_in_flight() -> None:
    told = [Told("chat", "ok", 100, 102), Told("chat", "failed", 101, 101)]
    counted = [
        (100, "chat", counts(started=2)),
        (101, "chat", counts(started=2, failed=1)),
        (102, "chat", counts(ok=1)),
    ]
    assert balance(told, counted, 102) == Balance(((100, "chat"), (101, "chat")), ())


def test_what_was_not_counted_any_more_is_added() -> None:
    told = [Told("chat", "ok", 100, 102), Told("chat", "ok", 102, 103), Told("code", "ok", 102, 102)]
    counted = [(100, "chat", counts(started=1))]
    assert balance(told, counted, 101) == Balance((), (
        (102, "chat", "ok", 1), (103, "chat", "ok", 1), (102, "chat", "started", 1), (102, "code", "ok", 1),
        (102, "code", "started", 1),
    ))  # fmt: skip
    assert balance(told, counted, 101).told_until == 102


def test_a_request_counted_a_second_beside_its_record_is_not_lost() -> None:
    told = [Told("chat", "ok", 100, 102)]
    counted = [(101, "chat", counts(started=1)), (102, "chat", counts(ok=1))]
    assert balance(told, counted, 102) == Balance((), ())
    assert balance(told, counted, 102).told_until == math.inf


@dataclass(frozen=True)
class Request:
    scenario: str
    start: float
    length: float


REQUESTS = st.lists(
    st.builds(Request, st.sampled_from(["chat", "code"]), st.floats(0, 40), st.floats(0.01, 15)), max_size=60
)


@given(REQUESTS, st.floats(5, 40), st.floats(0, 1))
def test_after_a_kill_at_any_moment_every_request_that_was_counted_or_told_ended_in_one_way(
    requests: list[Request], killed: float, told_before: float
) -> None:
    """Records reach the disk up to `told_before` seconds before the kill, counters of whole seconds a second later."""
    last = math.floor(killed) - 1
    begun = [each for each in requests if each.start < killed - told_before]
    ended = [each for each in begun if each.start + each.length < killed - told_before]
    told = [Told(each.scenario, "ok", int(each.start), int(each.start + each.length)) for each in ended]
    counted = [(int(each.start), each.scenario, counts(started=1)) for each in begun if int(each.start) <= last]
    counted += [
        (int(each.start + each.length), each.scenario, counts(ok=1))
        for each in ended
        if int(each.start + each.length) <= last
    ]
    found = balance(told, counted, last)
    in_flight = Counter(
        (int(each.start), each.scenario) for each in begun if each not in ended and each.start < last + 1
    )
    assert Counter(found.lost) == in_flight
    for name in ("started", "ok"):
        place = COUNTED.index(name)
        total = sum(row[place] for *_, row in counted) + sum(
            by for *_, counter, by in found.counters if counter == name
        )
        assert total == len(told) + (len(found.lost) if name == "started" else 0)
