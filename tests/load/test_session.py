"""What the users of a process share: their numbers over all workers, their turn, their key."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.session import StepMark
from tests.load.records import session_of


@given(st.integers(1, 8), st.integers(1, 40))
def test_users_are_numbered_over_all_workers(workers: int, users: int) -> None:
    """The k-th user of worker w of W is k * W + w: no number twice, none left out."""
    each = [session_of(workers, index) for index in range(workers)]
    numbers = Counter(each[n % workers].next_user() for n in range(users))
    assert numbers == Counter(range(users))


def test_a_requests_id_names_its_worker() -> None:
    session = session_of(2, 1)
    assert [session.next_request_id() for _ in range(3)] == ["w1-1", "w1-2", "w1-3"]


TURNS: list[tuple[int, float, str]] = [
    (3, 0.0, "a user of the level before waits for nobody"),
    (4, 0.0, "the first new user begins at once"),
    (6, 5.0, "the third of four half-way"),
    (7, 7.5, "the last before the end"),
    (8, 0.0, "a user beyond the level is none of it"),
]


@pytest.mark.parametrize(("user", "waited", "sentence"), TURNS, ids=[row[2] for row in TURNS])
def test_new_users_begin_one_after_the_other(user: int, waited: float, sentence: str) -> None:
    session = session_of()
    session.step = StepMark(number=2, first=4, target=8, spread_s=10.0)
    assert session.turn_s(user) == waited, sentence
    session.step = StepMark(number=2, first=4, target=8)
    assert session.turn_s(user) == 0, "without a spread nobody waits"


def test_a_key_comes_from_the_named_variable_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADBAND_API_KEY", "sk-real")
    monkeypatch.delenv("OTHER_KEY", raising=False)
    assert session_of(key_variable=None).key is None
    assert b"sk-real" not in session_of(key_variable=None).head
    assert session_of(key_variable="OTHER_KEY").key is None
    assert session_of(key_variable="LOADBAND_API_KEY").key == "sk-real"
    assert b"Authorization: Bearer sk-real\r\n" in session_of(key_variable="LOADBAND_API_KEY").head


def test_a_report_says_whose_it_is_and_which_gate_it_knows() -> None:
    session = session_of(2, 1)
    assert session.gate.is_set()
    session.gate_epoch = 3
    report = session.take_report()
    assert (report["worker"], report["gate_epoch"], report["records"]) == ("w1", 3, [])
