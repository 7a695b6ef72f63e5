"""One TCP or TLS connection of the oracle: reads requests, plays answers, notices who hung up.

Knows: sockets' events, timed writes. Must not know: rules, slots, HTTP.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from typing import Protocol

from tests.oracle.answers import Write
from tests.oracle.clock import Clock
from tests.oracle.log import Request
from tests.oracle.reading import last_prompt, take_request

PROMPT_CHARS = 80
ENDS = {"close": "closed", "reset": "reset"}


class House(Protocol):
    """What a connection needs of its server."""

    clock: Clock
    greeting: bytes | None

    def arrived(self, connection: "Connection") -> int:
        """Count a new connection; its number."""

    def left(self, connection: "Connection") -> None:
        """A connection is gone."""

    def asked(self, connection: "Connection", request: Request) -> None:
        """A request was read in full."""

    def finished(self, request: Request) -> None:
        """An answer is over, whoever ended it."""


class Connection(asyncio.Protocol):
    """Requests are taken one at a time; what comes while an answer plays waits in the buffer."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.transport: asyncio.Transport | None = None
        self.number = 0
        self.served = 0
        self.request: Request | None = None
        self.records: list[bytes] = []
        self._buffer = bytearray()
        self._writes: Iterator[Write] = iter(())
        self._next: Write | None = None
        self._start = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.connected_at = time.monotonic()
        self.number = self.house.arrived(self)
        if self.house.greeting is not None:
            transport.write(self.house.greeting)

    def data_received(self, data: bytes) -> None:
        if self.house.greeting is not None and self.transport is not None:
            self.transport.close()
            return
        self._buffer += data
        self._take()

    def eof_received(self) -> bool:
        self._gone("fin")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone("fin" if exc is None else "rst")
        self.transport = None
        self.house.left(self)

    def play(self, writes: Iterator[Write], start: float) -> None:
        """Send `writes`, timed from `start`."""
        if self.request is None:
            return
        self.request.end = "playing"
        self.request.granted_at = start
        self._writes, self._start = writes, start
        self._next = next(writes)
        self._step()

    def drop(self) -> None:
        """End the connection at once, as a dying process does."""
        if self.transport is not None:
            self._over("closed")
            self.transport.abort()

    def _step(self) -> None:
        """Send all that is due, then come back for the next."""
        request, write = self.request, self._next
        if request is None:
            return
        while write is not None:
            due = self._start + write.at_ms / 1e3
            if due > time.monotonic():
                self._next = write
                self.house.clock.call_at(due, self._step)
                return
            if write.data:
                self._send(request, write)
            elif write.kind == "hang":
                request.end = "hung"
                return
            elif write.kind == "end":
                self._end(request, next(self._writes, None))
                return
            elif write.kind in ENDS:
                self._over(ENDS[write.kind])
                self._hang_up(write.kind)
                return
            write = next(self._writes, None)

    def _send(self, request: Request, write: Write) -> None:
        transport = self.transport
        if transport is None:
            return
        now = time.monotonic()
        transport.write(write.data)
        if write.kind == "piece":
            request.sent.append(now)
            request.tokens += write.tokens
        if request.head_at is None:
            request.head_at = now
        if transport.get_write_buffer_size():
            request.blocked += 1
        self.records.append(write.data)

    def _end(self, request: Request, farewell: Write | None) -> None:
        """The answer is whole; hang up now, or when the connection was idle for so long, or never."""
        self._over("done")
        if farewell is None:
            if request.headers.get("connection", "").lower() == "close":
                self._hang_up("close")
            self._take()
            return
        due, how, served = self._start + farewell.at_ms / 1e3, farewell.kind, self.served
        if due <= time.monotonic():
            self._hang_up(how)
            return
        self.house.clock.call_at(due, lambda: self._hang_up(how) if self.served == served else None)
        self._take()

    def _hang_up(self, how: str) -> None:
        if self.transport is None:
            return
        if how == "reset":
            linger = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.transport.abort()
        else:
            self.transport.close()
        self.transport = None

    def _gone(self, how: str) -> None:
        if self.request is not None:
            self.request.abort_by = how
            self._over("aborted")

    def _over(self, end: str) -> None:
        request, self.request, self._next = self.request, None, None
        if request is not None:
            request.end = end
            request.ended_at = time.monotonic()
            self.house.finished(request)

    def _take(self) -> None:
        if self.request is not None or self.transport is None:
            return
        now = time.monotonic()
        asked = take_request(self._buffer)
        if asked is None:
            return
        if asked.waits:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        self.served += 1
        self.records = []
        self.request = Request(
            number=0, connection=self.number, nth_on_connection=self.served, method=asked.method, path=asked.path,
            headers=asked.headers, body=asked.body, prompt=last_prompt(asked.body)[:PROMPT_CHARS],
            connected_at=self.connected_at, read_at=now,
        )  # fmt: skip
        self.house.asked(self, self.request)
