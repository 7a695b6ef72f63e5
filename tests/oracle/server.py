"""The oracle itself: a server that does what its script says and writes down what it did.

Knows: rules, slots, outages, the log. Must not know: the client, how its commands arrive.
"""

import asyncio
import copy
import gc
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tests.oracle.answers import Write
from tests.oracle.clock import Clock
from tests.oracle.connection import Connection
from tests.oracle.defaults import TOKENIZE, default_answer
from tests.oracle.faults import error
from tests.oracle.log import Log, Request
from tests.oracle.script import Asked, Chooser, Script, Told
from tests.oracle.tokens import Tokens


class Server:
    """Everything between a read request and the connection that plays its answer."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.clock = Clock(self.loop)
        self.greeting: bytes | None = None
        self._tls = tls
        self._listener: asyncio.Server | None = None
        # Bound, never listening: keeps the port ours while the server plays dead.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", 0))
        self.port: int = self._place.getsockname()[1]
        self._open: set[Connection] = set()
        self._revival: asyncio.TimerHandle | None = None
        self._forget()
        self.set_script(Script())

    def _forget(self) -> None:
        self._requests: list[tuple[Request, list[bytes]]] = []
        self._playing: dict[int, Connection] = {}
        self._waiting: deque[tuple[Connection, Request, Told]] = deque()
        self._connections = self._in_flight = self._peak = self._peak_playing = self._tokens = self._answered = 0

    # What connections tell

    def arrived(self, connection: Connection) -> int:
        self._open.add(connection)
        self._connections += 1
        return self._connections

    def left(self, connection: Connection) -> None:
        self._open.discard(connection)

    def asked(self, connection: Connection, request: Request) -> None:
        self._requests.append((request, connection.records))
        request.number = self._count + 1
        asked = Asked(
            request.number, request.nth_on_connection, request.method, request.path, request.headers, request.body
        )
        told = None if self._tokenizes(asked) else self._chooser.choose(asked)
        if told is None and (request.method == "GET" or request.path == TOKENIZE):
            request.scripted, request.number = False, 0
            told = default_answer(request.path, self._script, self.counts(), request.body)
            connection.play(self._writes(request, told), request.read_at)
            return
        self._count += 1
        self._in_flight += 1
        self._peak = max(self._peak, self._in_flight)
        self._waiting.append((connection, request, told or error(404, "no rule of the script fits this request")))
        self._grant(request.read_at)

    def _tokenizes(self, asked: Asked) -> bool:
        """Whether the oracle tokenises by itself: a POST that no rule asks for by name."""
        named = any(rule.path == TOKENIZE for rule in self._script.rules)
        return asked.method == "POST" and asked.path == TOKENIZE and not named

    def finished(self, request: Request) -> None:
        if not request.scripted:
            return
        self._in_flight -= 1
        self._tokens += request.tokens
        self._answered += request.end != "aborted"
        if not self._script.keep_bodies:
            request.body = None
        if self._playing.pop(id(request), None) is not None:
            self._grant(time.monotonic())
        outage = self._script.outage
        if outage is not None and self._answered == outage.after and request.end != "aborted":
            self.loop.call_soon(self.down, True)
            if outage.seconds is not None:
                self._revival = self.loop.call_later(outage.seconds, lambda: self.loop.create_task(self.up()))

    def _grant(self, now: float) -> None:
        slots = self._script.slots
        while self._waiting and (slots is None or len(self._playing) < slots):
            connection, request, told = self._waiting.popleft()
            if request.end == "queued":
                self._playing[id(request)] = connection
                self._peak_playing = max(self._peak_playing, len(self._playing))
                connection.play(self._writes(request, told), now)

    @staticmethod
    def _writes(request: Request, told: Told) -> Iterator[Write]:
        name = request.headers.get("x-request-id")
        extra = () if name is None else (("X-Request-Id", name),)
        if isinstance(told, Tokens):
            return told.writes(request.body if isinstance(request.body, dict) else {}, request.path, extra)
        return told.writes(extra, request.headers.get("authorization", ""))

    # What the test asks for

    def set_script(self, script: Script) -> None:
        """Take a new script; answers that play go on, counts of requests start anew."""
        if self._revival is not None:
            self._revival.cancel()
        self._script, self._chooser, self._count = script, Chooser(script.rules), 0
        self.greeting = script.greeting
        self._answered = 0

    def counts(self) -> dict[str, float]:
        """The figures `/metrics` shows."""
        live = sum(request.tokens for request, _ in self._requests if request.ended_at is None and request.scripted)
        return {
            "tokens": self._tokens + live, "requests": self._count, "running": len(self._playing),
            "waiting": self._in_flight - len(self._playing),
        }  # fmt: skip

    def log(self, payload: bool) -> Log:
        """A picture of now."""
        seen = [copy.copy(request) for request, _ in self._requests]
        if payload:
            for request, (_, records) in zip(seen, self._requests, strict=True):
                request.wire = b"".join(records)
        return Log(
            taken_at=time.monotonic(), connections=self._connections, open_connections=len(self._open),
            in_flight=self._in_flight, peak_in_flight=self._peak, peak_progressing=self._peak_playing,
            tokens_sent=int(self.counts()["tokens"]), requests=[r for r in seen if r.scripted],
            others=[r for r in seen if not r.scripted],
        )  # fmt: skip

    async def reset(self) -> None:
        """As after the start: default script, empty log, no connection, listening."""
        self.down(True)
        await asyncio.sleep(0)
        self._forget()
        self.set_script(Script())
        gc.collect()
        await self.up()

    def down(self, drop: bool) -> None:
        """Stop listening; `drop` also cuts every open connection."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for connection in list(self._open) if drop else ():
            connection.drop()

    async def up(self) -> None:
        """Listen (again) on the same port."""
        if self._listener is None:
            self._listener = await self.loop.create_server(
                lambda: Connection(self), "127.0.0.1", self.port, backlog=4096, reuse_address=True, ssl=self._tls
            )

    async def obey(self, command: str, *arguments: Any) -> object:
        """Carry out one command of the test."""
        deeds: dict[str, Callable[..., Any]] = {
            "script": self.set_script, "log": self.log, "counts": self.counts, "reset": self.reset, "down": self.down,
            "up": self.up,
        }  # fmt: skip
        result = deeds[command](*arguments)
        return await result if asyncio.iscoroutine(result) else result
