"""The simulated server over raw sockets: every byte of a stream, who is refused and how, who is freed."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loadband.load.server_json import error_of
from loadband.sim.profile import Profile
from loadband.sim.wire import WORDS, text_of
from tests.oracle.rawclient import RawClient
from tests.sim.profiles import small
from tests.sim.serving import Serving, serving

pytestmark = pytest.mark.process
QUICK: dict[str, Any] = {"base_ms": 2.0, "max_model_len": 1024}


@pytest.fixture
def server() -> Iterator[Serving]:
    with serving(small(**QUICK)) as running:
        yield running


def until(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within some seconds."""
    end = time.monotonic() + 5
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def dechunked(body: bytes) -> bytes:
    """The body of a chunked answer, whose framing must be exact."""
    whole = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        assert body[length : length + 2] == b"\r\n"
        if length == 0:
            assert body == b"\r\n"
            return whole
        whole, body = whole + body[:length], body[length + 2 :]


def events_of(answer: bytes) -> list[Any]:
    """Events of a stream; `[DONE]` as a string."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"text/event-stream" in head
    blocks = dechunked(body).split(b"\n\n")
    assert blocks.pop() == b""
    said = [block.removeprefix(b"data: ") for block in blocks]
    return [json.loads(one) if one != b"[DONE]" else "[DONE]" for one in said]


@pytest.mark.parametrize("tokens", [1, 2, len(WORDS), len(WORDS) + 1, 90])
def test_a_stream_is_role_tokens_usage_and_done(server: Serving, tokens: int) -> None:
    with RawClient(server.port) as client:
        asked: dict[str, Any] = {"max_tokens": tokens, "ignore_eos": True, "stream_options": {"include_usage": True}}
        answer = client.post("five of them, 21 bytes", **asked).until(b"[DONE]\n\n\r\n0\r\n\r\n")
    events = events_of(answer)
    assert events.pop() == "[DONE]"
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    usage = events.pop()
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 10, "total_tokens": 10 + tokens, "completion_tokens": tokens}
    pieces = [event["choices"][0]["delta"]["content"] for event in events[1:]]
    assert len(pieces) == tokens
    assert "".join(pieces) == text_of(tokens)
    reasons = [event["choices"][0]["finish_reason"] for event in events]
    assert reasons == [None] * tokens + ["length"]
    assert len({event["id"] for event in events}) == 1
    assert {event["model"] for event in events} == {"small"}


def test_without_asking_there_is_no_usage_and_the_server_ends_by_itself(server: Serving) -> None:
    with RawClient(server.port) as client:
        events = events_of(client.post(max_tokens=500).until(b"0\r\n\r\n"))
    assert not any("usage" in event for event in events[:-1])
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert len(events) == 20 + 2


def test_a_connection_serves_one_request_after_the_other(server: Serving) -> None:
    with RawClient(server.port) as client:
        for number in (1, 2):
            client.post(max_tokens=2, stream=False)
            answer = client.json()
            assert answer["id"].endswith(str(number))
            assert answer["choices"][0] == {
                "index": 0, "message": {"role": "assistant", "content": text_of(2)}, "logprobs": None,
                "finish_reason": "length",
            }  # fmt: skip
            assert answer["usage"]["completion_tokens"] == 2


def test_a_request_in_pieces_and_two_at_once_are_read_alike(server: Serving) -> None:
    with RawClient(server.port) as client:
        body = b'{"messages":[{"role":"user","content":"hi"}],"max_tokens":2,"stream":true}'
        whole = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        for place in range(0, len(whole), 7):
            client.socket.sendall(whole[place : place + 7])
        client.socket.sendall(whole + whole)
        while client.got.count(b"0\r\n\r\n") < 3:
            client.read_once()


def test_the_pages_a_client_asks_for(server: Serving) -> None:
    with RawClient(server.port) as client:
        model = client.get("/v1/models").json()["data"][0]
        assert (model["id"], model["max_model_len"]) == ("small", 1024)
        assert client.get("/version").json()["version"].endswith("simulator")
        assert client.get("/health").until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        told = client.post("nine byte", path="/tokenize").json()
        assert told == {"count": 7, "max_model_len": 1024, "tokens": list(range(7))}
        client.socket.sendall(b'POST /tokenize HTTP/1.1\r\ncontent-length: 22\r\n\r\n{"prompt":"nine byte"}')
        client.reads.clear()
        assert client.json()["count"] == 3


def test_metrics_count_every_token(server: Serving) -> None:
    with RawClient(server.port) as client:
        client.post("hi", max_tokens=7, ignore_eos=True).until(b"0\r\n\r\n")
        page = client.get("/metrics").until(b"generation_tokens_total{").decode()
    rows = dict(line.rsplit(" ", 1) for line in page.splitlines() if line.startswith("vllm:"))
    told = {name.partition("{")[0].removeprefix("vllm:"): float(value) for name, value in rows.items()}
    assert (told["generation_tokens_total"], told["prompt_tokens_total"]) == (7, 5)
    assert (told["num_requests_running"], told["kv_cache_usage_perc"]) == (0, 0)


REFUSED = [
    ({"model": "other"}, 404, "The model `other` does not exist."),
    ({"max_tokens": 0, "max_completion_tokens": -1}, 400, "max_tokens must be at least 1"),
    ({"max_tokens": 2000}, 400, "maximum context length is 1024 tokens"),
    ({"messages": []}, 400, "at least one message"),
    ({"messages": [{"role": "user"}]}, 400, "needs a content"),
]


@pytest.mark.parametrize(("fields", "status", "sentence"), REFUSED)
def test_a_request_that_cannot_be_served_is_refused(
    server: Serving, fields: dict[str, Any], status: int, sentence: str
) -> None:
    with RawClient(server.port) as client:
        body = client.post(**fields).json()
        assert client.got.startswith(b"HTTP/1.1 %d " % status)
        assert sentence in body["error"]["message"]
        assert client.get("/health").until(b"\r\n\r\n"), "the connection goes on"


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"GET /nowhere HTTP/1.1\r\n\r\n", 404), (b"GET /tokenize HTTP/1.1\r\n\r\n", 405), (b"hello\r\n\r\n", 400),
     (b"POST /tokenize HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
     (b"POST /tokenize HTTP/1.1\r\ncontent-length: -5\r\n\r\n", 413),
     (b"POST /tokenize HTTP/1.1\r\ncontent-length: 3\r\n\r\n[1]", 400)],
)  # fmt: skip
def test_bytes_that_are_no_good_request_get_an_answer(server: Serving, sent: bytes, status: int) -> None:
    with RawClient(server.port) as client:
        client.socket.sendall(sent)
        assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 %d " % status)


def test_who_hangs_up_frees_the_engine(server: Serving) -> None:
    engine = server.server.engine
    with RawClient(server.port) as client:
        client.post(max_tokens=900, ignore_eos=True).until(b"river")
        assert len(engine.running) == 1
    assert until(lambda: engine.counters.aborted == 1)
    assert not engine.running
    assert engine.memory.used == 0
    with RawClient(server.port) as client:
        assert len(events_of(client.post(max_tokens=2).until(b"0\r\n\r\n"))) == 4


def full(profile: Profile, **fields: Any) -> bytes:
    """What the second request gets where the engine has a place for one alone."""
    with serving(profile) as running, RawClient(running.port) as first, RawClient(running.port) as second:
        first.post(max_tokens=900, ignore_eos=True).until(b"river")
        second.post(**fields)
        return second.until(b"0\r\n\r\n" if b"200 OK" in second.until(b"\r\n") else b"}}")


def test_a_full_queue_is_told_inside_a_200_or_by_its_status() -> None:
    one = QUICK | {"max_num_seqs": 1, "max_waiting": 0}
    error, done = events_of(full(small(**one)))
    told = error_of(error)
    assert told is not None
    assert (told.failure_class, done) == ("throttled", "[DONE]")
    assert full(small(**one), stream=False).startswith(b"HTTP/1.1 503 ")
    assert full(small(**one, in_band=False)).startswith(b"HTTP/1.1 503 ")


def test_a_dying_engine_says_so_in_every_stream_and_refuses_from_then_on() -> None:
    profile = small(**QUICK, blocks=100, reserve_blocks=30, when_full="die", death_message="out of memory")
    with serving(profile) as running:
        clients = [RawClient(running.port).post(max_tokens=900, ignore_eos=True) for _ in range(4)]
        for client in clients:
            events = events_of(client.to_end())
            assert events[-2]["error"] == {
                "message": "out of memory", "type": "InternalServerError", "param": None, "code": 500,
            }  # fmt: skip
            client.close()
        assert running.server.died.is_set()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", running.port), 1)


def test_a_hanging_engine_takes_requests_and_says_nothing() -> None:
    with (
        serving(small(**QUICK, hang_at=2)) as running,
        RawClient(running.port) as first,
        RawClient(running.port, timeout_s=0.3) as second,
        RawClient(running.port) as third,
    ):
        first.post(max_tokens=900, ignore_eos=True).until(b"river")
        second.post().until(b"\r\n\r\n")
        with pytest.raises(TimeoutError):
            second.until(b"river")
        assert third.get("/health").until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
