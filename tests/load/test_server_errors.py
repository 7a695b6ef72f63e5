"""Errors that a server tells inside a 200, in every shape that servers use, and what class they are."""

import json
from typing import Any

import pytest

from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.says import Chunk, ServerError
from loadband.load.server_json import error_of, is_context_length
from loadband.record import FailureClass

CHAT = OpenAIChat()


def read(body: Any, name: bytes = b"") -> Chunk:
    return CHAT.read(name, json.dumps(body).encode())


ERRORS: list[tuple[Any, str, str, str]] = [
    ({"error": {"message": "engine died", "type": "InternalServerError", "code": 500}}, "stream_error", "engine died",
     "an error object"),
    ({"error": "generation failed", "error_type": "generation"}, "stream_error", "generation failed", "a string"),
    ({"object": "error", "message": "bad", "code": 400}, "stream_error", "bad", "an object named error"),
    ({"error": {"object": "error", "message": "queue is full", "code": 503}}, "throttled", "queue is full",
     "a full queue told inside a 200"),
    ({"error": {"message": "slow down", "code": "429"}}, "throttled", "slow down", "a code in quotes"),
    ({"object": "error", "message": "busy", "code": 529}, "throttled", "busy", "the rarest code of the three"),
    ({"error": {"message": "prompt exceeds the available context size", "code": 400}}, "context_length",
     "prompt exceeds the available context size", "too long a prompt"),
    ({"error": {"message": "too long", "code": "context_length_exceeded"}}, "context_length", "too long",
     "too long a prompt, told by the code alone"),
    ({"error": {"type": "x", "code": 1}}, "stream_error", '{"type": "x", "code": 1}', "no sentence at all"),
    ({"error": True}, "stream_error", '{"error": true}', "an error of true"),
    ({"error": {"message": {"deep": 1}}}, "stream_error", '{"deep": 1}', "an object for a sentence"),
    ({"error": [1]}, "stream_error", '{"error": [1]}', "a list"),
    ({"error": {"message": "x", "code": "²"}}, "stream_error", "x", "a digit that int() does not take"),
    ({"error": {"message": "x", "code": "9" * 5000}}, "stream_error", "x", "more digits than Python reads"),
    ({"error": {"message": "x", "code": [503]}}, "stream_error", "x", "a list for a code"),
    ({"error": {"message": "x"}, "choices": [{"delta": {"content": "y"}}]}, "stream_error", "x", "beside a token"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "told", "message", "sentence"), ERRORS, ids=[row[3] for row in ERRORS])
def test_an_error(body: Any, told: str, message: str, sentence: str) -> None:
    assert read(body) == Chunk(error=ServerError(told, message)), sentence


def test_an_event_named_error_is_one() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "no room"}}
    assert read(body, b"error").error == ServerError(FailureClass.THROTTLED, "no room")
    assert read({"message": "bare"}, b"error").error == ServerError(FailureClass.STREAM_ERROR, "bare")
    assert CHAT.read(b"error", b"worker lost").error == ServerError(FailureClass.STREAM_ERROR, "worker lost")


def test_no_error_is_none() -> None:
    assert error_of({"choices": [], "object": "chat.completion.chunk"}) is None
    assert error_of({"error": None}) is None


SENTENCES = [
    ("This model's maximum context length is 512 tokens. However, you requested 600 tokens.", True),
    ("max_tokens=9000 cannot be greater than max_model_len=512. Please request fewer output tokens.", True),
    ("The decoder prompt (length 700) is longer than the maximum model length of 512.", True),
    ("The input (700 tokens) is longer than the model's context length (512 tokens).", True),
    ("request (700 tokens) exceeds the available context size (512 tokens), try increasing it", True),
    ("Input validation error: `inputs` must have less than 512 tokens. Given: 700", True),
    ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 512. Given: 700", True),
    ("context deadline exceeded", False),
    ("rpc error: context canceled while waiting for the maximum of 3 slots", False),
    ("this endpoint does not take the field 'context'", False),
    ("", False),
]


@pytest.mark.parametrize(("sentence", "is_one"), SENTENCES)
def test_sentences_about_too_long_a_prompt(sentence: str, is_one: bool) -> None:
    assert is_context_length(sentence) is is_one
