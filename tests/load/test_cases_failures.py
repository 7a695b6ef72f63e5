"""How answers go wrong, over a real connection: the class of each, and that its numbers stay out of the good ones."""

import pytest

from loadband.load.exchange import Timeouts
from loadband.record import FailureClass, Record, Status
from tests.load.asking import Asker, booked
from tests.oracle import Oracle, answer, at, comment, content, data, done, finish, hang, role, rule, tokens, usage
from tests.oracle.answers import Answer
from tests.oracle.faults import breaks_off, error, fails_inside, json_body, silent, stalls, throttled

MESSAGE = {"message": "the engine met an issue", "type": "InternalServerError", "param": None, "code": 500}
INSIDE: list[tuple[Answer, int, str, str]] = [
    (fails_inside(30, 2), 30, "stream_error", "an object, and [DONE] after it"),
    (fails_inside(30, 2, data({"error": "generation failed", "error_type": "x"})), 30, "stream_error", "a string"),
    (fails_inside(30, 2, data({"object": "error", "message": "x", "code": 400})), 30, "stream_error", "error object"),
    (fails_inside(30, 2, b"event: error\n" + data({"type": "error", "error": {"type": "overloaded_error"}})), 30,
     "throttled", "an event called error"),
    (fails_inside(0, 2), 0, "stream_error", "before any token"),
    (fails_inside(0, 2, data({"error": {"message": "the queue is full", "code": 503}})), 0, "throttled", "overload"),
    (json_body({"error": MESSAGE}), 0, "stream_error", "in one piece, with 200"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "events", "kind", "sentence"), INSIDE, ids=[row[3] for row in INSIDE])
def test_an_error_inside_a_200_is_a_failure(
    oracle: Oracle, told: Answer, events: int, kind: str, sentence: str
) -> None:
    oracle.script(told)
    record = booked(Asker(oracle.url).ask())
    assert (record.status, record.failure_class, record.http_status) == (Status.FAILED, kind, 200), sentence
    assert record.events == events
    assert record.message


def test_what_broke_off_is_counted_apart_from_what_succeeded(oracle: Oracle) -> None:
    good = tokens(ttft_ms=5, itl_ms=2, n=100)
    broken = fails_inside(30, 2)
    oracle.script(*[good] * 4, broken, *[good] * 4, broken)
    asker = Asker(oracle.url)
    records = [booked(asker.ask(max_tokens=100)) for _ in range(10)]
    by_status: dict[str, list[Record]] = {}
    for record in records:
        by_status.setdefault(record.status, []).append(record)
    assert {status: len(found) for status, found in by_status.items()} == {"ok": 8, "failed": 2}
    assert sum(record.output_tokens or 0 for record in by_status["ok"]) == 800
    assert sum(record.output_tokens or 0 for record in by_status["failed"]) == 60


def test_a_reset_in_mid_answer_fails_every_time_and_users_go_on(oracle: Oracle) -> None:
    oracle.script(breaks_off(6, 10, how="reset"))
    asker = Asker(oracle.url)
    records = [booked(asker.ask()) for _ in range(4)]
    assert [(record.failure_class, record.events) for record in records] == [("reset", 6)] * 4
    assert len(oracle.log().requests) == 4


def test_every_second_request_throttled_and_none_sent_again(oracle: Oracle) -> None:
    oracle.script(throttled(), answer(at(60, content("a"), finish(), done())))
    asker = Asker(oracle.url)
    records = [booked(asker.ask()) for _ in range(20)]
    assert [record.failure_class for record in records] == ["throttled", None] * 10
    assert {record.attempts for record in records} == {1}
    assert all(record.ttft_s is None for record in records[::2])
    assert sorted(record.ttft_s or 0.0 for record in records[1::2])[5] < 0.5
    assert len(oracle.log().requests) == 20


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_late_rejection_is_throttled_and_no_latency(oracle: Oracle, status: int) -> None:
    oracle.script(error(status, "too many waiting", after_ms=300))
    record = booked(Asker(oracle.url).ask())
    assert (record.failure_class, record.message) == ("throttled", "too many waiting")
    assert (record.ttft_s, record.e2e_s) == (None, None)
    assert record.duration_s is not None and record.duration_s >= 0.299


def test_an_answer_that_the_server_broke_off_is_told_from_a_whole_one(oracle: Oracle) -> None:
    whole = answer(at(0, content("a"), content("b"), finish("length"), done()))
    broken_off = answer(at(0, content("a"), done()))
    oracle.script(broken_off, whole, broken_off)
    asker = Asker(oracle.url)
    first, second, third = (booked(asker.ask()) for _ in range(3))
    assert first.status == Status.OK, "nobody knows yet that this server gives reasons"
    assert second.status == Status.OK
    assert (third.failure_class, third.events) == ("truncated", 1)
    assert "without the finish reason" in (third.message or "")


QUICK = Timeouts(connect_s=0.3, first_token_s=0.4, idle_s=0.4, total_s=3.0)


@pytest.mark.parametrize("framing", ["chunked", "close"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize(
    ("told", "kind", "after_s"),
    [("silent", "timeout_first_token", 0.4), ("role", "timeout_first_token", 0.4), ("stalls", "timeout_idle", 0.4),
     ("endless", "timeout_total", 3.0)],
)  # fmt: skip
def test_each_limit_holds_on_every_kind_of_connection(
    *, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, framing: str, tls: bool, told: str, kind: str,
    after_s: float,
) -> None:  # fmt: skip
    server: Oracle = request.getfixturevalue("oracle_tls" if tls else "oracle")
    if tls:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.cafile))
    steps = {
        "silent": [hang(0)],
        "role": [at(0, role()), hang(1)],
        "stalls": [at(0, content("A")), hang(1)],
        "endless": [at(100 * n, content("A")) for n in range(100)],
    }
    server.script(silent() if told == "silent" else answer(*steps[told], framing=framing))  # type: ignore[arg-type]
    record = booked(Asker(server.url, QUICK).ask())
    assert record.failure_class == kind, record.message
    assert record.duration_s is not None and after_s - 0.01 <= record.duration_s < after_s + 2.0


def test_a_slow_answer_inside_its_limits_is_a_success(oracle: Oracle) -> None:
    oracle.script(answer(*(at(200 * n, content(f"{n} ")) for n in range(10)), at(1900, finish(), usage(1, 10), done())))
    record = booked(Asker(oracle.url, QUICK).ask())
    assert (record.status, record.events) == (Status.OK, 10)


def test_comments_do_not_stand_for_a_first_token(oracle: Oracle) -> None:
    oracle.script(answer(*(at(100 * n, comment()) for n in range(20)), hang(2000)))
    record = booked(Asker(oracle.url, QUICK).ask())
    assert record.failure_class == FailureClass.TIMEOUT_FIRST_TOKEN


@pytest.mark.parametrize("last", [done(), finish()], ids=["done", "a finish reason"])
def test_a_server_that_babbles_on_after_its_last_word_ends_all_the_same(oracle: Oracle, last: bytes) -> None:
    oracle.script(answer(at(0, content("A"), last), *(at(20 * n, comment()) for n in range(1, 400))))
    record = booked(Asker(oracle.url, QUICK).ask())
    assert record.status == Status.OK
    assert record.duration_s is not None and record.duration_s < QUICK.total_s + 2.0


def test_a_stall_frees_its_user(oracle: Oracle) -> None:
    oracle.script(rule(stalls(2, 10), times=1), rule(tokens(n=3)))
    asker = Asker(oracle.url, QUICK)
    assert [booked(asker.ask()).failure_class for _ in range(2)] == ["timeout_idle", None]
