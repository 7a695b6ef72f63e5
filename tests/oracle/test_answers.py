"""Scripts as values: which bytes an answer is, which answer a request gets."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import (
    Answer,
    Rule,
    answer,
    at,
    close,
    content,
    cut,
    data,
    done,
    finish,
    glued,
    raw,
    reasoning,
    recut,
    role,
    rule,
    tokens,
    usage,
    whole_wire,
)
from tests.oracle.script import Asked, Chooser, Told

ONE = answer(at(0, role(), content("中"), finish("stop"), usage(5, 1), done()))


@pytest.mark.parametrize(
    ("made", "bytes_of_the_case"),
    [
        (
            role(),
            b'data: {"id":"c1","object":"chat.completion.chunk","choices":'
            b'[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n',
        ),
        (
            reasoning("x", "reasoning"),
            b'data: {"id":"c1","object":"chat.completion.chunk","choices":'
            b'[{"index":0,"delta":{"reasoning":"x"},"finish_reason":null}]}\n\n',
        ),
        (
            usage(10, 3),
            b'data: {"id":"c1","object":"chat.completion.chunk","choices":[],'
            b'"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}\n\n',
        ),
        (data("[DONE]"), done()),
    ],
)
def test_the_notation_gives_the_bytes_of_the_cases(made: bytes, bytes_of_the_case: bytes) -> None:
    assert made == bytes_of_the_case


def test_each_framing_says_how_its_body_ends() -> None:
    steps = at(0, b"data: a\n\n")
    assert whole_wire(answer(steps)).endswith(b"\r\n\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n")
    assert b"Content-Length: 9\r\n" in whole_wire(answer(steps, framing="length"))
    assert b"Connection: close\r\n" in whole_wire(answer(steps, framing="close"))
    assert whole_wire(answer(steps, framing="raw")) == b"data: a\n\n"


def test_line_ends_change_in_events_and_nowhere_else() -> None:
    sent = whole_wire(answer(at(0, content("a\nb")), raw(0, b"\n"), framing="raw", eol="\r\n"))
    assert sent == content("a\nb").replace(b"\n", b"\r\n") + b"\n"


def test_a_step_that_ends_the_connection_ends_the_answer() -> None:
    broken = answer(at(0, content("a")), close(5), at(9, content("never")))
    assert not whole_wire(broken).endswith(b"0\r\n\r\n")
    assert b"never" not in whole_wire(broken)


@given(st.lists(st.integers(1, len(whole_wire(ONE)) - 1), max_size=8))
def test_cut_anywhere_the_bytes_stay_the_same(positions: list[int]) -> None:
    assert whole_wire(recut(ONE, positions, 1)) == whole_wire(ONE)


def test_cut_parts_come_one_after_another() -> None:
    parts = cut(100, content("中"), [5, 2], 20)
    assert [part.at_ms for part in parts] == [100, 120, 140]
    assert b"".join(part.data for part in parts) == content("中")


def test_glued_events_are_one_write_and_separate_ones_are_not() -> None:
    assert len(glued(0, content("a"), content("b"))) == 1
    assert len(at(0, content("a"), content("b"))) == 2


def asked(number: int = 1, nth: int = 1, method: str = "POST", **body: Any) -> Asked:
    return Asked(number, nth, method, "/v1/chat/completions", {"authorization": "Bearer k"}, body)


YES, NO = answer(status=200), answer(status=418)


@pytest.mark.parametrize(
    ("condition", "fitting", "other"),
    [
        (rule(YES, method="GET"), asked(method="GET"), asked()),
        (rule(YES, path="/v1/*"), asked(), None),
        (rule(YES, path="/v1/chat"), None, asked()),
        (rule(YES, header="Authorization: Bearer k"), asked(), None),
        (rule(YES, header="X-Other"), None, asked()),
        (rule(YES, has="stream_options"), asked(stream_options={}), asked()),
        (rule(YES, has="a.b"), asked(a={"b": 1}), asked(a={"c": 1})),
        (rule(YES, lacks="ignore_eos"), asked(), asked(ignore_eos=True)),
        (rule(YES, equals=("stream", False)), asked(stream=False), asked(stream=True)),
        (rule(YES, numbers=[2]), asked(number=2), asked(number=3)),
        (rule(YES, reused=True), asked(nth=2), asked(nth=1)),
    ],
)
def test_a_rule_answers_what_meets_its_condition(condition: Rule, fitting: Asked | None, other: Asked | None) -> None:
    chooser = Chooser((condition, rule(NO, method=None)))
    if fitting is not None:
        assert chooser.choose(fitting) is YES
    if other is not None:
        assert chooser.choose(other) is NO


def test_answers_of_a_rule_come_in_turn_and_a_used_up_rule_gives_way() -> None:
    chooser = Chooser((rule(YES, NO, times=3), rule(ONE)))
    chosen: list[Told | None] = [chooser.choose(asked(n)) for n in range(1, 6)]
    assert chosen == [YES, NO, YES, ONE, ONE]


def events_of(reply: Any, **body: Any) -> list[Any]:
    sent = b"".join(w.data for w in reply.writes({"stream": True, **body}, "/v1/chat/completions"))
    lines = sent.split(b"\r\n\r\n", 1)[1].split(b"\n")
    return [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]


def test_a_token_stream_gives_what_is_asked_and_says_so() -> None:
    events = events_of(tokens(framing="close"), max_tokens=7, stream_options={"include_usage": True})
    assert events[-1]["usage"]["completion_tokens"] == 7
    assert sum(bool(e["choices"] and e["choices"][0]["delta"].get("content")) for e in events) == 7
    assert events[-2]["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("reply", "body", "length", "reason"),
    [
        (tokens(), {"max_tokens": 100}, 100, "length"),
        (tokens(n=5), {"max_tokens": 100}, 5, "stop"),
        (tokens(eos_after=30), {"max_tokens": 100}, 30, "stop"),
        (tokens(eos_after=30), {"max_tokens": 100, "ignore_eos": True}, 100, "length"),
        (tokens(eos_after=30), {"max_tokens": 10}, 10, "length"),
    ],
)
def test_how_long_an_answer_is(reply: Any, body: dict[str, Any], length: int, reason: str) -> None:
    assert reply.length(body) == (length, reason)


def test_several_tokens_in_an_event_add_up() -> None:
    pieces = [w for w in tokens(n=10, per_event=4).writes({"stream": True}, "/v1/chat/completions") if w.tokens]
    assert [w.tokens for w in pieces] == [4, 4, 2]
    assert [w.at_ms for w in pieces] == [20, 25, 30]


def test_usage_is_sent_when_asked_always_or_never() -> None:
    def counted(mode: Any, **body: Any) -> bool:
        return any(e.get("usage") for e in events_of(tokens(usage=mode, framing="close"), **body))

    assert [counted("asked"), counted("always"), counted("never", stream_options={"include_usage": True})] == [
        False,
        True,
        False,
    ]


def test_one_json_body_where_no_stream_is_asked() -> None:
    (write, end) = tokens(ttft_ms=50, itl_ms=10, n=3).writes({"messages": [{"content": "a b"}]}, "/v1/chat/completions")
    body = json.loads(write.data.split(b"\r\n\r\n")[1])
    assert (write.at_ms, end.kind) == (70, "end")
    assert body["choices"][0]["message"]["content"] == " tok tok tok"
    assert body["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}


def test_a_prompt_that_does_not_fit_is_refused_with_a_sentence() -> None:
    words = {"messages": [{"role": "user", "content": "word " * 990}], "max_tokens": 100}
    (write, _) = tokens(overhead=40, context_limit=1000).writes(words, "/v1/chat/completions")
    assert write.data.startswith(b"HTTP/1.1 400 ")
    assert b"requested 1130 tokens (1030 in the messages, 100 in the completion)" in write.data


def test_an_answer_is_a_value() -> None:
    assert answer(at(0, role())) == answer(at(0, role()))
    assert isinstance(ONE, Answer)
