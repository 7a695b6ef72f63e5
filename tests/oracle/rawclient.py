"""The least a client can be: one socket, bytes out, bytes in, each read stamped.

Knows: sockets and how a request is spelled. Must not know: HTTP answers, events, the oracle's inside.
"""

import json
import socket
import ssl
import time
from types import TracebackType
from typing import Any, Self


class RawClient:
    """One connection. `got` holds every byte read so far, `reads` the stamp and bytes of each read."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None, timeout_s: float = 5.0) -> None:
        """Connect to 127.0.0.1."""
        plain = socket.create_connection(("127.0.0.1", port), timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
        self.reads: list[tuple[float, bytes]] = []
        self.asked_at = 0.0

    @property
    def got(self) -> bytes:
        """All bytes so far."""
        return b"".join(part for _, part in self.reads)

    def post(self, prompt: str = "hello", path: str = "/v1/chat/completions", **fields: Any) -> Self:
        """Send a chat request; `headers` is taken out of the fields."""
        headers = {"Host": "oracle", "Content-Type": "application/json"} | fields.pop("headers", {})
        body = json.dumps({"stream": True, "messages": [{"role": "user", "content": prompt}]} | fields).encode()
        lines = [f"POST {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), f"Content-Length: {len(body)}"]
        self.reads.clear()
        self.asked_at = time.monotonic()
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return self

    def get(self, path: str) -> Self:
        """Send a GET."""
        self.reads.clear()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: oracle\r\n\r\n".encode())
        return self

    def read_once(self) -> bytes:
        """One read; empty at the end of the connection."""
        part = self.socket.recv(1 << 16)
        self.reads.append((time.monotonic(), part))
        return part

    def until(self, mark: bytes) -> bytes:
        """Read until `mark` has come; everything so far."""
        while mark not in self.got:
            if not self.read_once():
                raise EOFError(f"the connection ended before {mark!r}")
        return self.got

    def to_end(self) -> bytes:
        """Read until the connection ends; everything so far."""
        while self.read_once():
            pass
        return self.got

    def json(self) -> Any:
        """The JSON body of an answer with Content-Length."""
        head, _, body = self.until(b"\r\n\r\n").partition(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split(b":")[1])
        while len(body) < length:
            body += self.read_once()
        return json.loads(body)

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
