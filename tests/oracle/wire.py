"""The bytes of an OpenAI-style stream, in short words: `role()`, `content("x")`, `usage(10, 3)`, `done()`.

Knows: server-sent events and HTTP chunks. Must not know: time, sockets, scripts.
"""

import json
from collections.abc import Mapping

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""Anything JSON can say."""


def dumps(value: object) -> bytes:
    """Compact JSON as UTF-8, the way servers send it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def data(payload: object) -> bytes:
    """One event; a string goes out as it is, everything else as JSON."""
    return b"data: " + (payload.encode() if isinstance(payload, str) else dumps(payload)) + b"\n\n"


def comment(text: str = " keep-alive") -> bytes:
    """A line that says only: still alive."""
    return f":{text}\n\n".encode()


def delta(fields: Mapping[str, object], finish_reason: str | None = None) -> bytes:
    """One chat chunk with exactly these fields in its delta."""
    choice = {"index": 0, "delta": dict(fields), "finish_reason": finish_reason}
    return data({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]})


def role() -> bytes:
    """The opening chunk of chat streams: a role and no text."""
    return delta({"role": "assistant", "content": ""})


def content(text: str) -> bytes:
    """A piece of the visible answer."""
    return delta({"content": text})


def reasoning(text: str, field: str = "reasoning_content") -> bytes:
    """A piece of thinking; newer servers call the field `reasoning`."""
    return delta({field: text})


def tool_call(arguments: str, name: str | None = None) -> bytes:
    """A piece of a tool call; the name comes with the first piece only."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return delta({"tool_calls": [{"index": 0, "type": "function", "function": function}]})


def finish(reason: str = "stop") -> bytes:
    """The chunk that says why the answer ended."""
    return delta({}, reason)


def usage(prompt: int, completion: int, details: Mapping[str, object] | None = None) -> bytes:
    """The usage chunk: no choices, only counts; `details` adds fields such as `prompt_tokens_details`."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return data({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": counts | dict(details or {})})


def completion_piece(text: str, finish_reason: str | None = None) -> bytes:
    """A chunk of `/v1/completions`."""
    return data(
        {
            "id": "c1",
            "object": "text_completion",
            "choices": [{"index": 0, "text": text, "finish_reason": finish_reason}],
        }
    )


def done() -> bytes:
    """The last event of an OpenAI stream."""
    return b"data: [DONE]\n\n"


def chunk(payload: bytes) -> bytes:
    """`payload` as one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)


LAST_CHUNK = b"0\r\n\r\n"
"""What ends a chunked body."""


def with_line_ends(payload: bytes, eol: str) -> bytes:
    r"""`payload` with every `\n` turned into `eol`. JSON holds no bare line feed, so only event lines change."""
    return payload if eol == "\n" else payload.replace(b"\n", eol.encode())
