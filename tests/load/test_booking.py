"""From an exchange that ended to its record: every column from where it comes."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loadband.load.booking import Asked, record_of, text_to_count
from loadband.load.connection import Connection, parse_address
from loadband.load.dialects.dialect import Dialect
from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.says import ServerError
from loadband.load.session import Session, StepMark
from loadband.record import RECORD_COLUMNS, FailureClass, Record, Status, TokenSource
from tests.load.records import session_of
from tests.load.streams import CHUNKED, DONE, LAST_CHUNK, chunk, delta, event, finish, plain, text, usage, whole

START = 50.0
OFFSET = 1_000_000.0
KEY = "sk-very-secret"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("LOADBAND_TEST_KEY", KEY)
    session = session_of(offset=OFFSET, key_variable="LOADBAND_TEST_KEY")
    session.step = StepMark(number=4, repeat=2)
    return session


ASKED = Asked(
    id="w0-9", scenario="interactive", kind="zh", user=6, step=StepMark(number=3, repeat=2), tokens_asked=120,
    max_tokens=64, think_s=0.75, in_flight=5, conversation=2, turn=1,
)  # fmt: skip


def exchange_of(
    *reads: tuple[float, bytes], status: Status = Status.OK, end: float = 1.0, dialect: Dialect | None = None
) -> Exchange:
    """An exchange that saw these reads at seconds after its start, and ended so."""
    connection = Connection(parse_address("http://target:8000"), 1.0)
    exchange = Exchange(connection, dialect or OpenAIChat(), Timeouts(), OFFSET, clock=lambda: START)
    for at, data in reads:
        exchange.answer.feed(START + at, data)
    exchange.answer.finish()
    exchange.status, exchange.end = status, START + end
    return exchange


def told(record: Record, *unknown: str) -> dict[str, Any]:
    """The columns that are known, times to the microsecond."""
    values = {name: getattr(record, name) for name in RECORD_COLUMNS}
    assert all(values[name] is None for name in unknown), unknown
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in values.items()
        if value is not None
    }


def test_a_success_column_by_column(session: Session) -> None:
    stream = whole(
        delta(reasoning="t"), text("a") + finish(),
        usage(99, 11, completion_tokens_details={"reasoning_tokens": 6}, prompt_tokens_details={"cached_tokens": 32}),
        DONE,
    )  # fmt: skip
    first, second = stream.index(b"data:"), stream.index(b'"a"')
    exchange = exchange_of((0.1, stream[:first]), (0.2, stream[first:second]), (0.7, stream[second:]), end=0.8)
    exchange.connect_s, exchange.sent_s = 0.01, 0.02
    assert told(record_of(exchange, ASKED, session), "failure_class", "message", "flags", "adapter") == {
        "id": "w0-9", "worker": "w0", "scenario": "interactive", "kind": "zh", "step": 3, "step_end": 4, "repeat": 2,
        "user": 6, "conversation": 2, "turn": 1, "started_at": 1_000_050.0, "status": "ok", "http_status": 200,
        "connect_s": 0.01, "sent_s": 0.02, "first_byte_s": 0.1, "ttft_s": 0.2, "ttfa_s": 0.7, "tpot_s": 0.05,
        "e2e_s": 0.7, "felt_s": 0.7, "itl_p50_s": 0.5, "itl_p99_s": 0.5, "itl_max_s": 0.5, "events": 2,
        "output_tokens": 11, "prompt_tokens": 99, "reasoning_tokens": 6, "cached_tokens": 32, "token_source": "usage",
        "finish_reason": "stop", "think_s": 0.75, "worker_in_flight": 5, "prompt_tokens_asked": 120, "max_tokens": 64,
        "model_answered": "m", "attempts": 1, "duration_s": 0.8,
    }  # fmt: skip


def test_nothing_came(session: Session) -> None:
    exchange = exchange_of(status=Status.FAILED, end=0.3)
    exchange.failure = ServerError(FailureClass.CONNECT, "connection refused")
    record = record_of(exchange, ASKED, session)
    known = told(
        record, "http_status", "first_byte_s", "ttft_s", "e2e_s", "felt_s", "tpot_s", "itl_max_s", "output_tokens",
        "prompt_tokens", "token_source", "tool_calls", "finish_reason", "model_answered", "connect_s",
    )  # fmt: skip
    assert (known["status"], known["failure_class"], known["message"]) == ("failed", "connect", "connection refused")
    assert (known["events"], known["duration_s"]) == (0, 0.3)


SOURCES: list[tuple[bytes, int | None, str | None, float | None, str]] = [
    (text("a") + text("b") + usage(5, 7), 7, TokenSource.USAGE, None, "the server's count"),
    (text("a") + text("b"), 2, TokenSource.EVENTS, None, "else the events"),
    (text("a"), 1, TokenSource.EVENTS, None, "one event has no TPOT"),
    (finish() + usage(5, 0), 0, TokenSource.USAGE, None, "the server says none: 0 is known"),
    (finish(), None, None, None, "no event and no count: unknown, not 0"),
    (text("a") + usage(5, -7), 1, TokenSource.EVENTS, None, "an absurd count is none"),
    (text("a") + usage(5, 0), 1, TokenSource.EVENTS, None, "none at all of what was said is no count"),
    (text("a") + usage(5, 999_999_999), 1, TokenSource.EVENTS, None, "nor is a million times what was asked for"),
    (text("a") + usage(5, 256), 256, TokenSource.USAGE, None, "more than asked, as servers do that take no limit"),
    (
        usage(5, 3) + text("a") + event({"choices": [], "usage": {"prompt_tokens": 5}}),
        3,
        TokenSource.USAGE,
        None,
        "the last count that was told",
    ),
]


@pytest.mark.parametrize(("stream", "tokens", "source", "tpot", "sentence"), SOURCES, ids=[row[4] for row in SOURCES])
def test_where_tokens_are_counted(
    *, session: Session, stream: bytes, tokens: int | None, source: str | None, tpot: float | None, sentence: str
) -> None:
    record = record_of(exchange_of((0.1, whole(stream, DONE))), ASKED, session)
    assert (record.output_tokens, record.token_source, record.tpot_s) == (tokens, source, tpot), sentence


EIGHT = [text(f"word{n}") for n in range(8)]


def stale(exchange: Exchange) -> None:
    exchange.stale = True


FLAGS: list[tuple[list[tuple[float, bytes]], Status, Callable[[Exchange], None] | None, str | None, str]] = [
    ([(0.1, whole(text("a"), finish(), DONE))], Status.OK, None, None, "nothing to say"),
    ([(0.1, whole(text("a"), finish()))], Status.OK, None, "no_done", "a success without [DONE]"),
    ([(0.1, whole(text("a")))], Status.FAILED, None, None, "a failure says it by its class"),
    ([(0.1, whole(text("a"), text("b"), DONE))], Status.OK, None, "bursty", "several events in a read"),
    ([(0.1, whole(text("a"), DONE))], Status.OK, stale, "stale_connection", "a kept connection was closed"),
    ([(0.1, whole(text("a"), text("b"), finish()))], Status.OK, stale, "bursty;no_done;stale_connection", "all"),
    ([(0.1, whole(*EIGHT, DONE))], Status.OK, None, "bursty;buffered", "all events in one read"),
    ([(0.1, whole(text("a b c d e f g h"), usage(5, 8), DONE))], Status.OK, None, "buffered", "all in one event"),
    ([(0.1, whole(finish(), usage(5, 9), DONE))], Status.OK, None, "degenerate", "tokens, and nothing said"),
    ([(0.1, whole(text("a\ufffd"), finish(), DONE))], Status.OK, None, "degenerate", "half a character"),
    ([(0.1, whole(text("a\ufffd"), finish("length"), DONE))], Status.OK, None, None, "the end was cut at its length"),
]


@pytest.mark.parametrize(("reads", "status", "do", "flags", "sentence"), FLAGS, ids=[row[4] for row in FLAGS])
def test_flags(
    *, session: Session, reads: list[tuple[float, bytes]], status: Status, do: Callable[[Exchange], None] | None,
    flags: str | None, sentence: str,
) -> None:  # fmt: skip
    exchange = exchange_of(*reads, status=status)
    if do is not None:
        do(exchange)
    assert record_of(exchange, ASKED, session).flags == flags, sentence


def test_an_answer_in_one_lump_has_no_token_speed(session: Session) -> None:
    record = record_of(exchange_of((0.1, whole(*EIGHT, usage(5, 8), DONE))), ASKED, session)
    assert [record.ttft_s, record.e2e_s, record.output_tokens] == pytest.approx([0.1, 0.1, 8])
    assert (record.tpot_s, record.itl_p50_s, record.itl_p99_s, record.itl_max_s) == (None,) * 4


def test_what_a_server_tells_is_fit_for_a_report(session: Session) -> None:
    body = {
        "model": f"m\n{KEY} \ud800" + "x" * 400,
        "choices": [{"delta": {"content": "a"}, "finish_reason": f"{KEY}\ud83d"}],
    }
    escaped = b"data: " + json.dumps(body).encode() + b"\n\n"
    exchange = exchange_of((0.1, whole(escaped, DONE)), status=Status.FAILED)
    exchange.failure = ServerError(FailureClass.STREAM_ERROR, f"denied:\r\n{KEY} \udfff" + "y" * 400)
    record = record_of(exchange, ASKED, session)
    for words in (record.model_answered, record.finish_reason, record.message):
        assert words is not None
        words.encode()
        assert KEY not in words
        assert len(words) <= 300
        assert "\n" not in words


def test_a_cut_request_keeps_what_it_saw(session: Session) -> None:
    record = record_of(exchange_of((0.1, whole(text("a"))), (0.2, b""), status=Status.CUT, end=2.0), ASKED, session)
    assert (record.status, record.failure_class, record.output_tokens, record.duration_s) == ("cut", None, 1, 2.0)


def counting(session: Session) -> Session:
    """The same, of a run with a tokenizer."""
    session.work = replace(session.work, counts_texts=True)
    return session


def test_a_text_that_nobody_counted_waits_whole_and_without_the_key(session: Session) -> None:
    half = text(" @!").replace(b"@", b"\\ud83d")
    pieces = delta(reasoning="Hm. "), text("The key "), text(f"is {KEY}"), half, finish(), DONE
    exchange = exchange_of((0.1, whole(*pieces)))
    assert text_to_count(exchange, session, 16) is None, "no tokenizer will count it"
    assert text_to_count(exchange, counting(session), 16) == "Hm. The key is *** ?!"


@pytest.mark.parametrize(
    ("stream", "sentence"),
    [(whole(text("a"), finish(), usage(9, 1), DONE), "the server counted"),
     (whole(text("a"), delta(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{}"}}]), DONE),
      "arguments of a tool call are no text that is kept"),
     (whole(DONE), "nothing was said")],
)  # fmt: skip
def test_other_texts_do_not_wait(session: Session, stream: bytes, sentence: str) -> None:
    assert text_to_count(exchange_of((0.1, stream)), counting(session), 16) is None, sentence


def test_the_text_of_an_answer_in_one_piece_waits_too(session: Session) -> None:
    message = {"reasoning_content": "Hm. ", "content": "Yes."}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    exchange = exchange_of((0.1, plain("200 OK", body)), dialect=OpenAIChat(stream=False))
    assert text_to_count(exchange, counting(session), 16) == "Hm. Yes."


def thinking(reasoning: int, output: int, shown: bytes = b"") -> Record:
    """Ten pieces of text every 10 ms from 800 ms on, with these counts; `shown` before them at 300 ms."""
    reads = [(0.3, CHUNKED + (chunk(shown) if shown else b""))]
    reads += [(0.8 + 0.01 * n, chunk(text("a "))) for n in range(10)]
    counts = usage(20, output, completion_tokens_details={"reasoning_tokens": reasoning})
    reads.append((0.9, chunk(finish()) + chunk(counts) + chunk(DONE) + LAST_CHUNK))
    return record_of(exchange_of(*reads), ASKED, session_of())


def test_reasoning_that_is_counted_and_never_shown_is_in_no_pace() -> None:
    record = thinking(50, 60)
    assert (record.output_tokens, record.reasoning_tokens, record.flags) == (60, 50, "hidden_reasoning")
    assert record.tpot_s == pytest.approx(0.010)
    assert record.ttft_s == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("reasoning", "output", "shown", "sentence"),
    [(50, 60, delta(reasoning="hm"), "it was shown"), (6, 10, b"", "it stands in the text: an event for each token"),
     (0, 60, b"", "there was none"), (70, 60, b"", "counts that cannot be")],
)  # fmt: skip
def test_reasoning_that_is_not_hidden_counts_as_ever(reasoning: int, output: int, shown: bytes, sentence: str) -> None:
    record = thinking(reasoning, output, shown)
    assert record.flags is None, sentence
    assert record.tpot_s == pytest.approx((0.89 - (0.3 if shown else 0.8)) / (output - 1)), sentence


def test_who_answered_behind_a_router_is_on_record() -> None:
    stream = whole(text("a"), finish(), DONE).replace(b"\r\n\r\n", b"\r\nX-Served-By: pod-7\r\n\r\n", 1)
    assert record_of(exchange_of((0.1, stream)), ASKED, session_of()).backend == "pod-7"
    assert record_of(exchange_of((0.1, whole(text("a"), DONE))), ASKED, session_of()).backend is None
