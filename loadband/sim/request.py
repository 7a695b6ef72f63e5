"""What a client asks: HTTP requests cut out of bytes, chat requests read and checked.

Knows: HTTP/1.1 requests, the chat request's JSON, how a token is counted. Must not know: the engine, sockets.

The simulated tokenizer counts one token for every four bytes of UTF-8, begun ones too, and four for each message.
"""

import json
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 32 << 20
MESSAGE_TOKENS = 4
TOKEN_BYTES = 4


class BadRequestError(Exception):
    """A request that cannot be served: status and sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One chat request, checked."""

    prompt_tokens: int
    max_tokens: int
    stream: bool
    include_usage: bool
    ignore_eos: bool


def take(buffer: bytearray) -> Request | None:
    """The first whole request, cut out of the buffer; None while it is not whole. Raises BadRequestError."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > 65536:
            raise BadRequestError(400, "the request's header does not end")
        return None
    first, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequestError(400, "this is no HTTP/1.1 request")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "transfer-encoding" in headers:
        raise BadRequestError(411, "send a Content-Length")
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length) > MOST_BYTES:
        raise BadRequestError(413, f"Content-Length must be a number up to {MOST_BYTES}")
    whole = end + 4 + int(length)
    if len(buffer) < whole:
        return None
    body = bytes(buffer[end + 4 : whole])
    del buffer[:whole]
    return Request(words[0], words[1].partition("?")[0], headers, body)


def tokens_of(text: str) -> int:
    """Tokens of a text: 0 for none."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // TOKEN_BYTES)


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a request. Raises BadRequestError."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequestError(400, "the body is not JSON") from None
    if not isinstance(data, dict):
        raise BadRequestError(400, "the body is not a JSON object")
    return data


def prompt_tokens(data: dict[str, Any]) -> int:
    """Tokens of `messages`. Raises BadRequestError."""
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequestError(400, "messages: a list with at least one message is needed")
    return sum(MESSAGE_TOKENS + tokens_of(_content(message)) for message in messages)


def _content(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise BadRequestError(400, "messages: every message needs a content")
    return content


def read_chat(body: bytes, model: str, max_model_len: int) -> ChatRequest:
    """A chat request for this model. Raises BadRequestError, with vLLM's words where these matter to a client."""
    data = parsed(body)
    if data.get("model", model) != model:
        raise BadRequestError(404, f"The model `{data['model']}` does not exist.")
    prompt = prompt_tokens(data)
    room = max_model_len - prompt
    asked = data.get("max_completion_tokens") or data.get("max_tokens")
    most = room if asked is None else asked
    if isinstance(most, bool) or not isinstance(most, int) or (asked is not None and most < 1):
        raise BadRequestError(400, "max_tokens must be at least 1")
    if room < most or room < 1:
        raise BadRequestError(
            400,
            f"This model's maximum context length is {max_model_len} tokens. However, you requested {max(most, 1)} "
            f"output tokens and your prompt contains {prompt} input tokens. Please reduce the length of either.",
        )
    options = data.get("stream_options")
    return ChatRequest(
        prompt_tokens=prompt, max_tokens=most, stream=data.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        ignore_eos=data.get("ignore_eos") is True,
    )  # fmt: skip
