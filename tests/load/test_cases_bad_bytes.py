"""Bytes that no server should send: each ends with a class and a sentence, and no exception leaves the client."""

import gzip
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadband.load.exchange import Timeouts
from loadband.load.framing import HEADER_CHARACTERS
from loadband.load.sse import LONGEST_EVENT
from loadband.record import Record, Status
from tests.load.asking import Asker, booked
from tests.load.streams import CHUNKED, HEAD, Fed, chunk
from tests.oracle import Oracle, answer, at, content, cut, data, done, finish, raw, usage
from tests.oracle.answers import Answer
from tests.oracle.faults import html, not_http

QUICK = Timeouts(connect_s=1.0, first_token_s=1.0, idle_s=1.0, total_s=2.0)
BODY = content("A") + content("B") + finish() + done()
GZIP = (("Content-Encoding", "gzip"),)


def ask(oracle: Oracle, told: Answer, limits: Timeouts = QUICK, *, stream: bool = True) -> Record:
    oracle.script(told)
    return booked(Asker(oracle.url, limits, stream=stream).ask())


BAD: list[tuple[Answer, str, str, str]] = [
    (answer(at(0, b"\x00\xff\xfe garbage")), "truncated", "without [DONE]", "garbage that is called a stream"),
    (answer(at(0, b"data: \x00\xff\xfe\n\n")), "protocol", "not a JSON object", "garbage in an event"),
    (answer(at(0, b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n', done())), "protocol", "not a JSON",
     "invalid UTF-8"),
    (html(), "not_a_stream", "text/html", "a login page with 200"),
    (html(502), "http_502", "Sign in", "an error page"),
    (answer(at(0, gzip.compress(BODY)), headers=GZIP), "protocol", "compressed (gzip)", "gzip that nobody asked for"),
    (answer(at(0, gzip.compress(b"no")), headers=GZIP, status=503), "throttled", "Service Unavailable",
     "a refusal in gzip"),
    (answer(at(0, data("[" * 100_000))), "protocol", "not a JSON object", "JSON that is nested too deeply"),
    (answer(at(0, data({"choices": {"a": 1}, "usage": []}), done())), "empty", "no token", "JSON of another shape"),
    (answer(raw(0, b"HTTP/1.1 200 OK\r\nX: ", b"a" * 200_000), framing="raw"), "protocol", "header is longer",
     "a header that never ends"),
    (answer(raw(0, b"HTTP/1.1 200 OK\r\n", *[b"X-%d: y\r\n" % n for n in range(20_000)]), framing="raw"), "protocol",
     "header is longer", "headers that never end"),
    (not_http(b"\x16\x03\x01 garbage\r\n\r\n"), "protocol", "not HTTP", "garbage instead of an answer"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "kind", "words", "sentence"), BAD, ids=[row[3] for row in BAD])
def test_bad_bytes_get_a_class_and_a_sentence(
    oracle: Oracle, told: Answer, kind: str, words: str, sentence: str
) -> None:
    record = ask(oracle, told)
    assert (record.status, record.failure_class) == (Status.FAILED, kind), (sentence, record.message)
    assert words in (record.message or "")
    assert record.duration_s is not None and record.duration_s < QUICK.total_s + 2.0


def test_headers_that_trickle_end_at_the_first_token_limit(oracle: Oracle) -> None:
    trickle = raw(0, b"HTTP/1.1 200 OK\r\n")
    for n in range(300):
        trickle += raw(20 * n, b"X-%d: y\r\n" % n)
    assert ask(oracle, answer(trickle, framing="raw")).failure_class == "timeout_first_token"


def test_a_page_without_end_is_read_no_further_than_its_sentence(oracle: Oracle) -> None:
    page = answer(*(at(n, b"<p>" * 20_000) for n in range(2000)), content_type="text/html")
    record = ask(oracle, page, Timeouts(connect_s=1, first_token_s=20, idle_s=20, total_s=20))
    assert record.failure_class == "not_a_stream"
    assert record.duration_s is not None and record.duration_s < 10.0


@pytest.mark.parametrize("size", [64 << 10, 5 << 20])
def test_a_large_event_is_read_whole(oracle: Oracle, size: int) -> None:
    limits = Timeouts(connect_s=5, first_token_s=30, idle_s=30, total_s=60)
    text = "x" * size
    oracle.script(answer(at(0, content(text)), at(5, finish(), usage(1, 9), done())))
    exchange = Asker(oracle.url, limits).ask()
    assert (exchange.status, len("".join(exchange.answer.text))) == (Status.OK, size)


def test_an_event_without_end_is_given_up_before_it_fills_the_memory() -> None:
    endless, two_mb = Fed().answer, b"x" * (2 << 20)
    endless.feed(0, HEAD + b"\r\ndata: ")
    reads = 0
    while not endless.broken:
        endless.feed(1, two_mb)
        reads += 1
    assert reads <= LONGEST_EVENT // len(two_mb) + 1
    failure = endless.failure()
    assert failure is not None and (failure.failure_class, "longer than 16 MB" in failure.message) == ("protocol", True)


def test_an_event_of_endless_lines_is_given_up() -> None:
    endless, line = Fed().answer, b"data: " + b"x" * 1_000_000 + b"\n"
    endless.feed(0, HEAD + b"\r\n")
    reads = 0
    while not endless.broken and reads < 100:
        endless.feed(1, line)
        reads += 1
    assert endless.broken and reads <= 20


def test_trailers_without_end_are_given_up() -> None:
    endless = Fed().answer
    endless.feed(0, CHUNKED + chunk(content("A")) + b"0\r\n")
    sent = 0
    while not endless.broken and sent < 10 * HEADER_CHARACTERS:
        endless.feed(1, b"X-Trailer: yyyyyyyyyyyy\r\n")
        sent += 20
    assert endless.broken


COUNTS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just(10**30), st.lists(st.integers())
)


@given(prompt=COUNTS, output=COUNTS, reasoning=COUNTS)
def test_absurd_counts_are_no_counts(prompt: Any, output: Any, reasoning: Any) -> None:
    counts = {"prompt_tokens": prompt, "completion_tokens": output, "reasoning_tokens": reasoning}
    fed = Fed().feed(
        [(0, CHUNKED), (1, chunk(content("A") + data({"choices": [], "usage": counts}) + finish() + done()))]
    )
    assert fed.answer.failure() is None
    told = fed.answer.usage
    for value in (told.prompt_tokens, told.output_tokens, told.reasoning_tokens):
        assert value is None or 0 <= value <= 1_000_000_000


PIECES = st.lists(
    st.one_of(st.binary(max_size=40), st.sampled_from([content("A"), finish(), done(), b"\n\n"])), max_size=6
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=PIECES, framed=st.booleans(), stream=st.booleans(), how=st.sampled_from(["keep", "quiet", "reset"]))
def test_whatever_is_sent_ends_with_a_class_or_a_token(
    oracle: Oracle, pieces: list[bytes], framed: bool, stream: bool, how: Any
) -> None:
    sent = b"".join(pieces)
    steps = cut(0, sent, range(7, len(sent), 7), 0, framed=framed)
    record = ask(oracle, answer(steps, framing="chunked" if framed else "close", end=how), stream=stream)
    if record.status == Status.OK:
        assert record.events or record.output_tokens
    else:
        assert record.status == Status.FAILED and record.failure_class and record.message
        assert record.failure_class != "client", record.message
