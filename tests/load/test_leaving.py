"""Users who leave: the share and the moment as asked, the same requests again, and a server that sees them go."""

import statistics
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadband.errors import UsageError
from loadband.load.connection import Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.leaving import Leaving, parse_abandon
from loadband.load.request import request_head, whole_request
from loadband.record import Status
from tests.load.asking import Asker
from tests.oracle import Oracle, answer, deaf_port, hang, tokens


def test_the_share_is_as_asked_and_the_same_again() -> None:
    leaving = parse_abandon("5%@2s")
    drawn = [leaving.patience_s(1, user, conversation, 1) for user in range(100) for conversation in range(100)]
    assert statistics.fmean(patience is not None for patience in drawn) == pytest.approx(0.05, abs=0.008)
    assert set(drawn) == {None, 2.0}
    again = [leaving.patience_s(1, user, conversation, 1) for user in range(100) for conversation in range(100)]
    assert drawn == again
    assert Leaving().patience_s(1, 1, 1, 1) is None
    assert parse_abandon("100% @ 500ms") == Leaving(1.0, 0.5)


@pytest.mark.parametrize("text", ["", "5%", "5@2s", "0%@2s", "101%@2s", "5%@0s", "5%@soon", "-1%@2s"])
def test_what_is_not_understood_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_abandon(text)
    assert "\n" not in str(refused.value)


@dataclass
class Impatient(Asker):
    """Hangs up after a while."""

    url: str
    leave_s: float

    def __post_init__(self) -> None:
        super().__init__(self.url)

    def exchange(self, words: str = "hello") -> Exchange:  # noqa: ARG002  the same whatever is asked
        """The next request, not yet sent."""
        return Exchange(self.connection, self.dialect, self.timeouts, leave_s=self.leave_s)


def test_who_leaves_in_mid_answer_keeps_the_tokens_that_came(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=50, itl_ms=20, n=500))
    exchange = Impatient(oracle.url, 0.5).ask()
    assert exchange.status == Status.ABANDONED
    assert exchange.failure is None
    log = oracle.wait_until(lambda log: log.in_flight == 0)
    (request,) = log.requests
    assert request.end == "aborted", "the server saw it"
    assert exchange.end - exchange.start == pytest.approx(0.5, abs=0.25)
    assert 0 <= request.tokens - exchange.tokens.timing().events <= 3, "none of what came is lost"


def test_who_leaves_before_the_first_token(oracle: Oracle) -> None:
    oracle.script(answer(hang(30_000)))
    exchange = Impatient(oracle.url, 0.3).ask()
    assert (exchange.status, exchange.failure) == (Status.ABANDONED, None)
    assert oracle.wait_until(lambda log: log.in_flight == 0).ends == {"aborted": 1}


def test_who_would_leave_later_has_the_whole_answer(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=1, n=20))
    impatient = Impatient(oracle.url, 5.0)
    assert [impatient.ask().status for _ in range(3)] == [Status.OK] * 3
    assert oracle.log().connections == 1, "and its connection is kept"


def test_who_leaves_while_it_connects() -> None:
    with deaf_port() as port:
        address, dialect = parse_address(f"http://127.0.0.1:{port}"), dialect_of("openai-chat")
        exchange = Exchange(Connection(address, 10.0), dialect, Timeouts(), leave_s=0.3)
        exchange.run(whole_request(request_head(dialect.path(""), address, None), b"{}"))
    assert exchange.status == Status.ABANDONED
    assert exchange.end - exchange.start < 5.0


def test_a_users_connection_serves_again_after_it_left_once(oracle: Oracle, tmp_path: Path) -> None:
    del tmp_path
    oracle.script(tokens(ttft_ms=400, itl_ms=1, n=5))
    impatient = Impatient(oracle.url, 0.1)
    assert impatient.ask().status == Status.ABANDONED
    impatient.leave_s = 10.0
    assert impatient.ask().status == Status.OK
