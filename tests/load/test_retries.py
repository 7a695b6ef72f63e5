"""What is asked again, when, and what the record of each attempt says."""

import time
from email.utils import formatdate

import pytest

from loadband.errors import UsageError
from loadband.load.booking import Asked, record_of, wait_before_retry
from loadband.load.exchange import Exchange
from loadband.load.retries import LONGEST_WAIT_S, Retries, asked_wait_s, parse_retries
from loadband.load.session import StepMark
from loadband.record import Status
from tests.load.asking import Asker
from tests.load.records import session_of
from tests.oracle import Oracle, answer, at, content, done, finish
from tests.oracle.faults import breaks_off, error, throttled

NOW = 1_800_000_000.0


def wait(attempt: int = 1, kind: str | None = "throttled", told: str = "", most: int = 3) -> float | None:
    return Retries(most).wait_s(attempt, kind, told, NOW, "seed")


@pytest.mark.parametrize(
    "kind", ["throttled", "connect", "timeout_connect", "reset", "http_408", "http_500", "http_502", "http_504"]
)
def test_what_may_go_better_is_asked_again(kind: str) -> None:
    assert wait(kind=kind) is not None


@pytest.mark.parametrize(
    "kind",
    [None, "tls", "http_400", "http_401", "http_404", "context_length", "stream_error", "truncated", "empty",
     "not_a_stream", "protocol", "timeout_first_token", "timeout_idle", "timeout_total", "client"],
)  # fmt: skip
def test_all_else_is_not(kind: str | None) -> None:
    assert wait(kind=kind) is None


def test_no_more_often_than_asked() -> None:
    assert [wait(attempt, most=2) is not None for attempt in (1, 2, 3)] == [True, True, False]
    assert wait(most=0) is None


def test_waits_double_up_to_the_longest_and_spread_users() -> None:
    waits = [wait(attempt, most=10) or 0.0 for attempt in range(1, 11)]
    for attempt, found in enumerate(waits):
        full = min(0.5 * 2**attempt, LONGEST_WAIT_S)
        assert 0.75 * full <= found <= full
    assert len({Retries(1).wait_s(1, "throttled", "", NOW, f"{user}") for user in range(20)}) == 20


def test_what_the_server_asks_for_comes_first() -> None:
    assert wait(told="7") == 7.0
    assert wait(told="0") == 0.0
    assert wait(told=formatdate(NOW + 20, usegmt=True)) == pytest.approx(20.0)
    assert wait(told="180") is None, "longer than anybody would wait: the refusal stands"


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("", None), ("soon", None), ("-1", None), ("1e9", None), ("9" * 400, None), ("1.5", 1.5), ("nan", None),
     (formatdate(NOW - 20, usegmt=True), 0.0)],
)  # fmt: skip
def test_a_header_of_any_kind_is_read_or_passed_over(told: str, seconds: float | None) -> None:
    assert asked_wait_s(told, NOW) == seconds


@pytest.mark.parametrize("text", ["-1", "11", "two", "", "1.5"])
def test_a_wrong_number_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is no number of retries: write 0"):
        parse_retries(text)


def asked(attempt: int = 1) -> Asked:
    return Asked(
        id=f"w0-{attempt}", scenario="interactive", kind="chat", user=0, step=StepMark(), tokens_asked=None,
        max_tokens=16, think_s=None, in_flight=1, attempt=attempt,
    )  # fmt: skip


def test_each_attempt_has_a_record_and_both_times_are_told(oracle: Oracle) -> None:
    oracle.script(throttled(), answer(at(60, content("a"), finish(), done())))
    asker, session = Asker(oracle.url), session_of(retries=1)
    first = asker.ask()
    assert wait_before_retry(first, asked(), session) == 1.0
    time.sleep(0.3)
    second = Exchange(asker.connection, asker.dialect, asker.timeouts, first=first.first_start)
    second.run(asker.request())
    assert wait_before_retry(second, asked(2), session) is None
    refused = record_of(first, asked(), session, retried=True)
    good = record_of(second, asked(2), session)
    assert (refused.status, refused.failure_class, refused.attempts) == (Status.FAILED, "throttled", 1)
    assert refused.flags == "retried"
    assert (good.status, good.attempts, good.flags) == (Status.OK, 2, None)
    assert good.ttft_s is not None and good.felt_s is not None and good.e2e_s is not None
    assert 0.059 <= good.ttft_s < 0.3
    assert good.felt_s - good.e2e_s >= 0.3


def test_nothing_is_asked_again_once_a_token_came_or_unless_told_to(oracle: Oracle) -> None:
    oracle.script(breaks_off(2, 5), throttled(), breaks_off(0, 5), error(500, "x"))
    asker = Asker(oracle.url)
    broken, refused, reset, fault = (asker.ask() for _ in range(4))
    assert wait_before_retry(broken, asked(), session_of(retries=3)) is None
    assert wait_before_retry(refused, asked(), session_of()) is None
    assert wait_before_retry(reset, asked(), session_of(retries=3)) is not None
    assert wait_before_retry(fault, asked(), session_of(retries=3)) is not None


def test_a_user_who_will_have_left_by_then_does_not_ask_again(oracle: Oracle) -> None:
    oracle.script(throttled(2))
    asker = Asker(oracle.url)
    exchange = Exchange(asker.connection, asker.dialect, asker.timeouts, leave_s=1.5)
    exchange.run(asker.request())
    assert wait_before_retry(exchange, asked(), session_of(retries=3)) is None
