"""The chat dialect: what each shape of event says, and what is asked."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.says import Chunk, ProtocolError, Sampling, Usage
from loadband.load.server_json import usage_of

CHAT = OpenAIChat()


def read(body: Any, name: bytes = b"") -> Chunk:
    return CHAT.read(name, json.dumps(body).encode())


def of_delta(delta: Any, **choice: Any) -> Chunk:
    return read({"choices": [{"index": 0, "delta": delta, **choice}]})


def call(**function: Any) -> dict[str, Any]:
    return {"index": 0, "id": "c", "type": "function", "function": function}


SILENT: list[tuple[Any, str]] = [
    ({"choices": [{"delta": {"role": "assistant", "content": ""}}]}, "the role comes before the prefill ends"),
    ({"choices": [{"delta": {"role": "assistant", "content": None}}]}, "null is no text"),
    ({"choices": [{"delta": {"content": None, "reasoning_content": None, "tool_calls": None}}]}, "nulls everywhere"),
    ({"choices": [{"delta": {"content": "", "reasoning_content": "", "tool_calls": []}}]}, "empty everywhere"),
    ({"choices": [{"delta": {}}]}, "an empty delta"),
    ({"choices": [{"delta": None}]}, "a null delta"),
    ({"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]}, "a filter's note has no delta"),
    ({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, "a filter's first event has no choice"),
    ({"choices": [None, 3, "x"]}, "choices that are none"),
    ({"choices": None}, "choices of null"),
    ({"choices": {"delta": {"content": "x"}}}, "choices that are no list"),
    ({"choices": [{"delta": {"content": 7}}]}, "a number is no text"),
    ({"choices": [{"delta": {"tool_calls": [call(name="", arguments="")]}}]}, "an empty tool call"),
    ({"choices": [{"delta": {"tool_calls": [None, {"function": None}]}}]}, "a tool call of nothing"),
    ({"type": "ping"}, "another object"),
    ({"error": None, "choices": []}, "an error of null is none"),
    ({}, "an empty object"),
]


@pytest.mark.parametrize(("body", "sentence"), SILENT, ids=[row[1] for row in SILENT])
def test_an_event_without_a_token(body: Any, sentence: str) -> None:
    assert read(body) == Chunk(), sentence


GENERATED: list[tuple[Any, Chunk, str]] = [
    ({"content": " hi"}, Chunk(text=" hi"), "text, its space kept"),
    ({"content": " "}, Chunk(text=" "), "a space is a token"),
    ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, Chunk(text="ab"), "text in parts"),
    ({"reasoning_content": "hm"}, Chunk(reasoning="hm"), "thinking by its older name"),
    ({"reasoning": "hm"}, Chunk(reasoning="hm"), "thinking by its newer name"),
    ({"reasoning": "hm", "reasoning_content": "hm"}, Chunk(reasoning="hm"), "both names are one thought"),
    ({"reasoning_details": [{"text": "hm"}]}, Chunk(reasoning="hm"), "thinking in details"),
    ({"content": "", "reasoning_content": "hm"}, Chunk(reasoning="hm"), "thinking beside an empty text"),
    ({"content": None, "reasoning": "hm"}, Chunk(reasoning="hm"), "thinking beside a null text"),
    ({"content": "a", "reasoning": "hm"}, Chunk(text="a", reasoning="hm"), "text and thinking in one event"),
    ({"tool_calls": [call(name="f", arguments="")]}, Chunk(tool_piece=True, tool_calls=1), "a call begins"),
    ({"tool_calls": [call(arguments="{")]}, Chunk(tool_piece=True), "a call goes on"),
    ({"tool_calls": [call(name="f"), call(name="g")]}, Chunk(tool_piece=True, tool_calls=2), "two calls begin"),
]


@pytest.mark.parametrize(("delta", "chunk", "sentence"), GENERATED, ids=[row[2] for row in GENERATED])
def test_an_event_with_a_token(delta: Any, chunk: Chunk, sentence: str) -> None:
    assert of_delta(delta) == chunk, sentence
    assert chunk.generated


def test_several_choices_are_read_together() -> None:
    body = {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}, "finish_reason": "length"}]}
    assert read(body) == Chunk(text="ab", finish_reason="length")


def test_usage_and_the_end_may_ride_on_a_token() -> None:
    body = {
        "model": "m",
        "choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    assert read(body) == Chunk(text="a", finish_reason="stop", model="m", usage=Usage(output_tokens=2, prompt_tokens=5))


@pytest.mark.parametrize("data", [b"[DONE]", b" [DONE] ", b"[DONE]\r"])
def test_done(data: bytes) -> None:
    assert CHAT.read(b"", data) == Chunk(done=True)


@pytest.mark.parametrize(
    ("name", "data"), [(b"", b""), (b"", b"  "), (b"ping", b"1795961365"), (b"heartbeat", b"alive")]
)
def test_a_heartbeat_says_nothing(name: bytes, data: bytes) -> None:
    assert CHAT.read(name, data) == Chunk()


USAGES: list[tuple[Any, Usage | None, str]] = [
    ({"prompt_tokens": 5, "completion_tokens": 3}, Usage(3, 5), "both counts"),
    ({"completion_tokens": 0}, Usage(0), "a count of nothing is a count"),
    ({"prompt_tokens": 5}, Usage(None, 5), "no output count is unknown, not 0"),
    ({"prompt_tokens": 9, "completion_tokens": 60, "completion_tokens_details": {"reasoning_tokens": 50},
      "prompt_tokens_details": {"cached_tokens": 4}}, Usage(60, 9, 50, 4), "details"),
    ({"completion_tokens": 60, "completion_tokens_details": None, "reasoning_tokens": 50}, Usage(60, None, 50),
     "thinking told beside the others"),
    ({"completion_tokens": 3, "prompt_tokens_details": None}, Usage(3), "details of null"),
    (None, None, "null"),
    ({}, None, "nothing told"),
    ({"total_tokens": 8}, None, "only a sum"),
    ("7", None, "a word"),
    ({"completion_tokens": None, "prompt_tokens": None}, None, "counts of null"),
    ({"completion_tokens": -3, "prompt_tokens": 5}, Usage(None, 5), "fewer than none"),
    ({"completion_tokens": 1e30, "prompt_tokens": 5}, Usage(None, 5), "a number that no counter gives"),
    ({"completion_tokens": 10**30, "prompt_tokens": 5}, Usage(None, 5), "more than a report can carry"),
    ({"completion_tokens": "12", "prompt_tokens": 5}, Usage(None, 5), "a count in quotes"),
    ({"completion_tokens": True, "prompt_tokens": 5}, Usage(None, 5), "a boolean"),
    ({"completion_tokens": [1], "prompt_tokens": {}}, None, "containers"),
]  # fmt: skip


@pytest.mark.parametrize(("usage", "counts", "sentence"), USAGES, ids=[row[2] for row in USAGES])
def test_usage(usage: Any, counts: Usage | None, sentence: str) -> None:
    assert usage_of(usage) == counts, sentence


@pytest.mark.parametrize("data", [b"{", b"hello", b'{"choices": [', b"[1]", b"null", b"3", b'"x"', b"\xff\xfe{}"])
def test_what_is_not_of_this_dialect_is_named(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="an event is not"):
        CHAT.read(b"", data)


@pytest.mark.parametrize("depth", range(10, 1200, 7))
def test_deep_json_never_ends_a_user(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for body in (f'{{"error": {deep}}}', f'{{"choices": {deep}}}', f'{{"error": {{"message": {deep}}}}}', deep):
        try:
            CHAT.read(b"", body.encode())
        except ProtocolError:
            continue


def test_what_is_asked() -> None:
    messages = [{"role": "user", "content": "你好"}]
    asked = json.loads(CHAT.body(Sampling("m", 0.5, ignore_eos=True, extra_body={"top_k": 3}), messages, 9))
    assert asked == {
        "model": "m", "messages": messages, "max_tokens": 9, "stream": True,
        "stream_options": {"include_usage": True}, "temperature": 0.5, "ignore_eos": True, "top_k": 3,
    }  # fmt: skip
    bare = json.loads(CHAT.body(Sampling("m"), messages, 9))
    assert "temperature" not in bare
    assert "ignore_eos" not in bare


def test_a_character_that_a_server_cut_in_two_can_be_sent_back() -> None:
    halves = of_delta({"content": "\ud83d"}).text + of_delta({"content": "\ude00"}).text
    body = json.loads(CHAT.body(Sampling("m"), [{"role": "assistant", "content": halves + "\ud83d!"}], 9))
    assert body["messages"][0]["content"] == "😀\ufffd!"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["choices", "delta", "content", "usage", "error", "message", "code", "type", "tool_calls",
                         "function", "name", "completion_tokens", "finish_reason", "model", "reasoning", "text"]),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(json_values, st.sampled_from([b"", b"error", b"ping", b"message"]))
def test_no_json_ends_in_another_exception(body: Any, name: bytes) -> None:
    try:
        chunk = read(body, name)
    except ProtocolError:
        assert not isinstance(body, dict), "any object can be read"
        return
    assert isinstance(chunk.text, str)
    assert chunk.finish_reason is None or isinstance(chunk.finish_reason, str)
    assert chunk.model is None or isinstance(chunk.model, str)
