"""Servers that do not speak OpenAI's chat: what they are asked, what their events say, and when an answer is whole."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.dialects import DIALECTS, dialect_of
from loadband.load.dialects.dialect import Dialect
from loadband.load.says import Sampling, Usage
from tests.load.streams import CHUNKED, DONE, HEAD, LAST_CHUNK, Fed, chunk, event, plain, usage

ASKED = [{"role": "user", "content": "P"}]
TALK = [*ASKED, {"role": "assistant", "content": "A"}, {"role": "user", "content": "Q"}]
SAMPLING = Sampling("m", 0.5, ignore_eos=True, extra_body={"top_p": 0.9})


def line(**body: Any) -> bytes:
    return json.dumps(body).encode() + b"\n"


def answered(dialect: Dialect, events: Sequence[tuple[float, bytes]], *, end: bytes = LAST_CHUNK) -> Fed:
    """A chunked answer: events at so many milliseconds, each an HTTP chunk, and the end of the message."""
    reads = [(0, CHUNKED), *((at, chunk(data)) for at, data in events)]
    reads += [(events[-1][0], end)] if end else []
    return Fed(dialect, dialect.echo(ASKED)).feed(reads)


def completion(text: str, finish_reason: str | None = None) -> bytes:
    return event({"object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": finish_reason}]})


def token(text: str, *, special: bool = False, **more: Any) -> bytes:
    body = {"token": {"text": text, "special": special}, "generated_text": None, "details": None, **more}
    return b"data:" + json.dumps(body).encode() + b"\n\n"


Row = tuple[str, Sequence[tuple[float, bytes]], str, int, Usage, str]
"""Dialect, events at so many milliseconds; the text, the generated pieces, the counts; a sentence."""

STREAMS: list[Row] = [
    ("openai-completions", [(100, completion(" A")), (150, completion(" B", "length") + usage(5, 2) + DONE)], " A B", 2,
     Usage(2, 5), "completions"),
    ("vllm-generate", [(100, line(text=["P A"])), (150, line(text=["P A B"])), (200, line(text=["P A B C"]))],
     " A B C", 3, Usage(), "the prompt and the whole answer again with each token"),
    ("vllm-generate", [(at, line(text=[said]).replace(b"\n", b"\0")) for at, said in ((100, "P A"), (200, "P A B"))],
     " A B", 2, Usage(), "parted by NUL"),
    ("vllm-generate", [(100, line(text=["P \ufffd"])), (200, line(text=["P \u6cb3"]))], " \ufffd\u6cb3", 2, Usage(),
     "half a character is taken back and was a token all the same"),
    ("triton", [(at, event({"model_name": "m", "text_output": " a"})) for at in (100, 150, 200)], " a a a", 3, Usage(),
     "Triton"),
    ("tgi", [(100, token("A")),
             (150, token("B", generated_text="AB", details={"finish_reason": "length", "generated_tokens": 2}))],
     "AB", 2, Usage(2), "no space after data:, and the text is not said twice"),
    ("tgi", [(100, token("A")), (150, token("</s>", special=True, generated_text="A", details=None))], "A", 1, Usage(),
     "a special token is no text, and no details are no count"),
    ("ollama", [(100, line(model="m", response="A", done=False)),
                (200, line(model="m", response="", done=True, eval_count=1, eval_duration=1000, prompt_eval_count=5))],
     "A", 1, Usage(1, 5), "a token in a microsecond is no speed"),
    ("ollama", [(100, line(message={"content": "A"}, done=False)), (200, line(done=True, eval_count=1))], "A", 1,
     Usage(1), "a prompt that was not counted is unknown, not 0"),
    ("ollama", [(100, line(message={"thinking": "hm"}, done=False)), (200, line(done=True, done_reason="stop"))], "", 1,
     Usage(), "it thinks"),
]  # fmt: skip


@pytest.mark.parametrize("row", STREAMS, ids=[row[5] for row in STREAMS])
def test_a_stream(row: Row) -> None:
    api, events, text, pieces, counts, sentence = row
    fed = answered(dialect_of(api), events)
    assert fed.answer.failure() is None, sentence
    assert ("".join(fed.answer.text), fed.clock.events, fed.answer.usage) == (text, pieces, counts), sentence
    assert fed.clock.timing().ttft_s == 0.1, sentence
    assert not fed.answer.no_done, sentence


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(0, len(STREAMS) - 1))
def test_a_stream_is_the_same_however_it_is_cut(sizes: list[int], number: int) -> None:
    api, events, text, pieces, counts, sentence = STREAMS[number]
    dialect = dialect_of(api)
    body = b"".join(data for _, data in events)
    reads, at, turn = [(0.0, HEAD + b"Content-Length: %d\r\n\r\n" % len(body))], 0, 0
    while at < len(body):
        size = sizes[turn % len(sizes)]
        reads.append((100.0 + turn, body[at : at + size]))
        at, turn = at + size, turn + 1
    fed = Fed(dialect, dialect.echo(ASKED)).feed(reads)
    assert fed.answer.failure() is None, sentence
    assert ("".join(fed.answer.text), fed.clock.events, fed.answer.usage) == (text, pieces, counts), sentence


BROKEN: list[tuple[str, bytes, str, str]] = [
    ("vllm-generate", line(text=["P A"]), "truncated", "the message was not whole, and nothing else says the end"),
    ("triton", event({"text_output": "a"}), "truncated", "so with Triton"),
    ("ollama", line(message={"content": "A"}, done=False), "truncated", "never done"),
    ("ollama", line(error="model not found"), "stream_error", "an error in a line"),
    ("tgi", b'data:{"error":"Request failed during generation","error_type":"generation"}\n\n', "stream_error",
     "an error in an event"),
    ("vllm-generate", b"<html>Welcome</html>\n", "protocol", "a web page"),
    ("vllm-generate", line(choices=[]), "protocol", "another dialect"),
]  # fmt: skip


@pytest.mark.parametrize(("api", "body", "told", "sentence"), BROKEN, ids=[row[3] for row in BROKEN])
def test_a_stream_that_fails(api: str, body: bytes, told: str, sentence: str) -> None:
    failure = answered(dialect_of(api), [(100, body)], end=b"").answer.failure()
    assert failure is not None, sentence
    assert failure.failure_class == told, sentence


ONE_PIECE = [
    ("openai-chat", {"choices": [{"message": {"content": "all of it"}, "finish_reason": "stop"}]}),
    ("openai-completions", {"choices": [{"text": "all of it", "finish_reason": "stop"}]}),
]


@pytest.mark.parametrize(("api", "body"), ONE_PIECE)
def test_an_answer_in_one_piece_has_an_end_and_no_first_token(api: str, body: dict[str, Any]) -> None:
    told = b"\n\n\n" + json.dumps({**body, "usage": {"prompt_tokens": 5, "completion_tokens": 3}}).encode()
    head, rest = plain("200 OK", told)[:-40], plain("200 OK", told)[-40:]
    fed = Fed(dialect_of(api, stream=False)).feed([(200, head), (1000, rest)])
    timing = fed.clock.timing()
    assert fed.answer.failure() is None
    assert ("".join(fed.answer.text), fed.answer.usage) == ("all of it", Usage(3, 5))
    assert (timing.ttft_s, timing.e2e_s, fed.clock.tpot(3), timing.events) == (None, 1.0, None, 0)


PIECES_THAT_FAIL = [
    (plain("200 OK", b'{"error":{"message":"no"}}'), "stream_error"),
    (plain("200 OK", b"<html>"), "protocol"),
    (plain("200 OK", b""), "empty"),
    (plain("200 OK", b'{"choices":[{"message":{"content":""}}]}'), "empty"),
    (plain("200 OK", b'{"choices":[{"message":{"content":"abc"}}]}')[:-9], "truncated"),
    (plain("500 Oops", b'{"error":"dead"}'), "http_500"),
]


@pytest.mark.parametrize(("data", "told"), PIECES_THAT_FAIL)
def test_an_answer_in_one_piece_that_fails(data: bytes, told: str) -> None:
    failure = Fed(dialect_of("openai-chat", stream=False)).feed([(100, data)]).answer.failure()
    assert failure is not None
    assert failure.failure_class == told


def test_a_stream_is_read_also_where_one_piece_was_asked_for() -> None:
    fed = answered(dialect_of("openai-completions", stream=False), [(100, completion("A", "stop")), (110, DONE)])
    assert fed.answer.failure() is None
    assert fed.clock.timing().ttft_s == 0.1


def asked(api: str, **how: Any) -> Any:
    return json.loads(dialect_of(api, **how).body(SAMPLING, ASKED, 7))


def test_what_is_asked() -> None:
    common = {"model": "m", "max_tokens": 7, "temperature": 0.5, "ignore_eos": True, "top_p": 0.9}
    counted = {"stream": True, "stream_options": {"include_usage": True}}
    assert asked("openai-chat") == {**common, **counted, "messages": ASKED}
    assert asked("openai-completions") == {**common, **counted, "prompt": "P"}
    assert asked("openai-chat", stream=False) == {**common, "stream": False, "messages": ASKED}
    assert asked("vllm-generate") == {
        "prompt": "P", "max_tokens": 7, "stream": True, "temperature": 0.5, "ignore_eos": True, "top_p": 0.9,
    }  # fmt: skip
    assert asked("tgi")["parameters"] == {
        "max_new_tokens": 7, "details": True, "do_sample": True, "temperature": 0.5,
    }  # fmt: skip
    assert asked("ollama")["options"] == {"num_predict": 7, "temperature": 0.5}
    assert asked("ollama")["messages"] == ASKED
    assert asked("ollama", path="/api/generate")["prompt"] == "P"
    assert asked("triton")["text_input"] == "P"
    assert asked("triton")["parameters"]["exclude_input_in_output"] is True
    assert dialect_of("triton").path("m") == "/v2/models/m/generate_stream"


def test_counts_are_not_asked_for_where_the_server_refuses_to_be_asked() -> None:
    body = dialect_of("openai-chat").body(Sampling("m", include_usage=False), ASKED, 7)
    assert "stream_options" not in json.loads(body)


@pytest.mark.parametrize("api", ["openai-completions", "vllm-generate", "tgi", "triton"])
def test_a_conversation_is_one_script_for_servers_that_take_one_text(api: str) -> None:
    body = json.loads(dialect_of(api).body(Sampling("m"), TALK, 7))
    said = next(body[name] for name in ("prompt", "inputs", "text_input") if name in body)
    assert said == "User: P\n\nAssistant: A\n\nUser: Q\n\nAssistant:"


def test_content_in_parts_is_its_text_for_servers_that_take_one_text() -> None:
    parts: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "P"}, {"type": "image_url", "image_url": {}}]}
    ]
    assert json.loads(dialect_of("openai-completions").body(Sampling("m"), parts, 7))["prompt"] == "P"
    called = [*parts, {"role": "assistant", "content": None, "tool_calls": [{}]}]
    script = json.loads(dialect_of("tgi").body(Sampling("m"), called, 7))["inputs"]
    assert script == "User: P\n\nAssistant: \n\nAssistant:"


def test_every_dialect_has_its_own_name() -> None:
    assert len(DIALECTS) == 6
