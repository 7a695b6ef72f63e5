"""A worker's estimate of the master's clock: never further off than it says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.clock_sync import ClockSync

seconds = st.floats(0, 0.5)


class Runner:
    """A worker's or master's runner without a wire."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, str | None]] = []
        self.handlers: dict[str, Any] = {}

    def register_message(self, name: str, handler: Any) -> None:
        self.handlers[name] = handler

    def send_message(self, name: str, data: Any, client_id: str | None = None) -> None:
        self.sent.append((name, data, client_id))


def sync() -> ClockSync:
    return ClockSync(Runner())  # type: ignore[arg-type]


@given(st.floats(-1e4, 1e4), st.lists(st.tuples(seconds, seconds), min_size=1, max_size=10))
def test_the_true_offset_lies_within_the_error(offset: float, trips: list[tuple[float, float]]) -> None:
    clock = sync()
    now = 1_800_000_000.0
    for there, back in trips:
        clock.learn(now + offset, now + there, now + there + back + offset)
        now += 1
    assert clock.offset_s is not None and clock.error_s is not None
    assert abs(clock.offset_s - offset) <= clock.error_s + 1e-6
    assert clock.error_s <= min(there + back for there, back in trips) / 2 + 1e-6


def test_a_worker_on_the_masters_machine_keeps_its_own_clock() -> None:
    clock = sync()
    own = clock.wall_offset()
    clock.learn(100.0, 100.0004, 100.0006)
    assert clock.wall_offset() == pytest.approx(own, abs=1e-4)


def test_a_worker_with_another_clock_is_corrected() -> None:
    clock = sync()
    own = clock.wall_offset()
    clock.learn(107.0, 100.001, 107.002)
    assert clock.offset_s == pytest.approx(7.0)
    assert clock.error_s == pytest.approx(0.001)
    assert clock.wall_offset() == pytest.approx(own - 7.0, abs=1e-4)


def test_without_a_reply_nothing_is_claimed() -> None:
    clock = sync()
    assert (clock.offset_s, clock.error_s) == (None, None)
