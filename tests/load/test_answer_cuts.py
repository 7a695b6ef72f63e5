"""However the bytes of an answer are cut or spoilt: the same outcome, and never an exception."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.streams import (
    CHUNKED,
    DONE,
    HEAD,
    LAST_CHUNK,
    ROLE,
    Fed,
    chunk,
    delta,
    event,
    fed,
    finish,
    plain,
    text,
    usage,
    whole,
)

EVENTS = (ROLE, text("中"), delta(reasoning="\u2028"), text("é😀 b"), finish(), usage(7, 3), DONE)
BODY = b"".join(EVENTS)
NO_KIND = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

FRAMINGS: list[tuple[bytes, str]] = [
    (whole(*EVENTS), "chunked, an event a chunk"),
    (CHUNKED + b"".join(chunk(BODY[i : i + 7]) for i in range(0, len(BODY), 7)) + LAST_CHUNK, "chunks of seven bytes"),
    (CHUNKED + b"%X;a=b\r\n%b\r\n0\r\nX-Trailer: 1\r\n\r\n" % (len(BODY), BODY), "an extension and a trailer"),
    (HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY), "of a known length"),
    (HEAD + b"\r\n" + BODY, "ended by the connection's close"),
    (HEAD.replace(b"/1.1", b"/1.0") + b"\r\n" + BODY, "the older HTTP"),
    (NO_KIND + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(BODY) + LAST_CHUNK, "a stream that does not say so"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + whole(*EVENTS), "after an interim answer"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + whole(*EVENTS), "after hints"),
    (HEAD + b"Keep-Alive: timeout=5, max=100\r\n\r\n" + BODY, "a header that ends like a last chunk"),
    (HEAD + b"Server: caf\xe9\r\n\r\n" + BODY, "a header not in ASCII"),
    (HEAD + b"Content-Type: x\r\n\r\nfoo: 1\n" + BODY, "two content types, and another field first"),
    (HEAD + b"\r\n" + BODY.rstrip(), "no blank line after the last event"),
    (whole(BODY.replace(b"\n", b"\r\n")), "lines that end with CR and LF"),
    (HEAD + b"\r\n\xef\xbb\xbf" + BODY, "after a byte order mark"),
    (NO_KIND + b"\r\n\n\n: ping\n\n" + BODY, "blank lines and a comment first"),
]


@pytest.mark.parametrize(("data", "sentence"), FRAMINGS, ids=[row[1] for row in FRAMINGS])
def test_any_framing_cut_anywhere(data: bytes, sentence: str) -> None:
    one = fed((0, data))
    assert (one.answer.failure(), one.text, one.clock.events) == (None, "中é😀 b", 3), sentence
    assert one.answer.usage.output_tokens == 3
    assert one.answer.complete
    assert one.answer.done
    for at in range(1, len(data)):
        assert fed((0, data[:at]), (20, data[at:])).outcome() == one.outcome(), f"cut at byte {at}"
    assert fed(*((n, data[n : n + 1]) for n in range(len(data)))).outcome() == one.outcome(), "byte by byte"


ENDS: list[tuple[bytes, str | None, str]] = [
    (
        whole(text("A"), event({"error": {"message": "lost", "code": 500}}), DONE),
        "stream_error",
        "an error in the stream",
    ),
    (whole(text("A"), finish(), DONE, event({"error": "late"})), None, "an error after [DONE]"),
    (whole(text("A"), DONE, b"data: no json\n\n"), None, "rubbish after [DONE]"),
    (whole(text("A"), event({"error": "x"}), text("B"), usage(1, 2)), "stream_error", "tokens after an error"),
    (CHUNKED + chunk(text("A") + DONE) + b"rubbish\r\n", None, "a broken chunk after [DONE]"),
    (whole(text("A"), b"data: no json\n\n", text("B")), "protocol", "rubbish in the stream"),
    (whole(text("A"), b"data:\n\n", b"event: ping\ndata: 1\n\n", text("B"), finish()), None, "heartbeats"),
    (whole(text("A"), DONE) + whole(text("B")), None, "a second answer"),
    (whole(text("A"), DONE) + plain("404 Not Found", b"x"), None, "a refusal after the answer"),
    (whole(text("A"), DONE) + b"\x00\xff rubbish", None, "rubbish after the answer"),
    (plain("429 Too Many Requests", b'{"error":{"message":"slow down"}}'), "throttled", "a refusal"),
    (plain("200 OK", b'{"choices":[{"message":{}}]}'), "not_a_stream", "an answer in one piece"),
    (plain("200 OK", b"data is not an event", "text/plain"), "not_a_stream", "words that begin like an event"),
    (plain("200 OK", b"da", "text/plain"), "not_a_stream", "too little to tell"),
    (CHUNKED + chunk(text("A")) + b"5\r\nda", "truncated", "cut short by the server"),
]


@pytest.mark.parametrize(("data", "told", "sentence"), ENDS, ids=[row[2] for row in ENDS])
def test_any_end_cut_anywhere(data: bytes, told: str | None, sentence: str) -> None:
    one = fed((0, data)).outcome()
    assert one[0] == told, sentence
    for at in range(1, len(data)):
        assert fed((0, data[:at]), (20, data[at:])).outcome() == one, f"{sentence}, cut at byte {at}"


@given(st.lists(st.integers(0, 2000), max_size=12))
def test_any_number_of_cuts(places: list[int]) -> None:
    data = whole(*EVENTS)
    edges = [0, *sorted(place % len(data) for place in places), len(data)]
    reads = [(float(n), data[a:b]) for n, (a, b) in enumerate(itertools.pairwise(edges)) if a < b]
    assert fed(*reads).outcome() == fed((0, data)).outcome()


REUSE: list[tuple[bytes, bool, str]] = [
    (whole(*EVENTS), True, "a chunked answer that ended"),
    (HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY), True, "an answer of its length"),
    (plain("503 Busy", b"later"), True, "a refusal"),
    (whole(*EVENTS).replace(b"chunked", b"chunked\r\nConnection: close"), False, "the server will close"),
    (HEAD + b"\r\n" + BODY, False, "the close was the end"),
    (CHUNKED + chunk(BODY), False, "the last chunk did not come"),
    (whole(*EVENTS) + b"HTTP/1.1 200 OK\r\n\r\n", False, "something follows that nobody asked for"),
    (b"\x00", False, "no HTTP"),
]


@pytest.mark.parametrize(("data", "may", "sentence"), REUSE, ids=[row[2] for row in REUSE])
def test_when_a_connection_may_serve_again(data: bytes, may: bool, sentence: str) -> None:
    assert fed((0, data)).answer.reusable is may, sentence


def survives(*reads: tuple[float, bytes]) -> Fed:
    """Feed on and on, as no exchange would, and ask everything."""
    answer = Fed()
    for at, data in reads:
        answer.answer.feed(at / 1000, data)
    answer.answer.finish()
    answer.outcome()
    answer.outcome(ConnectionResetError())
    json.dumps([answer.answer.complete, answer.answer.reusable, answer.answer.broken, answer.answer.last_word])
    return answer


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_noise_never_raises(noise: list[bytes]) -> None:
    survives(*((float(n), data) for n, data in enumerate(noise)))


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_noise_in_a_stream_never_raises(noise: list[bytes]) -> None:
    survives((0, CHUNKED), *((float(n), chunk(data)) for n, data in enumerate(noise) if data), (9, LAST_CHUNK))


@given(st.data())
def test_a_spoilt_stream_never_raises_and_never_succeeds_by_chance(data: st.DataObject) -> None:
    stream = bytearray(data.draw(st.sampled_from([*(row[0] for row in FRAMINGS), *(row[0] for row in ENDS)])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stream) - 1))
        piece = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"\r\n", b"\n\n", b"data: ", b"0\r\n\r\n", b"{", b'"'])
        )
        stream[at : at + data.draw(st.integers(0, 3))] = piece
    at = data.draw(st.integers(0, len(stream)))
    answer = survives((0, bytes(stream[:at])), (1, bytes(stream[at:])))
    if answer.answer.failure() is None:
        assert answer.clock.events
        assert answer.answer.ended_well


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.integers(),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["error", "message", "detail", "choices", "code"]), inner)),
       st.sampled_from(["200 OK", "400 Bad", "503 Busy", "302 Found"]))  # fmt: skip
def test_any_json_body_gets_a_class(body: Any, status: str) -> None:
    failure = survives((0, plain(status, json.dumps(body).encode()))).answer.failure()
    assert failure is not None
    assert isinstance(failure.message, str)


@pytest.mark.parametrize("depth", range(50, 1200, 23))
def test_deep_json_in_a_refusal_never_raises(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for body in (deep, b'{"error":%b}' % deep, b'{"detail":%b}' % deep, b'{"error":{"message":%b}}' % deep):
        for status in ("200 OK", "400 Bad"):
            survives((0, plain(status, body)))


def test_a_body_that_never_ends_is_not_kept() -> None:
    answer = Fed()
    answer.answer.feed(0, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    for n in range(1000):
        answer.answer.feed(n, b"<p>" * 10_000)
    assert len(answer.answer._body.data()) < 200_000
