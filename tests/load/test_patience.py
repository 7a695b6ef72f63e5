"""A server that is asked before load and says when to come back is asked again then, and no other."""

import functools

import pytest

from loadband.load.exchange import Exchange
from loadband.load.says import ServerError
from loadband.load.told import ATTEMPTS, asked_patiently, next_step
from loadband.record import FailureClass, Status
from tests.load.asking import Asker
from tests.oracle import Oracle, answer, at, content, done, finish, rule
from tests.oracle.faults import throttled

GOOD = answer(at(0, content("A"), finish(), done()))


def asked(oracle: Oracle) -> list[Exchange]:
    asker = Asker(oracle.url)
    return asked_patiently(functools.partial(asker.exchange), asker.request())


def test_a_short_wait_that_is_asked_for_is_waited(oracle: Oracle) -> None:
    oracle.script(rule(throttled(retry_after_s=1), GOOD))
    first, second = asked(oracle)
    assert first.failure is not None and first.failure.failure_class == FailureClass.THROTTLED
    assert second.status == Status.OK
    assert second.start - first.end >= 1
    assert len(oracle.log().requests) == 2


@pytest.mark.parametrize("wait_s", [11, 3600])
def test_who_wants_to_be_left_alone_is(oracle: Oracle, wait_s: int) -> None:
    oracle.script(throttled(retry_after_s=wait_s))
    (only,) = asked(oracle)
    assert only.failure is not None
    assert next_step(only.failure).startswith("wait until it has room")


def test_no_server_is_asked_for_ever(oracle: Oracle) -> None:
    oracle.script(throttled(retry_after_s=0))
    assert len(asked(oracle)) == ATTEMPTS


def test_what_is_no_refusal_for_load_is_an_answer(oracle: Oracle) -> None:
    oracle.script(answer(at(0, done())))
    (only,) = asked(oracle)
    assert only.failure is not None and only.failure.failure_class == FailureClass.EMPTY
    assert next_step(ServerError(FailureClass.EMPTY, "")) == "look at the server's log"
