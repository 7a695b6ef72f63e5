"""Records, finished token clocks and workers' reports for tests that book them.

Knows: which fields each of them needs. Must not know: any test.
"""

from typing import Any

from loadband.load.ledger import COUNTERS
from loadband.load.token_clock import TokenClock
from loadband.record import Record, Status


def record(status: str = Status.OK, scenario: str = "interactive", **fields: Any) -> Record:
    """A record with these fields; what is not said is as of a first request of user 0 in step 1."""
    base: dict[str, Any] = {
        "id": "w0-1", "worker": "w0", "kind": "chat", "step": 1, "step_end": 1, "repeat": 1, "user": 0,
        "conversation": None, "turn": None, "started_at": 1000.0,
    }  # fmt: skip
    return Record(scenario=scenario, status=status, **{**base, **fields})


def tokens_at(*at: float) -> TokenClock:
    """A clock that saw generated events at these Unix seconds."""
    clock = TokenClock(at[0] if at else 0.0)
    for moment in at:
        clock.generated(moment, answer=True)
    return clock


def report(worker: str = "w0", **fields: Any) -> dict[str, Any]:
    base = {
        "worker": worker, "users": 0, "in_flight": 0.0, "in_flight_now": 0, "gate_epoch": 0, "records": [],
        "counters": [], "histograms": [], "lag_p50_s": 0.0001, "lag_p99_s": 0.004, "cpu": 0.25, "state": "running",
    }  # fmt: skip
    return {**base, **fields}


def counts(second: int, scenario: str = "interactive", **by: int) -> list[Any]:
    return [second, scenario, *(by.get(name, 0) for name in COUNTERS)]


def ended(*records: Record) -> list[list[Any]]:
    return [each.values() for each in records]
