"""HTTP/1.1 requests out of a growing buffer.

Knows: heads, Content-Length bodies, JSON, `Expect: 100-continue`. Must not know: sockets, time, rules.
"""

import json
from dataclasses import dataclass
from typing import Any

HEAD_MOST = 65536


@dataclass(frozen=True, slots=True)
class Parsed:
    """A whole request; or, with `waits`, a head whose client waits for leave to send the body."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    waits: bool = False


def take_request(buffer: bytearray) -> Parsed | None:
    """The first request, taken out of `buffer`; None while it is not whole. A body that is not JSON becomes text."""
    head, gap, rest = bytes(buffer[:HEAD_MOST]).partition(b"\r\n\r\n")
    if not gap:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target = [*first.split(" "), "", ""][:2]
    path = target.partition("?")[0]
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    begin = len(head) + len(gap)
    end = begin + int(headers.get("content-length") or 0)
    if len(buffer) < end:
        leave = headers.get("expect", "").lower() == "100-continue" and not rest
        return Parsed(method, path, headers, None, waits=True) if leave else None
    body = bytes(buffer[begin:end])
    del buffer[:end]
    return Parsed(method, path, headers, _json(body))


def last_prompt(body: Any) -> str:
    """The last user message, or the prompt of servers that know no messages."""
    if not isinstance(body, dict):
        return ""
    messages = [m for m in body.get("messages") or () if isinstance(m, dict) and m.get("role") == "user"]
    return str(messages[-1].get("content", "") if messages else body.get("prompt", body.get("inputs", "")))


def _json(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
