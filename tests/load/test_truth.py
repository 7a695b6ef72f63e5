"""Stamps against the truth: what the client says of each token, held against when the oracle really sent it."""

import os
import statistics
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import gevent
import pytest
from gevent.pool import Group

from loadband.load.connection import tls_context
from loadband.load.exchange import Exchange
from loadband.record import Status
from tests.load.asking import Asker
from tests.oracle import Oracle, tokens

STREAMS, TOKENS, ITL_MS = 50, 100, 20.0


@pytest.fixture(params=["plain", "tls"])
def server(
    request: pytest.FixtureRequest, oracle: Oracle, oracle_tls: Oracle, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Oracle]:
    monkeypatch.setenv("SSL_CERT_FILE", str(oracle_tls.cafile))
    tls_context.cache_clear()
    yield oracle if request.param == "plain" else oracle_tls
    tls_context.cache_clear()


def stream_all(url: str, streams: int, max_tokens: int) -> list[Exchange]:
    """So many streams at once, their starts spread over one second; each prompt names its stream."""
    askers = [Asker(url) for _ in range(streams)]
    exchanges: list[Exchange] = []

    def user(number: int) -> None:
        gevent.sleep(number / streams)
        exchange = askers[number].exchange()
        exchanges.append(exchange)
        exchange.run(askers[number].request(f"stream-{number:04d}", max_tokens))

    users = Group()
    for number in range(streams):
        users.spawn(user, number)
    users.join()
    return exchanges


def open_descriptors() -> int:
    """Descriptors that this process holds."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.timing
def test_first_tokens_and_gaps_are_true(server: Oracle) -> None:
    server.script(tokens(ttft_ms=50, itl_ms=ITL_MS, n=TOKENS, role_ms=0))
    exchanges = stream_all(server.url, STREAMS, TOKENS)
    log = server.log()
    assert {exchange.status for exchange in exchanges} == {Status.OK}
    assert {exchange.tokens.events for exchange in exchanges} == {TOKENS}
    assert {exchange.answer.usage.output_tokens for exchange in exchanges} == {TOKENS}
    assert len(log.requests) == STREAMS
    first_errors, gap_errors = [], []
    by_first = sorted(exchanges, key=lambda exchange: exchange.tokens.first or 0.0)
    for exchange, request in zip(by_first, sorted(log.requests, key=lambda r: r.sent[0]), strict=True):
        assert exchange.tokens.first is not None and exchange.tokens.last is not None
        first_errors.append(exchange.tokens.first - request.sent[0])
        gap_errors.append(exchange.tokens.last - request.sent[-1])
        if len(exchange.tokens.gaps) == TOKENS - 1:
            truth = [b - a for a, b in pairwise(request.sent)]
            gap_errors += [abs(gap - true) for gap, true in zip(exchange.tokens.gaps, truth, strict=True)]
    print(
        f"cores {os.cpu_count()}; first token: mean error {statistics.fmean(first_errors) * 1e3:.3f} ms, "
        f"worst {max(first_errors) * 1e3:.3f} ms; gaps: mean error {statistics.fmean(gap_errors) * 1e3:.3f} ms"
    )
    assert min(first_errors) >= 0
    assert statistics.fmean(first_errors) < 0.002
    assert statistics.fmean(gap_errors) < 0.002


def test_users_stopped_in_mid_stream_leave_nothing_behind(oracle: Oracle) -> None:
    streams = 200
    first = Asker(oracle.url)
    assert first.ask().status == Status.OK  # what gevent opens at its first use stays open
    first.connection.close()
    oracle.reset()
    oracle.script(tokens(ttft_ms=10, itl_ms=20, n=2000))
    before = open_descriptors()
    askers = [Asker(oracle.url) for _ in range(streams)]
    exchanges = [asker.exchange() for asker in askers]
    users = Group()
    for asker, exchange in zip(askers, exchanges, strict=True):
        users.spawn(exchange.run, asker.request(max_tokens=2000))
    with gevent.Timeout(30):
        while not all(exchange.tokens.events for exchange in exchanges):
            gevent.sleep(0.2)
    users.kill()
    log = oracle.wait_until(lambda log: log.open_connections == 0)
    assert len(log.aborts) == streams
    assert min(request.tokens for request in log.requests) > 0
    assert {exchange.status for exchange in exchanges} == {Status.CUT}
    assert sum(exchange.tokens.events for exchange in exchanges) <= sum(request.tokens for request in log.requests)
    for asker in askers:
        asker.connection.close()
    assert open_descriptors() <= before
