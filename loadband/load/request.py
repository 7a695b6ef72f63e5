"""The bytes of a request.

Knows: HTTP/1.1 heads. Must not know: sockets, what the body says.
"""

from collections.abc import Mapping, Sequence

from loadband.load.connection import Address


def request_head(path: str, address: Address, key: str | None, more: Mapping[str, str] | None = None) -> bytes:
    """The head of a POST of JSON, up to the value of `Content-Length`; `more` headers beside ours."""
    lines = ["Content-Type: application/json", "Accept: text/event-stream"]
    lines += [f"{name}: {value}" for name, value in (more or {}).items()]
    return _head(f"POST {address.base_path}{path}", address, key, lines) + b"Content-Length: "


def whole_request(head: bytes, body: bytes) -> bytes:
    """Head, length and body in one piece: one write, one packet where it fits."""
    return b"%b%d\r\n\r\n%b" % (head, len(body), body)


def get_request(path: str, address: Address, key: str | None) -> bytes:
    """A whole GET of JSON."""
    return _head(f"GET {address.base_path}{path}", address, key, ["Accept: application/json"]) + b"\r\n"


def _head(line: str, address: Address, key: str | None, more: Sequence[str]) -> bytes:
    lines = [
        f"{line} HTTP/1.1",
        f"Host: {address.host_header}",
        "User-Agent: loadband",
        "Accept-Encoding: identity",
        *more,
    ]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")
