"""Rules, faults, slots, greetings and TLS: the server does as it is told."""

import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracle import (
    AUTHORIZATION,
    Oracle,
    rule,
    tokens,
)
from tests.oracle.faults import (
    breaks_off,
    error,
    hangs_up_before_answering,
    html,
    no_stream_options,
    not_http,
    throttled,
    unauthorised,
)
from tests.oracle.rawclient import RawClient
from tests.oracle.tls import write_certificate

ROOT = Path(__file__).resolve().parents[2]
LAST = b"\r\n0\r\n\r\n"


def test_rules_choose_and_cycle(oracle: Oracle) -> None:
    oracle.script(
        rule(no_stream_options(), has="stream_options"),
        rule(throttled(), tokens(ttft_ms=0, itl_ms=0, n=1)),
    )
    with RawClient(oracle.port) as client:
        assert client.post(stream_options={"include_usage": True}).json()["detail"][0]["loc"][1] == "stream_options"
        statuses = []
        for _ in range(4):
            client.post().until(b"\r\n\r\n")
            statuses.append(client.got.split()[1])
            if statuses[-1] == b"429":
                assert b"Retry-After: 1\r\n" in client.got
                client.json()
            else:
                client.until(LAST)
        assert statuses == [b"429", b"200", b"429", b"200"]


def test_faults_look_as_they_should(oracle: Oracle) -> None:
    oracle.script(unauthorised(), error(404, "no such model"), html(), not_http())
    with RawClient(oracle.port) as client:
        client.post(headers={"Authorization": "Bearer sk-very-secret"})
        assert "Bearer sk-very-secret" in client.json()["error"]["message"]
        assert client.post().json()["error"]["message"] == "no such model"
        assert b"Sign in" in client.post().until(b"</html>")
        assert client.post().to_end() == b"SSH-2.0-OpenSSH_9.2p1\r\n"
    assert AUTHORIZATION not in oracle.log(payload=True).requests[0].wire


def test_a_reused_connection_may_be_dead(oracle: Oracle) -> None:
    oracle.script(rule(hangs_up_before_answering(), reused=True, times=1), rule(tokens(n=1)))
    with RawClient(oracle.port) as client:
        client.post().until(LAST)
        assert client.post().to_end() == b""
    with RawClient(oracle.port) as client:
        assert client.post().until(LAST)


def test_no_more_than_the_slots_progress_and_the_rest_queue_in_order(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=20, itl_ms=5, n=9), slots=2)

    def one(number: int) -> None:
        time.sleep(number * 0.005)
        with RawClient(oracle.port) as client:
            client.post(f"p{number} ").until(LAST)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(6)))
    log = oracle.log()
    assert (log.peak_in_flight, log.peak_progressing, dict(log.ends)) == (6, 2, {"done": 6})
    granted = [request.granted_at or 0.0 for request in log.requests]
    assert granted == sorted(granted)
    for earlier, later in zip(log.requests, log.requests[2:], strict=False):
        assert (earlier.ended_at or 0) <= (later.granted_at or 0) + 1e-4
    # Six answers of 60 ms, two at a time.
    assert 1 < log.mean_in_flight(log.requests[0].read_at, log.requests[-1].ended_at or 0) < 6


def test_a_waiting_client_that_leaves_gives_its_place_up(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=100, n=1), slots=1)
    with RawClient(oracle.port) as first, RawClient(oracle.port) as third:
        first.post("first")
        second = RawClient(oracle.port)
        second.post("second")
        oracle.wait_until(lambda log: len(log.requests) == 2)
        third.post("third")
        second.close()
        assert third.until(LAST)
    assert oracle.log().ends == {"done": 2, "aborted": 1}


def test_pages_that_no_rule_covers(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=0, itl_ms=0, n=12), model="m7", context=4096)
    with RawClient(oracle.port) as client:
        client.post().until(LAST)
        (model,) = client.get("/v1/models").json()["data"]
        assert (model["id"], model["max_model_len"]) == ("m7", 4096)
        assert client.get("/health").json() == {"status": "ok"}
        assert b'vllm:generation_tokens_total{model_name="m7"} 12\n' in client.get("/metrics").until(b"waiting{")
        client.until(b"\n")
    with RawClient(oracle.port) as client:
        assert client.get("/nothing").json()["error"]["code"] == 404
    log = oracle.log()
    assert (len(log.requests), len(log.others)) == (1, 4)


def test_a_greeting_comes_before_any_request(oracle: Oracle) -> None:
    oracle.script(greeting=b"SSH-2.0-x\r\n")
    with RawClient(oracle.port) as client:
        assert client.read_once() == b"SSH-2.0-x\r\n"
        assert client.post().to_end() == b""


def test_tls_is_spoken_and_must_be_trusted(oracle_tls: Oracle) -> None:
    oracle_tls.script(tokens(ttft_ms=5, itl_ms=5, n=5))
    with RawClient(oracle_tls.port, oracle_tls.client_tls()) as client:
        got = client.post().until(LAST)
    assert oracle_tls.log(payload=True).requests[0].wire == got
    with pytest.raises(ssl.SSLCertVerificationError):
        RawClient(oracle_tls.port, ssl.create_default_context())


@pytest.mark.parametrize("how", ["reset", "close"])
def test_tls_streams_break_too(oracle_tls: Oracle, how: str) -> None:
    oracle_tls.script(breaks_off(3, 5, how=how))
    with RawClient(oracle_tls.port, oracle_tls.client_tls()) as client:
        client.socket.suppress_ragged_eofs = False  # type: ignore[attr-defined]  # a TLS socket has it
        client.post()
        if how == "reset":
            # Python's ssl module tells a reset below TLS as an end without close_notify.
            with pytest.raises(ssl.SSLEOFError):
                client.to_end()
        else:
            client.to_end()
        assert client.got.count(b"data:") == 3
    assert set(oracle_tls.log().ends) == {"reset" if how == "reset" else "closed"}


def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    with Oracle(*write_certificate(tmp_path, days=-1)) as oracle, pytest.raises(ssl.SSLCertVerificationError):
        RawClient(oracle.port, oracle.client_tls())
