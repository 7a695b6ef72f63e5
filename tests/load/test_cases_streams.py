"""Streams as people met them, over a real connection: first token, last token, pace and counts of each.

The oracle sends them by the millisecond and stamps what it really sent; a moment is right when it lies within 20 ms
of that. On a busy machine one of a few tries must do so: a late client is not what is tested here.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from loadband.load.exchange import Exchange
from loadband.record import Record, Status
from tests.load.asking import Asker, booked
from tests.oracle import (
    Oracle,
    answer,
    at,
    comment,
    content,
    cut,
    data,
    delta,
    done,
    finish,
    glued,
    reasoning,
    role,
    tool_call,
    usage,
)
from tests.oracle.answers import Answer
from tests.oracle.log import Request
from tests.oracle.wire import dumps

TRIES = 4
WITHIN_MS = 20.0


@dataclass(frozen=True)
class Case:
    """What is sent, and what must be said of it; times in milliseconds, None where there must be none."""

    sentence: str
    told: Answer
    text: str
    events: int
    ttft: float | None
    e2e: float | None
    tpot: float | None = None
    tokens: int | None = None
    ttfa: float | None = None
    api: str = "openai-chat"
    stream: bool = True
    more: dict[str, Any] = field(default_factory=dict)
    """Further columns of the record."""


def lines(*moments: tuple[float, bytes], kind: str = "application/x-ndjson") -> Answer:
    return answer(*(at(ms, sent) for ms, sent in moments), content_type=kind)


def so_far(end: bytes) -> Answer:
    """All that was said, again with each token."""
    said = ("hello A", "hello A B", "hello A B C")
    return lines(*((100 + 50 * n, dumps({"text": [text]}) + end) for n, text in enumerate(said)))


GLUED = b"".join(content(each) for each in "xyz").replace(b"\n", b"\r\n")
LATE = content("p q")
LAST = content("r").replace(b"data: ", b"data:") + b"data:[DONE]\n\n"
FILTER = {"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
OFFSETS = {"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 3}}]}
EVERY_50 = [at(300 + 50 * n, content(f"w{n} " + "." * 60)) for n in range(20)]
THINKS = [at(300 + 10 * n, reasoning("t")) for n in range(50)]
SPEAKS = [at(800 + 10 * n, content("a")) for n in range(10)]

END = [at(890, finish(), usage(20, 60), done())]


def thinking(**parts: Any) -> list[Any]:
    return [at(300 + 10 * n, delta(parts)) for n in range(50)]


def token(text: str, **more: Any) -> bytes:
    return data({"token": {"text": text, "special": False}, "generated_text": None, "details": None, **more})


CASES = [
    Case("comments are life and no token",
         answer(at(150, comment()), at(350, comment(" PROCESSING")), at(450, b":\n\n"), at(550, content("x")),
                at(600, content("y")), at(650, content("z"), finish(), usage(9, 3), done())),
         "xyz", 3, 550, 650, 50, 3),
    Case("glued, CRLF, cut anywhere, no space",
         answer(glued(300, GLUED), at(500, LATE[:2]), at(505, LATE[2:40]), at(550, LATE[40:-1]), at(600, LATE[-1:]),
                at(650, LAST)),
         "xyzp qr", 5, 300, 650, 87.5, more={"token_source": "events"}),
    Case("notes of a content filter",
         answer(at(80, data(FILTER)), at(200, role()), at(350, content("Ok")), at(400, data(OFFSETS)),
                at(450, content("."), finish(), done())),
         "Ok.", 2, 350, 450, 100, more={"token_source": "events", "flags": None}),
    Case("twenty small events, chunked", answer(*EVERY_50, at(1250, finish(), usage(5, 20), done())),
         "".join(f"w{n} " + "." * 60 for n in range(20)), 20, 300, 1250, 50, 20),
    Case("the same, ended by the close",
         answer(*EVERY_50, at(1250, finish(), usage(5, 20), done()), framing="close"),
         "".join(f"w{n} " + "." * 60 for n in range(20)), 20, 300, 1250, 50, 20),
    Case("the whole answer again with each token",
         so_far(b"\n"),
         " A B C", 3, 100, 200, 50, api="vllm-generate"),
    Case("the same, parted by NUL",
         so_far(b"\0"),
         " A B C", 3, 100, 200, 50, api="vllm-generate"),
    Case("Triton", answer(*(at(ms, data({"model_name": "m", "text_output": " a"})) for ms in (100, 150, 200))),
         " a a a", 3, 100, 200, 50, api="triton"),
    Case("TGI: its text is not doubled",
         answer(at(100, token("A").replace(b"data: ", b"data:")),
                at(150, token("B", generated_text="AB", details={"finish_reason": "length", "generated_tokens": 2}))),
         "AB", 2, 100, 150, 50, 2, api="tgi"),
    Case("Ollama: one token has no speed",
         lines((100, b'{"model":"m","response":"A","done":false}\n'),
               (150, b'{"model":"m","response":"","done":true,"eval_count":1,"eval_duration":1000}\n')),
         "A", 1, 100, 100, None, 1, api="ollama", more={"prompt_tokens": None}),
    Case("the role is no token",
         answer(at(20, role()), at(350, content("A")), at(400, content("B"), finish(), usage(5, 2), done())),
         "AB", 2, 350, 400, 50, 2),
    Case("a late usage moves nothing",
         answer(at(200, content("Yes")), at(500, finish(), usage(5, 1), done())), "Yes", 1, 200, 200, None, 1),
    Case("it thinks, then it speaks",
         answer(at(10, role()), *THINKS, *SPEAKS, *END), "a" * 10, 60, 300, 890, 10, 60,
         ttfa=800),
    Case("the newer name of the field",
         answer(at(10, role()), *thinking(reasoning="t"), *SPEAKS, *END), "a" * 10, 60,
         300, 890, 10, 60, ttfa=800),
    Case("with null beside it",
         answer(*thinking(reasoning_content="t", content=None), *SPEAKS, *END), "a" * 10,
         60, 300, 890, 10, 60, ttfa=800),
    Case("with an empty text beside it",
         answer(*thinking(reasoning_content="t", content=""), *SPEAKS, *END), "a" * 10,
         60, 300, 890, 10, 60, ttfa=800),
    Case("cut while it thought",
         answer(*THINKS, at(790, finish("length"), usage(20, 50), done())), "", 50, 300, 790, 10, 50),
    Case("a tool call alone",
         answer(at(20, role()), at(200, tool_call("", "f")), at(250, tool_call('{"x":')), at(300, tool_call("1}")),
                at(300, finish("tool_calls"), usage(20, 11), done())),
         "", 3, 200, 300, 10, 11, more={"tool_calls": 1, "flags": None}),
    Case("several tokens in a piece",
         answer(*(at(ms, content("a b c d")) for ms in (100, 130, 160, 190)),
                at(220, content("a b c d"), finish(), usage(10, 20), done())),
         "a b c d" * 5, 5, 100, 220, 120 / 19, 20),
    Case("eleven tokens are ten gaps",
         answer(*(at(500 + 20 * n, content(f"{n} ")) for n in range(11)), at(700, finish(), usage(5, 11), done())),
         "".join(f"{n} " for n in range(11)), 11, 500, 700, 20, 11),
    Case("one token", answer(at(100, content("x"), finish(), usage(5, 1), done())), "x", 1, 100, 100, None, 1),
    Case("fifteen spaces are fifteen tokens by the server's count",
         answer(*(at(100 + 10 * n, content(" ")) for n in range(15)), at(240, finish(), usage(5, 15), done())),
         " " * 15, 15, 100, 240, 10, 15, more={"token_source": "usage"}),
]  # fmt: skip


def moments(exchange: Exchange, request: Request) -> dict[str, float]:
    """Milliseconds since the server had read the request, by the client's own stamps."""
    clock, start = exchange.tokens, request.read_at
    timing = clock.timing()
    found = {"ttft": timing.ttft_s, "e2e": timing.e2e_s, "ttfa": timing.ttfa_s}
    return {name: (value + exchange.start - start) * 1e3 for name, value in found.items() if value is not None}


def off(case: Case, exchange: Exchange, record: Record, request: Request) -> list[str]:
    """Which moments are not where they should be."""
    seen = moments(exchange, request)
    wanted = {"ttft": case.ttft, "e2e": case.e2e, "ttfa": case.ttfa if case.ttfa is not None else seen.get("ttfa")}
    wrong = [
        f"{name} {seen.get(name)} instead of {value}"
        for name, value in wanted.items()
        if (value is None) != (name not in seen) or (value is not None and abs(seen[name] - value) > WITHIN_MS)
    ]
    tpot = None if record.tpot_s is None else record.tpot_s * 1e3
    if (tpot is None) != (case.tpot is None) or (tpot and case.tpot and abs(tpot - case.tpot) > 0.1 * case.tpot):
        wrong.append(f"tpot {tpot} instead of {case.tpot}")
    return wrong


@pytest.mark.timing
@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_a_stream_is_timed_and_counted(oracle: Oracle, case: Case) -> None:
    wrong: list[str] = []
    for _ in range(TRIES):
        oracle.reset()
        oracle.script(case.told)
        exchange = Asker(oracle.url, api=case.api, stream=case.stream).ask()
        record = booked(exchange)
        assert (record.status, record.failure_class, record.message) == (Status.OK, None, None)
        assert ("".join(exchange.answer.text), record.events) == (case.text, case.events)
        assert record.output_tokens == (case.events if case.tokens is None else case.tokens)
        assert {name: getattr(record, name) for name in case.more} == case.more
        wrong = off(case, exchange, record, oracle.log().requests[0])
        if not wrong:
            seen = moments(exchange, oracle.log().requests[0])
            tpot = None if record.tpot_s is None else round(record.tpot_s * 1e3, 2)
            print(f"{case.sentence}: TTFT {seen['ttft']:.1f}, E2E {seen['e2e']:.1f}, TPOT {tpot}")
            return
    pytest.fail("; ".join(wrong))


def test_an_answer_in_one_piece_behind_blank_lines(oracle: Oracle) -> None:
    choice = {"message": {"content": "A B"}, "finish_reason": "stop"}
    whole = dumps({"choices": [choice], "usage": {"completion_tokens": 2, "prompt_tokens": 4}})
    blank = [at(100 * n, b"\n") for n in range(5)]
    oracle.script(answer(*blank, at(500, whole), content_type="application/json"))
    record = booked(Asker(oracle.url, stream=False).ask())
    assert (record.status, record.ttft_s, record.output_tokens, record.tpot_s) == (Status.OK, None, 2, None)
    assert record.e2e_s is not None and 0.49 < record.e2e_s < 3.0


def test_a_character_cut_at_any_byte_is_whole(oracle: Oracle) -> None:
    sent = content("\u4e2d")
    oracle.script(*(
        answer(cut(0, sent, [place], 4), at(8, finish(), done())) for place in range(1, len(sent))
    ))  # fmt: skip
    asker = Asker(oracle.url)
    exchanges = [asker.ask() for _ in range(1, len(sent))]
    assert {exchange.status for exchange in exchanges} == {Status.OK}
    assert {"".join(exchange.answer.text) for exchange in exchanges} == {"\u4e2d"}


def test_six_empty_answers_beside_six_good_ones(oracle: Oracle) -> None:
    empty = answer(at(5, role(), finish(), usage(5, 0), done()))
    good = answer(at(5, role()), at(100, content("A")), at(120, content("B"), finish(), usage(5, 2), done()))
    oracle.script(empty, good)
    asker = Asker(oracle.url)
    records = [booked(asker.ask()) for _ in range(12)]
    assert [record.failure_class for record in records] == ["empty", None] * 6
    assert all(record.ttft_s is None for record in records[::2])
    assert all(record.ttft_s is not None and record.ttft_s >= 0.099 for record in records[1::2])
