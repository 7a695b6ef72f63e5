"""What a template reads is what JSON would have said, and none is taken of what it does not fit."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadband.load.answer import Answer
from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.sse import EventParser
from loadband.load.template import EventTemplate
from loadband.load.token_clock import TokenClock
from tests.load.streams import CHUNKED, DONE, LAST_CHUNK, chunk, delta, event, finish, text, usage

READ = OpenAIChat().read


def says(piece: bytes) -> Any:
    """What one whole event says, parsed."""
    name, data = EventParser().feed(0.0, piece)[0][1:]
    return READ(name, data)


def learned(piece: bytes) -> EventTemplate:
    template = EventTemplate(says)
    template.learn(piece, says(piece))
    return template


def written(content: str, *, escape: bool) -> bytes:
    """An event as a server writes it, with or without escapes for what is not ASCII."""
    body = {"id": "s1", "model": "m", "choices": [{"index": 0, "delta": {"content": content}, "logprobs": None}]}
    return b"data: " + json.dumps(body, ensure_ascii=escape).encode(errors="replace") + b"\n\n"


FITTING = [
    "b",
    " ",
    "two words",
    "河",
    'a "quoted" one',
    "back\\slash",
    "line\nbreak",
    "tab\t",
    "\u2028",
    "😀",
    "}]}",
    ",",
]


@pytest.mark.parametrize("content", FITTING)
@pytest.mark.parametrize("escape", [False, True], ids=["as it is", "escaped"])
def test_the_text_of_a_later_event_is_read(content: str, escape: bool) -> None:
    template = learned(written(" first", escape=escape))
    assert template.visible
    assert template.text_of(written(content, escape=escape)) == content


def test_reasoning_is_text_that_is_not_visible() -> None:
    template = learned(delta(reasoning_content="hm"))
    assert template.text_of(delta(reasoning_content=" so")) == " so"
    assert not template.visible


OTHER = [
    (text(""), "an empty text is no token"),
    (delta(role="assistant", content="b"), "another field beside it"),
    (delta("stop", content="b"), "a finish reason beside it"),
    (finish(), "a finish reason alone"),
    (usage(1, 2), "a usage"),
    (DONE, "the end"),
    (event({"error": {"message": "no"}}), "an error"),
    (text("a")[:-1], "an event that is not whole"),
    (text("a") + text("b"), "two events"),
    (text("a").replace(b'"a"', b'"a", "content": ""'), "a second string that JSON would prefer"),
    (text("a").replace(b'"a"', b'"\xff"'), "what is not UTF-8"),
    (text("a").replace(b'"a"', b'"\n"'), "a line that ends in the string"),
    (text("a").replace(b'"a"', b'"\\ud83d"'), "half a character"),
    (b"", "nothing"),
]


@pytest.mark.parametrize(("piece", "sentence"), OTHER, ids=[sentence for _, sentence in OTHER])
def test_any_other_piece_is_left_to_the_parser(piece: bytes, sentence: str) -> None:
    assert learned(text("first")).text_of(piece) is None, sentence


UNLEARNED = [
    (delta("stop", content="a"), "it ends the answer"),
    (event({"choices": [{"delta": {"content": "a"}}], "usage": {"completion_tokens": 1}}), "it counts"),
    (delta(content="m", name="m"), "the same string stands there twice"),
    (delta(content="a", reasoning="b"), "it speaks and thinks"),
    (text(""), "it says nothing"),
    (delta(tool_calls=[{"index": 0, "function": {"name": "f"}}]), "it calls a tool"),
    (event({"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}), "two choices make one text"),
]


@pytest.mark.parametrize(("piece", "sentence"), UNLEARNED, ids=[sentence for _, sentence in UNLEARNED])
def test_no_template_is_taken_of_an_event_that_holds_more_than_a_text(piece: bytes, sentence: str) -> None:
    assert learned(piece).text_of(piece) is None, sentence


def test_a_string_that_is_the_text_only_by_chance_makes_no_template() -> None:
    def echo(piece: bytes) -> Any:
        """A dialect whose text is fixed, whatever stands in the event."""
        return says(piece)._replace(text="first")

    template = EventTemplate(echo)
    template.learn(text("first"), says(text("first")))
    assert template.text_of(text("second")) is None


def test_a_stream_whose_other_fields_change_is_given_up() -> None:
    read: list[bytes] = []

    def counted(piece: bytes) -> Any:
        read.append(piece)
        return says(piece)

    template = EventTemplate(counted)
    for n in range(100):
        piece = text(f"word {n}").replace(b'"s1"', b'"s%d"' % n)
        assert template.text_of(piece) is None
        template.learn(piece, says(piece))
    assert len(read) == 8


contents = st.text(st.characters(codec="utf-8"), max_size=8)
EVENTS: list[Callable[[str], bytes]] = [
    text,
    text,
    text,
    lambda said: delta(reasoning=said),
    lambda said: written(said, escape=True),
    lambda said: text(said).replace(b"\n", b"\r\n"),
    lambda said: b": ping\n\n" + text(said),
    lambda said: b"event: message\n" + text(said),
    lambda said: delta(content=said, role="assistant"),
    lambda said: delta("stop", content=said),
    lambda _: usage(3, 4),
]
events = st.tuples(st.sampled_from(EVENTS), contents).map(lambda made: made[0](made[1]))


@given(st.lists(events, max_size=12), st.lists(st.integers(1, 40), max_size=60))
@example([text("a"), text("b"), text('"'), text("b")], [])
def test_an_answer_read_with_templates_is_the_answer_read_without(pieces: list[bytes], cuts: list[int]) -> None:
    whole = [*pieces, DONE]
    body = b"".join(whole)
    read, plain = Answer(OpenAIChat(), TokenClock(0.0)), Answer(OpenAIChat(), TokenClock(0.0))
    for answer, parts in ((read, whole), (plain, cut(body, cuts or [1]))):
        answer.feed(0.0, CHUNKED)
        for part in parts:
            answer.feed(1.0, chunk(part))
        answer.feed(1.0, LAST_CHUNK)
        answer.finish()
    assert "".join(read.text) == "".join(plain.text)
    assert (read.usage, read.finish_reason, read.done, read.failure()) == (
        plain.usage, plain.finish_reason, plain.done, plain.failure(),
    )  # fmt: skip


def cut(body: bytes, sizes: list[int]) -> list[bytes]:
    """The body in pieces of these sizes, in turn: too small to be whole events."""
    parts, at, turn = [], 0, 0
    while at < len(body):
        size = sizes[turn % len(sizes)]
        parts.append(body[at : at + size])
        at, turn = at + size, turn + 1
    return parts
