"""The engine in real time, behind the HTTP of an OpenAI-compatible server.

Knows: asyncio, when a step is due, who waits for which sequence. Must not know: how the engine decides.

A step that ends at `due` begins the next one at `due`, however late the timer fired: a busy core makes single tokens
late, not the server slow. Only when it lags by more than `LATE_S` the schedule starts anew from now.
Each open stream gets one write a step.
"""

import asyncio
import itertools
import time
from collections.abc import Callable

from loadband.sim import wire
from loadband.sim.connection import Connection, Stream
from loadband.sim.engine import FINISHED, Engine, EngineDiedError, QueueFullError, Sequence
from loadband.sim.latencies import Latencies, Life
from loadband.sim.metrics import KIND, exposition
from loadband.sim.profile import Profile
from loadband.sim.request import BadRequestError, Request, parsed, prompt_tokens, read_chat, tokens_of

LATE_S = 0.1
VERSION = "0.0.0+loadband.simulator"


class Server:
    """One simulated server. `died` is set when its engine is dead and its port refuses."""

    def __init__(self, profile: Profile, seed: int = 1) -> None:
        self.engine = Engine(profile, seed)
        self.latencies = Latencies()
        self.died = asyncio.Event()
        self._profile = profile
        self._loop = asyncio.get_running_loop()
        self._created = int(time.time())
        self._pieces = wire.Pieces(profile.model, self._created)
        self._streams: dict[Sequence, Stream] = {}
        self._by_connection: dict[Connection, Sequence] = {}
        self._connections: set[Connection] = set()
        self._numbers = itertools.count(1)
        self._listener: asyncio.Server | None = None
        self._pages: dict[tuple[str, str], Callable[[Connection, Request], None]] = {
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/tokenize"): self._tokenize,
            ("GET", "/v1/models"): self._models,
            ("GET", "/health"): lambda connection, _: connection.send(wire.answer(200, b""), over=True),
            ("GET", "/version"): self._version,
            ("GET", "/metrics"): self._metrics,
        }

    async def listen(self, host: str, port: int) -> int:
        """Take connections; the port, also when a free one (0) was asked for. Raises OSError."""
        self._listener = await self._loop.create_server(
            lambda: Connection(self), host, port, backlog=4096, reuse_address=True
        )
        number: int = self._listener.sockets[0].getsockname()[1]
        return number

    def close(self) -> None:
        """Refuse new connections and hang up on the open ones."""
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._connections):
            connection.hang_up()

    # What connections tell

    def opened(self, connection: Connection) -> None:
        """A client has connected."""
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """A client is gone: what it waited for is freed."""
        self._connections.discard(connection)
        sequence = self._by_connection.pop(connection, None)
        if sequence is not None:
            del self._streams[sequence]
            self.engine.abort(sequence)

    def serve(self, connection: Connection, request: Request) -> None:
        """Answer a request, or put it before the engine."""
        page = self._pages.get((request.method, request.path))
        try:
            if page is None:
                known = any(path == request.path for _, path in self._pages)
                raise BadRequestError(405 if known else 404, "Method Not Allowed" if known else "Not Found")
            page(connection, request)
        except BadRequestError as error:
            connection.send(wire.error(error.status, error.message), over=True)

    # Pages

    def _chat(self, connection: Connection, request: Request) -> None:
        asked = read_chat(request.body, self._profile.model, self._profile.max_model_len)
        refusal = self._profile.refusal
        try:
            sequence = self.engine.submit(asked.prompt_tokens, asked.max_tokens, ignore_eos=asked.ignore_eos)
        except EngineDiedError:
            raise BadRequestError(500, refusal.death_message) from None
        except QueueFullError:
            if not (asked.stream and refusal.in_band):
                raise BadRequestError(503, refusal.message) from None
            connection.send(wire.STREAM_HEAD + wire.error_end(503, refusal.message), over=True)
            return
        life = Life(self._loop.time())
        self._streams[sequence] = Stream(connection, asked, self._pieces.identity(next(self._numbers)), life)
        self._by_connection[connection] = sequence
        if asked.stream:
            connection.send(wire.STREAM_HEAD)
        if self.engine.ends_at is None:
            self._begin(self._loop.time())

    def _tokenize(self, connection: Connection, request: Request) -> None:
        data = parsed(request.body)
        prompt = data.get("prompt")
        count = tokens_of(prompt) if isinstance(prompt, str) else prompt_tokens(data)
        body = {"count": count, "max_model_len": self._profile.max_model_len, "tokens": list(range(count))}
        connection.send(wire.answer(200, wire.dumped(body)), over=True)

    def _models(self, connection: Connection, _: Request) -> None:
        model = {
            "id": self._profile.model, "object": "model", "created": self._created, "owned_by": "loadband",
            "max_model_len": self._profile.max_model_len,
        }  # fmt: skip
        connection.send(wire.answer(200, wire.dumped({"object": "list", "data": [model]})), over=True)

    def _version(self, connection: Connection, _: Request) -> None:
        connection.send(wire.answer(200, wire.dumped({"version": VERSION})), over=True)

    def _metrics(self, connection: Connection, _: Request) -> None:
        connection.send(wire.answer(200, exposition(self.engine, self.latencies), KIND), over=True)

    # Steps

    def _begin(self, at: float) -> None:
        try:
            ends_at = self.engine.begin(at)
        except EngineDiedError:
            self._die()
            return
        if ends_at is not None:
            self._loop.call_at(ends_at, self._end, ends_at)

    def _end(self, due: float) -> None:
        pieces, streams, latencies, at = self._pieces, self._streams, self.latencies, self._loop.time()
        for sequence in self.engine.end():
            stream = streams[sequence]
            latencies.token(stream.life, at)
            if sequence.state == FINISHED:
                self._finish(sequence, stream)
            elif stream.asked.stream:
                event = pieces.token(stream.identity, sequence.generated)
                stream.connection.send(pieces.role(stream.identity) + event if sequence.generated == 1 else event)
        now = self._loop.time()
        self._begin(due if now - due < LATE_S else now)

    def _finish(self, sequence: Sequence, stream: Stream) -> None:
        del self._streams[sequence]
        del self._by_connection[stream.connection]
        pieces, asked, tokens = self._pieces, stream.asked, sequence.generated
        self.latencies.finish(stream.life, tokens, sequence.finish_reason)
        if asked.stream:
            counts = wire.usage(asked.prompt_tokens, tokens) if asked.include_usage else None
            end = pieces.end(stream.identity, tokens, sequence.finish_reason, counts)
            stream.connection.send(pieces.role(stream.identity) + end if tokens == 1 else end, over=True)
            return
        identity = f"chatcmpl-{sequence.number:016x}"
        body = wire.whole(
            identity, self._created, self._profile.model,
            tokens=tokens, prompt_tokens=asked.prompt_tokens, reason=sequence.finish_reason,
        )  # fmt: skip
        stream.connection.send(body, over=True)

    def _die(self) -> None:
        """The port refuses; every open stream hears the last words; then the connections end."""
        if self._listener is not None:
            self._listener.close()
        message = self._profile.refusal.death_message
        streams, self._streams = self._streams, {}
        self._by_connection.clear()
        for stream in streams.values():
            failed = wire.error_end(500, message) if stream.asked.stream else wire.error(500, message)
            stream.connection.send(failed)
        self.close()
        self.died.set()


async def simulate(profile: Profile, host: str, port: int, seed: int, ready: Callable[[int], None]) -> None:
    """Serve until the engine dies (then return) or the task is cancelled. Raises OSError for a port that is taken."""
    server = Server(profile, seed)
    ready(await server.listen(host, port))
    try:
        await server.died.wait()
        await asyncio.sleep(0.2)  # last words leave
    finally:
        server.close()
