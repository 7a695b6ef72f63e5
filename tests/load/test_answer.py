"""One answer from HTTP bytes to verdict: the right times and counts, and the class of every end."""

from collections.abc import Sequence
from typing import Any

import pytest

from loadband.load.says import Usage
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
    streamed,
    text,
    usage,
    whole,
)

Writes = Sequence[tuple[float, bytes]]


def ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def times(answer: Fed) -> tuple[float | None, ...]:
    """TTFT, TTFA, E2E and TPOT in milliseconds."""
    timing = answer.clock.timing()
    tpot = answer.clock.tpot(answer.answer.usage.output_tokens)
    return ms(timing.ttft_s), ms(timing.ttfa_s), ms(timing.e2e_s), ms(tpot)


THINKING: Writes = [(10, ROLE), *((at, delta(reasoning_content="t")) for at in range(300, 800, 10))]
SPEAKING: Writes = [(at, text("a")) for at in range(800, 900, 10)]
CALL = {"index": 0, "function": {"name": "f", "arguments": "{}"}}

GOOD: list[tuple[Writes, tuple[float | None, ...], str]] = [
    ([(250, b": keep-alive\n\n"), (400, b":\n\n"), (700, text("A")), (750, text("B")),
      (800, text("C") + finish() + usage(9, 3) + DONE)], (700, 700, 800, 50), "comments do not stop the clock"),
    ([(30, ROLE), (400, text("A")), (440, text("B") + finish() + usage(5, 2) + DONE)], (400, 400, 440, 40),
     "the role is no token"),
    ([(200, text("A")), (600, finish() + usage(5, 1) + DONE)], (200, 200, 200, None), "a late usage is no token"),
    ([*THINKING, *SPEAKING, (900, finish() + usage(9, 60) + DONE)], (300, 800, 890, 10), "thinking, then an answer"),
    ([*THINKING, (800, finish("length") + usage(9, 50) + DONE)], (300, None, 790, 10), "cut while it thought"),
    ([(at, text("a b c d")) for at in range(100, 230, 30)] + [(230, finish() + usage(9, 20) + DONE)],
     (100, 100, 220, 6.316), "several tokens an event"),
    ([(300, delta(tool_calls=[CALL])), (340, finish("tool_calls") + usage(9, 2) + DONE)], (300, None, 300, None),
     "a tool call alone"),
    ([(100, event({"choices": [], "prompt_filter_results": []})), (250, ROLE), (420, text("A")),
      (450, event({"choices": [{"index": 0, "content_filter_offsets": {}}]})), (500, text("!") + finish() + DONE)],
     (420, 420, 500, None), "a content filter's notes are neither tokens nor errors"),
    ([(100, text("A")), (150, finish())], (100, 100, 100, None), "a finish reason is end enough"),
    ([(100, text("A")), (150, DONE)], (100, 100, 100, None), "[DONE] is end enough"),
]  # fmt: skip


@pytest.mark.parametrize(("writes", "expected", "sentence"), GOOD, ids=[row[2] for row in GOOD])
def test_a_success_and_its_times(writes: Writes, expected: tuple[float | None, ...], sentence: str) -> None:
    answer = streamed(*writes)
    assert answer.answer.failure() is None
    assert times(answer) == expected, sentence


def test_glued_events_and_events_in_fragments() -> None:
    glued = (text("A") + text("B") + text("C")).replace(b"\n", b"\r\n")
    late = text("a b")
    last = text("c").replace(b"data: ", b"data:") + b"data:[DONE]\n\n"
    answer = streamed((300, glued), (510, late[:2]), (515, late[2:60]), (590, late[60:-1]), (600, b"\n"), (650, last))
    assert answer.outcome()[:5] == (None, 200, True, "ABCa bc", 5)
    assert times(answer)[:3] == (300, 300, 650)
    assert [ms(gap) for gap in answer.clock.gaps] == [300, 50], "an event is there when its last byte is"


COUNTS: list[tuple[bytes, Usage, str]] = [
    (text("A") + finish() + usage(5, 3) + DONE, Usage(3, 5), "usage in an event of its own"),
    (event({"choices": [{"delta": {"content": "A"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3}}) + DONE, Usage(3, 5), "usage with the last token"),
    (text("A") + usage(5, 1) + text("B") + usage(5, 2) + text("C") + usage(5, 3) + finish() + DONE, Usage(3, 5),
     "usage after each token: the last, never a sum"),
    (text("A") + event({"choices": [], "usage": None}) + usage(5, 3) + finish() + DONE, Usage(3, 5), "null before it"),
    (text("A") + usage(5, 3) + event({"choices": [], "usage": None}) + finish() + DONE, Usage(3, 5), "null after it"),
    (text("A") + finish() + DONE, Usage(), "none told"),
    (text("A") + finish() + usage(5, -1) + DONE, Usage(None, 5), "an absurd count is none"),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "counts", "sentence"), COUNTS, ids=[row[2] for row in COUNTS])
def test_token_counts(stream: bytes, counts: Usage, sentence: str) -> None:
    answer = fed((100, whole(stream)))
    assert answer.answer.failure() is None
    assert answer.answer.usage == counts, sentence


def test_what_is_known_along_the_way() -> None:
    answer = Fed().answer
    assert (answer.first_byte, answer.http_status, answer.is_stream, answer.last_word) == (None, None, False, False)
    answer.feed(0.1, CHUNKED[:20])
    assert (answer.first_byte, answer.http_status) == (0.1, None), "half a header is no status"
    answer.feed(0.2, CHUNKED[20:] + chunk(text("A")))
    assert (answer.first_byte, answer.http_status, answer.is_stream, answer.last_word) == (0.1, 200, True, False)
    answer.feed(0.3, chunk(finish()))
    assert (answer.last_word, answer.broken, answer.complete) == (True, False, False)
    answer.feed(0.4, b"no chunk\r\n")
    assert answer.broken


def test_a_sentence_is_kept_and_not_a_whole_body() -> None:
    failure = fed((0, plain("500 Oops", b"x" * 500_000, "text/plain"))).answer.failure()
    assert failure is not None
    assert len(failure.message) == 300


SENTENCES = [
    (b'{"error":{"message":"no key","type":"auth"}}', "no key", "of an error object"),
    (b'{"error":"no key"}', "no key", "of a string"),
    (b'{"object":"error","message":"no key"}', "no key", "of an object named error"),
    (b'{"detail":"no key"}', "no key", "of a detail"),
    (b'{"message":"no key"}', "no key", "of a message alone"),
    (b'{"reason":1}', '{"reason": 1}', "of an unknown object: all of it"),
    (b"no key", "no key", "of plain text"),
]


@pytest.mark.parametrize(("body", "words", "sentence"), SENTENCES, ids=[row[2] for row in SENTENCES])
def test_the_servers_own_sentence(body: bytes, words: str, sentence: str) -> None:
    failure = fed((0, plain("401 Unauthorized", body))).answer.failure()
    assert failure is not None
    assert failure.message == words, sentence


def test_tool_calls_are_counted_where_they_begin() -> None:
    more = {"index": 0, "function": {"arguments": "1"}}
    stream = whole(delta(tool_calls=[CALL]), delta(tool_calls=[more]), delta(tool_calls=[CALL, CALL]), DONE)
    assert fed((0, stream)).answer.tool_calls == 3


def test_an_error_in_mid_answer_keeps_what_came_before() -> None:
    told = event({"error": {"message": "the engine met an issue", "code": 500}})
    answer = streamed(*((10 * n, text("t")) for n in range(1, 31)), (310, told + DONE))
    failure = answer.answer.failure()
    assert failure is not None
    assert (failure.failure_class, failure.message) == ("stream_error", "the engine met an issue")
    assert answer.clock.events == 30
    assert answer.answer.last_word, "nobody waits for more"


def error(**body: Any) -> bytes:
    return whole(text("A"), event(body))


FAILED: list[tuple[bytes, str, str, str]] = [
    (error(error="out of memory", error_type="generation"), "stream_error", "out of memory", "a string in the stream"),
    (error(object="error", message="bad luck", code=400), "stream_error", "bad luck", "an object named error"),
    (whole(text("A"), b'event: error\ndata: {"message":"no room"}\n\n', DONE), "stream_error", "no room",
     "an event named error"),
    (whole(event({"error": {"message": "no GPU"}}), DONE), "stream_error", "no GPU", "an error before any token"),
    (whole(event({"error": {"message": "queue full", "code": 503}}), usage(0, 0), DONE), "throttled", "queue full",
     "a refusal inside a 200"),
    (whole(ROLE, finish(), usage(5, 0), DONE), "empty", "no token", "no token though all went well"),
    (whole(DONE), "empty", "no token", "[DONE] alone"),
    (whole(text("A"), finish("abort"), DONE), "truncated", "finish reason abort", "an engine that shuts down"),
    (whole(text("A"), finish("error"), DONE), "stream_error", "finish reason error", "an engine that failed"),
    (CHUNKED + LAST_CHUNK, "empty", "no body", "a stream without a body"),
    (whole(text("A")), "truncated", "without [DONE]", "no end was told"),
    (CHUNKED + chunk(text("A")), "truncated", "without [DONE]", "the connection was closed in mid-answer"),
    (CHUNKED + chunk(text("A"))[:-9], "truncated", "without [DONE]", "closed in mid-event"),
    (CHUNKED, "truncated", "without [DONE]", "closed after the headers"),
    (HEAD + b"\r\n" + text("A") + text("B")[:30], "truncated", "without [DONE]", "half an event is no fault of form"),
    (HEAD + b"Content-Length: 999\r\n\r\n" + text("A"), "truncated", "without [DONE]", "shorter than its length"),
    (whole(b"data: hello\n\n", DONE), "protocol", "hello", "an event that is no JSON"),
    (plain("200 OK", b'{"choices":[{"message":{"content":"all"}}]}'), "not_a_stream", "in one piece", "one piece"),
    (plain("200 OK", b'\n\n\n{"choices":[{"message":{}}]}'), "not_a_stream", "in one piece", "blank lines before it"),
    (plain("200 OK", b'{"error":{"message":"broken"}}'), "stream_error", "broken", "an error in one piece"),
    (plain("200 OK", b"<html>Welcome</html>", "text/html"), "not_a_stream", "<html>Welcome", "a web page"),
    (plain("200 OK", b""), "empty", "no body", "no body"),
    (b"HTTP/1.1 204 No Content\r\n\r\n", "empty", "no body", "no content"),
    (plain("401 Unauthorized", b'{"error":{"message":"no key"}}'), "http_401", "no key", "no key"),
    (plain("500 Oops", b'data: {"error":"dead"}\n\n', "text/event-stream"), "http_500", "dead", "so told"),
    (CHUNKED + chunk(event({"error": "dead"})) + b"no length\r\n", "stream_error", "dead", "the first fault counts"),
    (plain("200 OK", b'{"choices":[{}]}')[:-3], "not_a_stream", "no stream of events", "half an answer in one piece"),
    (plain("404 Not Found", b'{"detail":"Not Found"}'), "http_404", "Not Found", "no such path"),
    (plain("404 Not Found", b""), "http_404", "Not Found", "no words but the status"),
    (b"HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n", "http_599", "HTTP 599", "no words at all"),
    (plain("422 Unprocessable", b'{"detail":[{"loc":["body"],"msg":"forbidden"}]}'), "http_422", '"msg": "forbidden"',
     "a field that is not taken"),
    (plain("429 Too Many Requests", b'{"error":"slow down"}'), "throttled", "slow down", "too many requests"),
    (plain("503 Service Unavailable", b"upstream is busy", "text/plain"), "throttled", "upstream is busy", "busy"),
    (plain("529 Overloaded", b'{"message":"later"}'), "throttled", "later", "overloaded"),
    (plain("500 Oops", b'{"error":{"message":"context deadline exceeded"}}'), "http_500", "deadline", "a fault"),
    (plain("400 Bad Request", b'{"message":"maximum context length is 99 tokens"}'), "context_length", "99 tokens",
     "too long a prompt"),
    (plain("400 Bad Request", b'{"message":"no such model"}'), "http_400", "no such model", "another bad request"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "protocol", "SSH-2.0", "another protocol"),
    (b"\x15\x03\x01\x00\x02\x02\x28", "protocol", "not HTTP", "a TLS alert"),
    (CHUNKED + chunk(text("A")) + b"no length\r\n", "protocol", "not HTTP", "a chunk without its length"),
    (b"", "reset", "before it sent a whole header", "nothing"),
    (b"HTTP/1.1 200 OK\r\nContent-Ty", "reset", "before it sent a whole header", "half a header"),
    (b"HTTP/1.1 100 Continue\r\n\r\n", "reset", "before it sent a whole header", "an interim answer alone"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "told", "words", "sentence"), FAILED, ids=[row[3] for row in FAILED])
def test_a_failure_and_its_class(data: bytes, told: str, words: str, sentence: str) -> None:
    failure = fed((100, data)).answer.failure()
    assert failure is not None, sentence
    assert failure.failure_class == told, sentence
    assert words in failure.message, sentence


BROKEN: list[tuple[bytes, str | None, str]] = [
    (b"", "reset", "before the header"),
    (CHUNKED, "reset", "before the first event"),
    (CHUNKED + chunk(text("A") * 6), "reset", "in mid-answer"),
    (CHUNKED + chunk(text("A"))[:40], "reset", "in mid-event"),
    (plain("200 OK", b'{"choices": []}')[:-5], "reset", "in a body that is no stream"),
    (CHUNKED + chunk(event({"error": "lost"})), "stream_error", "after the server said why"),
    (CHUNKED + chunk(text("A") + finish()), None, "after the finish reason"),
    (CHUNKED + chunk(text("A") + DONE), None, "after [DONE]"),
]


@pytest.mark.parametrize(("data", "told", "sentence"), BROKEN, ids=[row[2] for row in BROKEN])
def test_a_connection_that_broke(data: bytes, told: str | None, sentence: str) -> None:
    failure = fed((100, data)).answer.failure(ConnectionResetError(104, "Connection reset by peer"))
    assert (failure and failure.failure_class) == told, sentence
    if told == "reset":
        assert failure is not None
        assert "Connection reset by peer" in failure.message
