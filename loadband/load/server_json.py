"""JSON as servers write it: read leniently, without surprise; errors and token counts in every shape they have.

Knows: JSON, the fields of errors and of OpenAI's `usage`. Must not know: sockets, HTTP framing, stamps.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from loadband.load.says import Chunk, ProtocolError, ServerError, Usage
from loadband.record import FailureClass, http_class

MOST_TOKENS = 1_000_000_000
"""A count above this is no count: no server has told so many tokens of one request."""

_CONTEXT_LENGTH = re.compile(
    r"context[ _-]?(length|size|window|limit)|(maximum|max) model length|max_model_len"
    r"|must have less than \d+ tokens|max_new_tokens\W* must be <="
)
"""How vLLM, SGLang, llama.cpp, TGI and OpenAI say that a prompt is too long. `context deadline exceeded` is not it."""

_THROTTLING_KINDS = frozenset({"overloaded_error", "rate_limit_error", "rate_limit_exceeded", "service_unavailable"})
"""Types of errors that say so without a number."""

NAMES = (b"", b"message")
"""Names of events that must hold JSON; what others hold (`event: ping`) is theirs."""


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """A request's body."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # an answer in the history: servers cut characters in two
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def event_object(name: bytes, data: bytes) -> dict[str, Any] | Chunk:
    """The JSON object of an event; what it says when it holds none, or an error. Raises ProtocolError."""
    event = parsed(data)
    if event is None:
        return _not_an_object(name, data)
    if told := error_of(event, named_error=name == b"error"):
        return Chunk(error=told)
    return event


def parsed(data: bytes) -> dict[str, Any] | None:
    """The JSON object that these bytes are, or None."""
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        event = _parsed_leniently(data)
    return event if isinstance(event, dict) else None


def _parsed_leniently(data: bytes) -> Any:
    """What servers also send: half a surrogate pair, NaN."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _not_an_object(name: bytes, data: bytes) -> Chunk:
    """A heartbeat says nothing, an error may be plain text; anything else is of another dialect."""
    if name == b"error":
        sentence = data.decode("utf-8", errors="replace") or "the server sent an error event without a word"
        return Chunk(error=ServerError(_class_of(None, "", sentence), sentence))
    if not data or name not in NAMES:
        return Chunk()
    raise ProtocolError(f"an event is not a JSON object ({_shown(data)})")


def error_of(body: Mapping[str, Any], *, named_error: bool = False) -> ServerError | None:
    """The error that a body or an event tells, in any of the shapes that servers use; None when it tells none."""
    error = body.get("error")
    told = error if isinstance(error, dict) else body
    if not (error or named_error or body.get("object") == "error"):
        return None
    message = error if isinstance(error, str) else told.get("message")
    sentence = message if isinstance(message, str) and message else as_json(message or told)
    return ServerError(_class_of(told.get("code"), str_in(told.get("type")), sentence), sentence)


def _class_of(code: Any, kind: str, sentence: str) -> str:
    if any(is_context_length(words) for words in (sentence, kind, str_in(code))):
        return FailureClass.CONTEXT_LENGTH
    number = code
    if isinstance(code, str) and re.fullmatch("[0-9]{3}", code):
        number = int(code)
    if isinstance(number, int) and http_class(number) == FailureClass.THROTTLED:
        return FailureClass.THROTTLED
    if kind.lower().replace(" ", "_") in _THROTTLING_KINDS:
        return FailureClass.THROTTLED
    return FailureClass.STREAM_ERROR


def is_context_length(sentence: str) -> bool:
    """Whether a refusal is about a prompt too long for the model."""
    return _CONTEXT_LENGTH.search(sentence.lower()) is not None


def as_json(value: Any) -> str:
    """What a server told, as text."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to show)"


def usage_of(usage: Any) -> Usage | None:
    """Token counts of a `usage` object; None when there is none."""
    if not isinstance(usage, dict):
        return None
    counts = Usage(
        output_tokens=token_count(usage.get("completion_tokens")),
        prompt_tokens=token_count(usage.get("prompt_tokens")) or None,  # no prompt is empty
        reasoning_tokens=token_count(
            dict_in(usage.get("completion_tokens_details")).get("reasoning_tokens", usage.get("reasoning_tokens"))
        ),
        cached_tokens=token_count(dict_in(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )
    return None if counts.output_tokens is None and counts.prompt_tokens is None else counts


def model_in(event: Mapping[str, Any]) -> str | None:
    """The model that an event names; servers leave it empty in some."""
    model = event.get("model")
    return model if isinstance(model, str) and model else None


def token_count(value: Any) -> int | None:
    """A count of tokens, None of what cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def text_in(content: Any) -> str:
    """Text, or the texts of its parts, joined; empty of anything else."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    parts = (part.get("text") for part in list_in(content) if isinstance(part, dict))
    return "".join(part for part in parts if isinstance(part, str))


def str_in(value: Any) -> str:
    """A string, empty of anything else."""
    return value if isinstance(value, str) else ""


def list_in(value: Any) -> list[Any]:
    """A list, empty of anything else."""
    return value if isinstance(value, list) else []


def dict_in(value: Any) -> dict[str, Any]:
    """An object, empty of anything else."""
    return value if isinstance(value, dict) else {}


def _shown(data: bytes) -> str:
    return data[:80].decode("utf-8", errors="replace")
