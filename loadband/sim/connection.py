"""One client's connection: requests in, streams out.

Knows: one socket's events, one request at a time. Must not know: the engine, the other connections.
"""

import asyncio
from typing import Protocol

from loadband.sim import wire
from loadband.sim.latencies import Life
from loadband.sim.request import BadRequestError, ChatRequest, Request, take


class Stream:
    """What a connection owes for the chat request that it serves."""

    __slots__ = ("asked", "connection", "identity", "life")

    def __init__(self, connection: "Connection", asked: ChatRequest, identity: bytes, life: Life) -> None:
        self.connection = connection
        self.asked = asked
        self.identity = identity
        self.life = life


class House(Protocol):
    """What a connection needs of its server."""

    def opened(self, connection: "Connection") -> None:
        """A client has connected."""

    def closed(self, connection: "Connection") -> None:
        """A client is gone."""

    def serve(self, connection: "Connection", request: Request) -> None:
        """Answer a whole request, now or later, with `connection.send`."""


class Connection(asyncio.Protocol):
    """Requests are taken one at a time; what comes during an answer waits in the buffer."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._buffer = bytearray()
        self._busy = self._last = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._house.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        """Tell that nobody listens any more."""
        self.transport = None
        self._house.closed(self)

    def eof_received(self) -> bool:
        """A client that half-closes has hung up."""
        return False

    def data_received(self, data: bytes) -> None:
        """Bytes of this request or the next."""
        self._buffer += data
        self._take()

    def send(self, data: bytes, *, over: bool = False) -> None:
        """Write; `over` when the answer is whole."""
        if self.transport is not None:
            self.transport.write(data)
        if over:
            self._busy = False
            if self._last:
                self.hang_up()
            elif self._buffer:
                self._take()

    def hang_up(self) -> None:
        """Close once everything is written."""
        if self.transport is not None:
            self.transport.close()

    def _take(self) -> None:
        if self._busy or self.transport is None:
            return
        try:
            request = take(self._buffer)
        except BadRequestError as error:
            self._last = True
            self.send(wire.error(error.status, error.message), over=True)
            return
        if request is not None:
            self._busy = True
            self._last = request.headers.get("connection", "").lower() == "close"
            self._house.serve(self, request)
