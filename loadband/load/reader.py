"""Reads a socket: stamps each read as it returns and hands over stamps and bytes.

Knows: sockets, TLS, the event loop. Must not know: HTTP, server-sent events, tokens, time-outs.

A libev callback reads, stamps and appends; nothing is parsed between a read and its stamp, and the request's
greenlet is woken only when there is reason to parse: the bytes look like the end of a stream, the connection
ended, a buffer is full, or the caller's deadline passed. `looks like` is a hint: the same bytes occur in headers
(llama.cpp's `max=100`), so the caller's parser decides. Greenlets wake one at a time, and all sockets that are
readable are read before each: what a request's end costs must not make the others' tokens late. A faster reader
replaces this module alone.
"""

import fcntl
import socket
import ssl
import termios
import time
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import gevent
import gevent.socket
from gevent.hub import Waiter

from loadband.load.turns import turns

READ_BYTES = 65536
WAITING_BYTES = 262144
"""Reading pauses while this many bytes wait to be parsed."""

ENDINGS = (b"0\r\n\r\n", b"[DONE]\n\n", b"[DONE]\n\n\r\n", b"[DONE]\r\n\r\n", b"[DONE]\r\n\r\n\r\n")

LONGEST_ENDING = max(map(len, ENDINGS))


class Reads(NamedTuple):
    """Reads of one connection, oldest first: two lists of one length, so that a read costs no object of its own."""

    stamps: list[float]
    """Monotonic stamp of the moment each read returned."""
    pieces: list[bytes]
    """What each read brought, never empty."""


class Reader:
    """The reads of one connection, from construction until `close`."""

    __slots__ = (
        "_clock", "_newest", "_pieces", "_receive", "_stamps", "_tls", "_turns", "_waiter", "_waiting", "_watcher",
        "eager", "ended", "error",
    )  # fmt: skip

    def __init__(self, sock: gevent.socket.socket, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._tls = _tls_of(sock)
        self._receive: Callable[[int], bytes] = _raw_socket(sock).recv if self._tls is None else self._tls.recv
        self._stamps: list[float] = []
        self._pieces: list[bytes] = []
        self._newest: float | None = None
        self._waiting = 0
        self._waiter: Waiter[None] | None = None
        self.eager = True
        """Wake the caller at each read. For headers and for answers that are no stream."""
        self.ended = False
        """The peer closed the connection, or it broke (then `error` says how)."""
        self.error: OSError | None = None
        self._turns = turns()
        self._watcher = gevent.get_hub().loop.io(sock.fileno(), 1)
        self._watcher.start(self._readable)

    @property
    def last(self) -> float | None:
        """Stamp of the newest read."""
        return self._stamps[-1] if self._stamps else self._newest

    def _readable(self) -> None:
        """Called by the event loop: read once, stamp, keep."""
        try:
            data = self._receive(READ_BYTES)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return
        except OSError as error:
            self.error = error
            data = b""
        stamp = self._clock()
        if not data:
            self._end()
            return
        self._stamps.append(stamp)
        self._pieces.append(data)
        self._waiting += len(data)
        if self._tls is not None and self._tls.over:
            self._end()
        elif self._waiting >= WAITING_BYTES:
            self._watcher.stop()
            self._turns.wait_for(self._wake)
        elif self.eager or data.endswith(ENDINGS) or (len(data) < LONGEST_ENDING and self._looks_ended()):
            self._turns.wait_for(self._wake)

    def _end(self) -> None:
        """Nothing comes after what was read."""
        self.ended = True
        if self._tls is not None:
            self.error = self._tls.error
        self._watcher.stop()
        self._turns.wait_for(self._wake)

    def _looks_ended(self) -> bool:
        """Whether the reads together end as a stream does, the last one alone being too short to tell."""
        return b"".join(self._pieces[-LONGEST_ENDING:]).endswith(ENDINGS)

    def _wake(self) -> None:
        """Let the caller have what there is, if it waits."""
        if self._waiter is not None:
            waiter, self._waiter = self._waiter, None
            waiter.switch(None)

    def take(self, until: float) -> Reads:
        """Wait for reads until the monotonic moment `until` at the latest, and hand over all there are, oldest first.

        Empty when `until` passed, or when the connection ended and everything was taken.
        """
        if not (self.ended or (self.eager and self._pieces)):
            self._wait(until)
        self._newest = self.last
        reads = Reads(self._stamps, self._pieces)
        self._stamps, self._pieces = [], []
        if self._waiting >= WAITING_BYTES and not self.ended:
            self._watcher.start(self._readable)
        self._waiting = 0
        return reads

    def _wait(self, until: float) -> None:
        delay = until - self._clock()
        waiter = self._waiter = Waiter()
        timer = gevent.get_hub().loop.timer(max(delay, 0.0))
        timer.start(self._turns.wait_for, self._wake)
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


def _raw_socket(sock: gevent.socket.socket) -> socket.socket:
    """The non-blocking socket below gevent's, whose calls never switch greenlets."""
    raw: socket.socket = sock._sock  # type: ignore[attr-defined]
    return raw


def receiver(sock: gevent.socket.socket) -> Callable[[int], bytes]:
    """A function that reads what is there, up to so many bytes at once, without blocking.

    b"" at the end; raises BlockingIOError or SSLWantReadError where nothing is there.
    """
    tls = _tls_of(sock)
    return _raw_socket(sock).recv if tls is None else tls.recv


class TlsReceiver:
    """Reads what is there of a TLS connection, without blocking, and knows when it was the last."""

    __slots__ = ("_fd", "_tls", "_waiting", "error", "over")

    def __init__(self, tls: Any, fd: int) -> None:
        self._tls = tls
        self._fd = fd
        self._waiting = array("i", [0])
        self.over = False
        """The end came, with the bytes that `recv` returned last or after them: no watcher tells it again."""
        self.error: OSError | None = None
        """What the end was, if not the peer's goodbye: some servers close without one, behind a whole answer."""

    def recv(self, limit: int) -> bytes:
        """All that is there, up to about so many bytes; b"" at the end. Raises SSLWantReadError where nothing is.

        One arrival may hold several TLS records; what OpenSSL holds back would not wake a watcher again.
        """
        data = b""
        while not data or (len(data) < limit and self._more()):
            try:
                more: bytes = self._tls.read(limit)
            except ssl.SSLWantReadError:
                if data:
                    break
                raise
            except ssl.SSLZeroReturnError:
                more = b""
            except OSError as error:
                self.error, more = _as_reset(error), b""
            self.over = not more
            data += more
            if self.over:
                break
        return data

    def _more(self) -> bool:
        """Whether more is there. To read in vain would cost an exception for each token."""
        if self._tls.pending():
            return True
        fcntl.ioctl(self._fd, termios.FIONREAD, self._waiting)
        return self._waiting[0] > 0


def _as_reset(error: OSError) -> OSError:
    return ConnectionResetError(str(error)) if isinstance(error, ssl.SSLEOFError) else error


def _tls_of(sock: gevent.socket.socket) -> TlsReceiver | None:
    tls = getattr(sock, "_sslobj", None)
    return None if tls is None else TlsReceiver(tls, sock.fileno())
