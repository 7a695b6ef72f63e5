"""Records, finished token clocks, workers' reports and sessions for tests that book them.

Knows: which fields each of them needs. Must not know: any test.
"""

from typing import Any

from loadband.load.ledger import COUNTERS, Open
from loadband.load.session import Session, Work
from loadband.load.token_clock import TokenClock
from loadband.record import Record, Status


def record(status: str = Status.OK, scenario: str = "interactive", **fields: Any) -> Record:
    """A record with these fields; what is not said is as of a first request of user 0 in step 1."""
    base: dict[str, Any] = {
        "id": "w0-1", "worker": "w0", "kind": "chat", "step": 1, "step_end": 1, "repeat": 1, "user": 0,
        "conversation": None, "turn": None, "started_at": 1000.0,
    }  # fmt: skip
    return Record(scenario=scenario, status=status, **{**base, **fields})


def opened(scenario: str = "interactive", id: str = "w0-1", user: int = 0) -> Open:  # noqa: A002  its column's name
    """A request in flight of a user in step 1."""
    return Open(id, scenario, "chat", 1, 1, user, None, None, 1000.0)


def tokens_at(*at: float) -> TokenClock:
    """A clock that saw generated events at these Unix seconds."""
    clock = TokenClock(at[0] if at else 0.0)
    for moment in at:
        clock.generated(moment, answer=True)
    return clock


def report(worker: str = "w0", **fields: Any) -> dict[str, Any]:
    base = {
        "worker": worker, "users": 0, "in_flight": 0.0, "in_flight_now": 0, "open_seconds": [], "gate_epoch": 0,
        "records": [], "open": [], "texts": [], "counters": [], "histograms": [], "lag_p50_s": 0.0001,
        "lag_p99_s": 0.004, "cpu": 0.25, "state": "running",
    }  # fmt: skip
    return {**base, **fields}


def counts(second: int, scenario: str = "interactive", **by: int) -> list[Any]:
    return [second, scenario, *(by.get(name, 0) for name in COUNTERS)]


def ended(*records: Record) -> list[list[Any]]:
    return [each.values() for each in records]


def session_of(
    workers: int = 1, index: int = 0, offset: float = 0.0, key_variable: str | None = None, retries: int = 0
) -> Session:
    """The session of worker `index` of `workers`."""
    work = Work(
        host="http://target:8000", model="m", run_id="run", seed=1, prompt_tokens="50-200", max_tokens="64-448",
        think_time="0", temperature=0.7, ignore_eos=True, token_table={}, nonce="run", shared_prefix=0, extra_body="{}",
        settings={}, adapters=[], session_header=None, long_context_tokens="2048-8192", turns="2-6", mix={},
        arrival="poisson", abandon=None, dataset=None, api="openai-chat", path=None, stream=True, include_usage=True,
        counts_texts=False,
        context_limit=None, workers=workers, key_variable=key_variable,
        retries=retries, timeouts={"connect_s": 1.0, "first_token_s": 1.0, "idle_s": 1.0, "total_s": 1.0},
    )  # fmt: skip
    return Session(work, f"w{index}", index, offset)
