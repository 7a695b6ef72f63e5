"""How answers, connections and the whole port end, and what of it is logged."""

import socket
import time
from pathlib import Path

import pytest

from tests.oracle import (
    Oracle,
    Outage,
    answer,
    at,
    deaf_port,
    done,
    refused_port,
    tokens,
)
from tests.oracle.faults import (
    breaks_off,
    like_llamacpp,
    silent,
    stalls,
)
from tests.oracle.rawclient import RawClient

ROOT = Path(__file__).resolve().parents[2]
LAST = b"\r\n0\r\n\r\n"


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_client_that_hangs_up_is_noticed(oracle: Oracle, how: str) -> None:
    oracle.script(tokens(ttft_ms=1, itl_ms=10, n=1000))
    client = RawClient(oracle.port)
    client.post().until(b" tok")
    if how == "rst":
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    left_at = time.monotonic()
    client.close()
    (request,) = oracle.wait_until(lambda log: bool(log.aborts)).aborts
    assert (request.abort_by, request.tokens < 1000) == (how, True)
    assert request.ended_at is not None
    assert 0 <= request.ended_at - left_at < 1
    assert oracle.counts()["running"] == 0


def test_a_client_that_leaves_after_the_end_did_not_abort(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=1, itl_ms=0, n=1, end="quiet", end_after_ms=500))
    with RawClient(oracle.port) as client:
        client.post().until(LAST)
    assert dict(oracle.wait_until(lambda log: not log.open_connections).ends) == {"done": 1}


@pytest.mark.parametrize(
    ("end", "announced", "ends_by"),
    [("quiet", False, b""), ("announced", True, b""), ("reset", False, None)],
)
def test_how_a_connection_ends_after_the_answer(
    oracle: Oracle, end: str, announced: bool, ends_by: bytes | None
) -> None:
    alive = (("Keep-Alive", "timeout=5, max=100"),)
    oracle.script(answer(at(0, done()), headers=alive, end=end, end_after_ms=20))  # type: ignore[arg-type]
    with RawClient(oracle.port) as client:
        assert (b"Connection: close" in client.post().until(LAST)) == announced
        if ends_by is None:
            with pytest.raises(ConnectionResetError):
                client.read_once()
        else:
            assert client.read_once() == ends_by


def test_llama_cpp_promises_to_stay_and_leaves(oracle: Oracle) -> None:
    oracle.script(like_llamacpp(n=3))
    with RawClient(oracle.port) as client:
        got = client.post().to_end()
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.endswith(b"\r\nKeep-Alive: timeout=5, max=100")
        assert body.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        assert (oracle.log().ends, client.reads[-1][0] - client.reads[-2][0] < 0.1) == ({"done": 1}, True)


def test_an_idle_connection_in_use_again_is_not_closed(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=80, itl_ms=0, n=1, end="quiet", end_after_ms=60))
    with RawClient(oracle.port) as client:
        client.post().until(LAST)
        assert client.post().until(LAST)


def test_a_broken_stream_has_no_end(oracle: Oracle) -> None:
    oracle.script(breaks_off(3, 5, how="close"), breaks_off(3, 5, how="reset"))
    with RawClient(oracle.port) as client:
        assert client.post().to_end().count(b"data:") == 3
        assert not client.got.endswith(LAST)
    with RawClient(oracle.port) as client, pytest.raises(ConnectionResetError):
        client.post().to_end()
    assert dict(oracle.log().ends) == {"closed": 1, "reset": 1}


@pytest.mark.parametrize(("told", "received"), [(stalls(2, 1), 2), (silent(), 0)])
def test_silence_lasts_until_the_client_leaves(oracle: Oracle, told: object, received: int) -> None:
    oracle.script(told)  # type: ignore[arg-type]
    with RawClient(oracle.port, timeout_s=0.2) as client:
        with pytest.raises(TimeoutError):
            client.post().to_end()
        assert client.got.count(b"data:") == received
        assert oracle.log().ends == {"hung": 1}
    assert oracle.wait_until(lambda log: bool(log.aborts)).ends == {"aborted": 1}


def test_an_outage_comes_by_number_and_goes_by_time(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=0, itl_ms=0, n=1), outage=Outage(after=2, seconds=0.3))
    idle = RawClient(oracle.port)
    for _ in range(2):
        with RawClient(oracle.port) as client:
            client.post().until(LAST)
    assert idle.to_end() == b""
    with pytest.raises(ConnectionRefusedError):
        RawClient(oracle.port)
    time.sleep(0.5)
    with RawClient(oracle.port) as client:
        client.post().until(LAST)


def test_down_and_up_by_hand_keep_the_port(oracle: Oracle) -> None:
    oracle.down()
    with pytest.raises(ConnectionRefusedError):
        RawClient(oracle.port)
    oracle.up()
    with RawClient(oracle.port) as client:
        assert client.get("/health").json()


def test_refused_and_deaf_ports() -> None:
    with refused_port() as port, pytest.raises(ConnectionRefusedError):
        RawClient(port)
    with deaf_port() as port, pytest.raises(TimeoutError):
        RawClient(port, timeout_s=0.3)
