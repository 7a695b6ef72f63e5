"""One request against a server that does what it is told: every way it can end, and what happens to the connection."""

import gevent
import pytest

from loadband.load.exchange import Timeouts
from loadband.record import FailureClass, Status
from tests.load.asking import Asker
from tests.oracle import (
    Oracle,
    answer,
    at,
    close,
    content,
    deaf_port,
    done,
    finish,
    hang,
    refused_port,
    role,
    rule,
    tokens,
    usage,
)
from tests.oracle.faults import breaks_off, hangs_up_before_answering, not_http, silent, stalls

QUICK = Timeouts(connect_s=0.3, first_token_s=0.3, idle_s=0.3, total_s=1.0)


def test_a_stream_is_timed_and_counted(oracle: Oracle) -> None:
    oracle.script(answer(at(0, role()), at(60, content("A")), at(90, content("B"), finish(), usage(7, 2), done())))
    exchange = Asker(oracle.url).ask()
    request = oracle.log().requests[0]
    assert (exchange.status, exchange.failure) == (Status.OK, None)
    assert exchange.tokens.first is not None and exchange.tokens.first >= request.sent[1]
    assert exchange.answer.usage.output_tokens == 2
    assert "".join(exchange.answer.text) == "AB"


def test_the_bytes_sent_are_the_request_asked_for(oracle: Oracle) -> None:
    Asker(oracle.url).ask("why?", max_tokens=3)
    request = oracle.log().requests[0]
    assert request.headers["accept-encoding"] == "identity"
    assert request.body["messages"] == [{"role": "user", "content": "why?"}]
    assert (request.body["max_tokens"], request.body["stream"]) == (3, True)
    assert request.body["stream_options"] == {"include_usage": True}


def test_one_connection_serves_many_requests(oracle: Oracle) -> None:
    asker = Asker(oracle.url)
    exchanges = [asker.ask() for _ in range(5)]
    assert [exchange.status for exchange in exchanges] == [Status.OK] * 5
    assert oracle.log().connections == 1
    assert exchanges[0].connect_s is not None
    assert [exchange.connect_s for exchange in exchanges[1:]] == [None] * 4


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_every_framing_gives_the_same_answer(oracle: Oracle, framing: str) -> None:
    steps = [at(0, role()), at(20, content("A")), at(40, content("B"), finish(), usage(7, 2), done())]
    oracle.script(answer(*steps, framing=framing))  # type: ignore[arg-type]
    asker = Asker(oracle.url)
    for _ in range(2):
        exchange = asker.ask()
        assert (exchange.status, exchange.tokens.events, exchange.stale) == (Status.OK, 2, False)
    assert oracle.log().connections == (2 if framing == "close" else 1)


def test_a_server_that_closes_after_every_answer_fails_nothing(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=1, itl_ms=1, n=5, end="quiet"))
    asker = Asker(oracle.url)
    exchanges = [asker.ask() for _ in range(50)]
    assert {exchange.status for exchange in exchanges} == {Status.OK}
    log = oracle.log()
    assert len(log.requests) == 50
    assert sum(request.tokens for request in log.requests) == 250


def test_a_kept_connection_that_closes_before_the_answer_is_replaced_once(oracle: Oracle) -> None:
    oracle.script(rule(hangs_up_before_answering(), reused=True), rule(tokens(n=3)))
    asker = Asker(oracle.url)
    first, second = asker.ask(), asker.ask()
    assert (first.status, first.stale) == (Status.OK, False)
    assert (second.status, second.stale) == (Status.OK, True)
    assert len(oracle.log().requests) == 3
    assert second.tokens.events == 3


def test_a_fresh_connection_that_closes_before_the_answer_is_a_failure_and_asked_once(oracle: Oracle) -> None:
    oracle.script(hangs_up_before_answering())
    exchange = Asker(oracle.url).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.RESET
    assert len(oracle.log().requests) == 1


def test_a_connection_that_dies_in_mid_answer_is_never_asked_again(oracle: Oracle) -> None:
    oracle.script(rule(breaks_off(2, 10, how="close"), reused=True), rule(tokens(n=3)))
    asker = Asker(oracle.url)
    asker.ask()
    exchange = asker.ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.TRUNCATED
    assert (exchange.stale, exchange.tokens.events) == (False, 2)
    assert len(oracle.log().requests) == 2


@pytest.mark.parametrize(
    ("how", "failure_class"), [("reset", FailureClass.RESET), ("close", FailureClass.TRUNCATED)], ids=["RST", "FIN"]
)
def test_an_answer_that_breaks_off_fails_and_keeps_its_tokens(oracle: Oracle, how: str, failure_class: str) -> None:
    oracle.script(breaks_off(6, 10, how=how))
    exchange = Asker(oracle.url).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == failure_class
    assert exchange.tokens.events == 6


@pytest.mark.parametrize(
    ("told", "failure_class", "after_s"),
    [
        (silent(), FailureClass.TIMEOUT_FIRST_TOKEN, 0.3),
        (answer(at(0, role()), hang(10)), FailureClass.TIMEOUT_FIRST_TOKEN, 0.3),
        (stalls(2, 50), FailureClass.TIMEOUT_IDLE, 0.35),
        (tokens(ttft_ms=10, itl_ms=100, n=100), FailureClass.TIMEOUT_TOTAL, 1.0),
    ],
    ids=["no byte at all", "a role and silence", "silence in mid-answer", "an answer without end"],
)
def test_each_time_out_ends_the_request_when_due(
    oracle: Oracle, told: object, failure_class: str, after_s: float
) -> None:
    oracle.script(told)  # type: ignore[arg-type]
    exchange = Asker(oracle.url, QUICK).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == failure_class
    assert after_s - 0.005 <= exchange.end - exchange.start < after_s + 0.5
    oracle.wait_until(lambda log: log.open_connections == 0)


def test_a_slow_answer_inside_its_limits_is_a_success(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=200, itl_ms=200, n=4))
    exchange = Asker(oracle.url, QUICK).ask()
    assert (exchange.status, exchange.tokens.events) == (Status.OK, 4)


def test_comments_keep_an_answer_alive(oracle: Oracle) -> None:
    pings = [at(150 * k, b": ping\n\n") for k in range(1, 5)]
    oracle.script(answer(at(0, content("A")), *pings, at(750, content("B"), finish(), done())))
    exchange = Asker(oracle.url, QUICK).ask()
    assert (exchange.status, exchange.tokens.events) == (Status.OK, 2)


def test_the_end_of_an_answer_is_seen_though_the_connection_stays_open(oracle: Oracle) -> None:
    oracle.script(answer(at(0, content("A"), finish(), done()), hang(1)))
    exchange = Asker(oracle.url).ask()
    assert exchange.status == Status.OK
    assert exchange.end - exchange.start < 1.0
    oracle.wait_until(lambda log: log.open_connections == 0)


def test_no_port_is_a_failure_to_connect() -> None:
    with refused_port() as port:
        exchange = Asker(f"http://127.0.0.1:{port}").ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.CONNECT
    assert "refused" in exchange.failure.message


def test_a_port_that_never_accepts_is_a_connect_time_out() -> None:
    with deaf_port() as port:
        exchange = Asker(f"http://127.0.0.1:{port}", QUICK).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.TIMEOUT_CONNECT


def test_what_is_no_http_is_a_protocol_failure(oracle: Oracle) -> None:
    oracle.script(not_http())
    exchange = Asker(oracle.url).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.PROTOCOL
    assert "SSH" in exchange.failure.message


def test_a_user_that_is_stopped_leaves_a_cut_request_and_a_closed_socket(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=10, n=500))
    asker = Asker(oracle.url)
    exchange = asker.exchange()
    user = gevent.spawn(exchange.run, asker.request(max_tokens=500))
    gevent.sleep(0.3)
    user.kill()
    log = oracle.wait_until(lambda log: bool(log.aborts))
    assert (exchange.status, exchange.failure) == (Status.CUT, None)
    assert log.requests[0].ended_at is not None
    assert log.open_connections == 0
    sent = log.requests[0].tokens
    assert sent - 10 <= exchange.tokens.events <= sent, "what came before the stop has come"


@pytest.mark.timing
@pytest.mark.parametrize("idle_s", [0.3, 1.0])
def test_a_silence_is_told_when_it_is_too_long(oracle: Oracle, idle_s: float) -> None:
    """Also while tokens wait to be parsed, and though another one would have come a little later."""
    oracle.script(answer(at(0, role()), at(50, content("A")), at(2500, content("B"), finish(), done())))
    limits = Timeouts(connect_s=5, first_token_s=5, idle_s=idle_s, total_s=20)
    exchange = Asker(oracle.url, limits).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.TIMEOUT_IDLE
    assert exchange.tokens.last is not None
    assert 0 <= exchange.end - exchange.tokens.last - idle_s < 0.1


def test_a_refused_request_keeps_its_connection(oracle: Oracle) -> None:
    oracle.script(rule(tokens(n=3, context_limit=1), numbers=[1]), rule(tokens(n=3)))
    asker = Asker(oracle.url)
    refused, answered = asker.ask(), asker.ask()
    assert refused.failure is not None and refused.failure.failure_class == FailureClass.CONTEXT_LENGTH
    assert answered.status == Status.OK
    assert oracle.log().connections == 1


def test_a_large_event_in_small_pieces_arrives_whole(oracle: Oracle) -> None:
    text = "x" * 1_000_000
    oracle.script(answer(at(0, content(text)), at(10, finish(), usage(1, 9), done())))
    exchange = Asker(oracle.url).ask()
    assert exchange.status == Status.OK
    assert "".join(exchange.answer.text) == text


def test_a_server_that_never_says_done_and_closes_is_a_success_by_its_finish_reason(oracle: Oracle) -> None:
    oracle.script(answer(at(0, content("A"), finish()), close(5)))
    exchange = Asker(oracle.url).ask()
    assert (exchange.status, exchange.answer.done) == (Status.OK, False)


def test_an_answer_that_only_its_length_ends_is_over_with_its_last_byte(oracle: Oracle) -> None:
    """Nothing in the last bytes says that they are the last: no `[DONE]`, no last chunk, no end of the connection."""
    oracle.script(answer(at(0, role()), at(20, content("A")), at(40, finish()), framing="length"))
    exchange = Asker(oracle.url).ask()
    assert exchange.status == Status.OK
    assert exchange.end - oracle.log().requests[0].sent[-1] < 0.5, "half of what bytes wait otherwise"
