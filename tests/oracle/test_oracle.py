"""The oracle held against a bare socket: what it says it sent is what arrives, and when."""

import contextlib
import os
import selectors
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.oracle import (
    Oracle,
    answer,
    at,
    content,
    done,
    glued,
    recut,
    role,
    tokens,
    whole_wire,
)
from tests.oracle.faults import (
    silent,
)
from tests.oracle.rawclient import RawClient

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
