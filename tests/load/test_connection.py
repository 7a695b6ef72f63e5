"""Connections: addresses as people write them, TLS, and what keeps a connection alive."""

import os
import resource
from collections.abc import Iterator

import gevent
import pytest

from loadband.errors import UsageError
from loadband.load.connection import parse_address, tls_context
from loadband.record import FailureClass, Status
from tests.load.asking import Asker
from tests.oracle import Oracle, tokens


@pytest.fixture
def trusted(oracle_tls: Oracle, monkeypatch: pytest.MonkeyPatch) -> Iterator[Oracle]:
    monkeypatch.setenv("SSL_CERT_FILE", str(oracle_tls.cafile))
    tls_context.cache_clear()
    yield oracle_tls
    tls_context.cache_clear()


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://gpu1:8000", "http://gpu1:8000"),
        ("gpu1:8000", "http://gpu1:8000"),
        ("https://gpu1", "https://gpu1"),
        ("http://gpu1:80/", "http://gpu1"),
        ("https://gpu1:8443/base/", "https://gpu1:8443/base"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://gpu1:8000/v1", "http://gpu1:8000"),
        ("http://gpu1:8000/base/v1/", "http://gpu1:8000/base"),
    ],
)
def test_addresses_as_people_write_them(written: str, url: str) -> None:
    assert parse_address(written).url == url


@pytest.mark.parametrize(
    ("written", "word"),
    [
        (None, "-H"),
        ("", "-H"),
        ("ftp://gpu1", "ftp"),
        ("http://", "no target"),
        ("http://gpu1:port", "port"),
        ("http://gpu1:99999", "port"),
        ("http://[::1:8000", "IPv6"),
        ("http://gpu1:8000?x=1", "?"),
        ("http://user:secret@gpu1", "LOADBAND_API_KEY"),
    ],
)
def test_what_is_no_address_is_refused_in_one_line(written: str | None, word: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(written)
    assert word.lower() in str(refused.value).lower()
    assert "secret" not in str(refused.value)


def test_tls_streams_and_keeps_its_connection(trusted: Oracle) -> None:
    trusted.script(tokens(ttft_ms=5, itl_ms=2, n=40))
    asker = Asker(trusted.url)
    exchanges = [asker.ask() for _ in range(4)]
    assert [(exchange.status, exchange.tokens.events) for exchange in exchanges] == [(Status.OK, 40)] * 4
    assert trusted.log().connections == 1


def test_a_certificate_that_is_not_trusted_is_a_tls_failure_with_the_remedy(oracle_tls: Oracle) -> None:
    tls_context.cache_clear()
    exchange = Asker(oracle_tls.url).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.TLS
    assert "SSL_CERT_FILE" in exchange.failure.message


def test_tls_against_a_plain_port_is_a_tls_failure(oracle: Oracle) -> None:
    oracle.script(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n")
    exchange = Asker(oracle.url.replace("http://", "https://")).ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.TLS


def test_connections_are_kept_beyond_descriptor_1024(oracle: Oracle) -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        asker = Asker(oracle.url)
        for _ in range(4):
            assert asker.ask().status == Status.OK
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert oracle.log().connections == 1


def test_running_out_of_descriptors_is_the_clients_failure(oracle: Oracle) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    asker = Asker(oracle.url)
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        exchange = asker.ask()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.CLIENT
    assert oracle.log().requests == []


def test_a_connection_made_ahead_is_used_and_counts_as_new(oracle: Oracle) -> None:
    """It costs the request no time, and yet it is no kept connection that may have gone stale."""
    oracle.script(tokens(n=3))
    asker = Asker(oracle.url)
    asker.connection.prepare(1.0)
    first, second = asker.ask(), asker.ask()
    assert [first.status, second.status] == [Status.OK] * 2
    assert (first.connect_s, second.connect_s) == (0.0, None)
    assert oracle.log().connections == 1


def test_a_kept_connection_needs_no_preparation(oracle: Oracle) -> None:
    oracle.script(tokens(n=3))
    asker = Asker(oracle.url)
    asker.ask()
    asker.connection.prepare(1.0)
    assert asker.ask().connect_s is None
    assert oracle.log().connections == 1


def test_what_cannot_be_prepared_fails_when_it_is_asked() -> None:
    asker = Asker("http://127.0.0.1:1")
    asker.connection.prepare(1.0)
    exchange = asker.ask()
    assert exchange.failure is not None and exchange.failure.failure_class == FailureClass.CONNECT


def test_a_tls_connection_made_ahead_is_used(trusted: Oracle) -> None:
    """TLS 1.3 sends tickets unasked after the handshake: bytes that wait are no sign of a dead connection there."""
    trusted.script(tokens(n=3))
    asker = Asker(trusted.url)
    asker.connection.prepare(1.0)
    gevent.sleep(0.1)
    exchange = asker.ask()
    assert (exchange.status, exchange.connect_s) == (Status.OK, 0.0)
    assert trusted.log().connections == 1
