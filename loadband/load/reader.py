"""Reads a socket: stamps each read as it returns and hands over `(stamp, bytes)` pairs.

Knows: sockets, TLS, the event loop. Must not know: HTTP, server-sent events, tokens, time-outs.

A libev callback reads, stamps and appends; nothing is parsed between a read and its stamp, and the request's
greenlet is woken only when there is reason to parse: the bytes look like the end of a stream, the connection
ended, a buffer is full, or the caller's deadline passed. `looks like` is a hint: the same bytes occur in headers
(llama.cpp's `max=100`), so the caller's parser decides. A faster reader replaces this module alone.
"""

import socket
import ssl
import time
from collections.abc import Callable

import gevent
import gevent.socket
from gevent.hub import Waiter

READ_BYTES = 65536
WAITING_BYTES = 262144
"""Reading pauses while this many bytes wait to be parsed."""

ENDINGS = (b"0\r\n\r\n", b"[DONE]\n\n", b"[DONE]\n\n\r\n", b"[DONE]\r\n\r\n", b"[DONE]\r\n\r\n\r\n")

LONGEST_ENDING = max(map(len, ENDINGS))

Read = tuple[float, bytes]
"""Monotonic stamp of the moment the read returned, and its bytes."""


class Reader:
    """The reads of one connection, from construction until `close`."""

    __slots__ = ("_clock", "_reads", "_receive", "_waiter", "_waiting", "_watcher", "eager", "ended", "error", "last")

    def __init__(self, sock: gevent.socket.socket, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._receive = _receiver(sock)
        self._reads: list[Read] = []
        self._waiting = 0
        self._waiter: Waiter[None] | None = None
        self.eager = True
        """Wake the caller at each read. For headers and for answers that are no stream."""
        self.ended = False
        """The peer closed the connection, or it broke (then `error` says how)."""
        self.error: OSError | None = None
        self.last: float | None = None
        """Stamp of the newest read."""
        self._watcher = gevent.get_hub().loop.io(sock.fileno(), 1)
        self._watcher.start(self._readable)

    def _readable(self) -> None:
        """Called by the event loop: read once, stamp, keep."""
        try:
            data = self._receive()
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return
        except OSError as error:
            self.error = error
            data = b""
        stamp = self._clock()
        if not data:
            self.ended = True
            self._watcher.stop()
            self._wake()
            return
        self.last = stamp
        self._reads.append((stamp, data))
        self._waiting += len(data)
        if self._waiting >= WAITING_BYTES:
            self._watcher.stop()
            self._wake()
        elif self.eager or self._looks_ended(data):
            self._wake()

    def _looks_ended(self, data: bytes) -> bool:
        if len(data) < LONGEST_ENDING and len(self._reads) > 1:
            data = b"".join(piece for _, piece in self._reads[-LONGEST_ENDING:])
        return data.endswith(ENDINGS)

    def _wake(self) -> None:
        if self._waiter is not None:
            waiter, self._waiter = self._waiter, None
            waiter.switch(None)

    def take(self, until: float) -> list[Read]:
        """Wait for reads until the monotonic moment `until` at the latest, and hand over all there are, oldest first.

        Empty when `until` passed, or when the connection ended and everything was taken.
        """
        if not (self.ended or (self.eager and self._reads)):
            self._wait(until)
        reads, self._reads = self._reads, []
        if self._waiting >= WAITING_BYTES and not self.ended:
            self._watcher.start(self._readable)
        self._waiting = 0
        return reads

    def _wait(self, until: float) -> None:
        delay = until - self._clock()
        waiter = self._waiter = Waiter()
        timer = gevent.get_hub().loop.timer(max(delay, 0.0))
        timer.start(self._wake)
        try:
            waiter.get()
        finally:
            self._waiter = None
            timer.stop()
            timer.close()

    def close(self) -> None:
        """Stop reading. Needed before the socket is closed or goes back to its pool; may be called twice."""
        self._watcher.stop()
        self._watcher.close()


def raw_socket(sock: gevent.socket.socket) -> socket.socket:
    """The non-blocking socket below gevent's, whose calls never switch greenlets."""
    raw: socket.socket = sock._sock  # type: ignore[attr-defined]
    return raw


def _receiver(sock: gevent.socket.socket) -> Callable[[], bytes]:
    """A function that reads what is there without blocking: b"" at the end, BlockingIOError or SSLWantReadError."""
    tls = getattr(sock, "_sslobj", None)
    if tls is None:
        receive = raw_socket(sock).recv
        return lambda: receive(READ_BYTES)

    def receive_tls() -> bytes:
        data: bytes = tls.read(READ_BYTES)
        # One arrival may hold several TLS records; what OpenSSL holds back would not wake the watcher again.
        while data and len(data) < READ_BYTES:
            try:
                more = tls.read(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            if not more:
                break
            data += more
        return data

    def receive_or_end() -> bytes:
        try:
            return receive_tls()
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLEOFError as error:
            raise ConnectionResetError(str(error)) from error

    return receive_or_end
