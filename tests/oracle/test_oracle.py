"""The oracle held against a bare socket: what it says it sent is what arrives, and when."""

import contextlib
import os
import selectors
import socket
import ssl
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracle import (
    AUTHORIZATION,
    Oracle,
    Outage,
    answer,
    at,
    content,
    deaf_port,
    done,
    glued,
    recut,
    refused_port,
    role,
    rule,
    tokens,
    whole_wire,
)
from tests.oracle.faults import (
    breaks_off,
    error,
    hangs_up_before_answering,
    html,
    like_llamacpp,
    no_stream_options,
    not_http,
    silent,
    stalls,
    throttled,
    unauthorised,
)
from tests.oracle.rawclient import RawClient
from tests.oracle.tls import write_certificate

ROOT = Path(__file__).resolve().parents[2]
LAST = b"\r\n0\r\n\r\n"


@pytest.mark.timing
def test_pieces_go_out_when_they_are_due(oracle: Oracle) -> None:
    due = [100 + 7.3 * k for k in range(60)]
    oracle.script(answer(*[at(ms, content("x")) for ms in due]))
    with RawClient(oracle.port) as client:
        client.post().until(LAST)
        request = oracle.log().requests[0]
        late = [(sent - request.read_at) * 1e3 - ms for sent, ms in zip(request.sent, due, strict=True)]
        assert min(late) >= 0
        assert statistics.mean(late) < 2
        # Every byte is read after its stamp, and a quiet machine delivers at once.
        firsts = [stamp for stamp, part in client.reads if b"data:" in part]
        assert all(read >= sent for read, sent in zip(firsts, request.sent, strict=False))
        assert client.asked_at <= request.read_at <= client.reads[0][0]


@pytest.mark.timing
def test_ten_thousand_events_a_second_are_no_burden(oracle: Oracle) -> None:
    streams, gap_ms, each = 200, 20, 50
    oracle.script(tokens(ttft_ms=200, itl_ms=gap_ms, n=each))
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        for _ in range(streams):
            client = stack.enter_context(RawClient(oracle.port)).post()
            selector.register(client.socket, selectors.EVENT_READ, client)
        while selector.get_map():
            for key, _ in selector.select(5):
                if key.data.read_once().endswith(LAST):
                    selector.unregister(key.fileobj)
    log = oracle.log()
    late = [(s - r.read_at) * 1e3 - 200 - gap_ms * k for r in log.requests for k, s in enumerate(r.sent)]
    assert len(late) == log.tokens_sent == streams * each
    assert statistics.mean(late) < 5


def test_it_serves_a_process_that_gevent_has_patched() -> None:
    code = (
        "from gevent import monkey, spawn, joinall; monkey.patch_all()\n"
        "from tests.oracle import Oracle, tokens\n"
        "from tests.oracle.rawclient import RawClient\n"
        "with Oracle() as o:\n"
        "    o.script(tokens(ttft_ms=100, itl_ms=1, n=3))\n"
        "    joinall([spawn(lambda: RawClient(o.port).post().until(b'[DONE]')) for _ in range(5)])\n"
        "    print(dict(o.log().ends), o.log().peak_in_flight)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "{'done': 5} 5\n"


def test_the_log_holds_every_byte_in_order(oracle: Oracle) -> None:
    oracle.script(
        answer(at(0, role()), at(5, content("中"), done())),
        recut(answer(at(0, content("é"), done()), eol="\r\n"), range(1, 300, 7), 0.5),
        tokens(ttft_ms=1, itl_ms=1, n=50),
    )
    for _ in range(3):
        with RawClient(oracle.port) as client:
            got = client.post().until(LAST)
            assert oracle.log(payload=True).requests[-1].wire == got


def test_the_whole_wire_of_an_answer_is_known_beforehand(oracle: Oracle) -> None:
    told = answer(at(0, role(), content("a")), glued(3, content("b"), done()), framing="close")
    oracle.script(told)
    with RawClient(oracle.port) as client:
        assert client.post().to_end() == whole_wire(told)


def test_requests_are_logged_with_what_they_said(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=1, itl_ms=0, n=2))
    with RawClient(oracle.port) as client:
        for nonce in ("one", "two"):
            client.post(f"{nonce} " + "word " * 100, headers={"X-Request-Id": f"id-{nonce}"}, max_tokens=9).until(LAST)
        assert b"X-Request-Id: id-two\r\n" in client.got
    log = oracle.log()
    assert log.of("id-one") is log.of("one word") is log.requests[0]
    assert [len(request.prompt) for request in log.requests] == [80, 80]
    assert [request.nth_on_connection for request in log.requests] == [1, 2]
    assert log.requests[1].body["max_tokens"] == 9
    assert (log.connections, log.tokens_sent, dict(log.ends)) == (1, 4, {"done": 2})


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


def test_reset_forgets_everything(oracle: Oracle) -> None:
    oracle.script(silent())
    with RawClient(oracle.port) as client:
        client.post()
        oracle.wait_until(lambda log: bool(log.requests))
        oracle.reset()
        assert client.to_end() == b""
    log = oracle.log()
    assert (log.requests, log.connections, log.in_flight, log.peak_in_flight) == ([], 0, 0, 0)
    with RawClient(oracle.port) as client:
        client.post().until(LAST)


def test_refused_and_deaf_ports() -> None:
    with refused_port() as port, pytest.raises(ConnectionRefusedError):
        RawClient(port)
    with deaf_port() as port, pytest.raises(TimeoutError):
        RawClient(port, timeout_s=0.3)


def test_the_oracle_dies_with_the_process_that_started_it() -> None:
    code = "import time; from tests.oracle import Oracle; o = Oracle(); print(o.pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until = time.monotonic() + 3
    while _alive(pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
