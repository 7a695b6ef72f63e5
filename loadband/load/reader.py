"""Reads a socket: stamps each read as it returns and hands over stamps and bytes.

Knows: the event loop. Must not know: HTTP, server-sent events, tokens, time-outs.

Nothing is parsed between a read and its stamp, and the request's greenlet is woken only when there is reason to parse:
the bytes look like the end of a stream, the connection ended, a buffer is full, or the caller's deadline passed. What
looks like the end may be none, so the caller's parser decides.

Plain connections are read by a thread of its own where it was built (`read_thread.py`). Here a callback of the event
loop does it. Then greenlets wake one at a time, and all sockets that are readable are read before each: what a
request's end costs must not make the others' tokens late.
"""

import ssl
import time
from collections.abc import Callable

import gevent
import gevent.socket

from loadband.load.nonblocking import raw_socket, tls_receiver
from loadband.load.pause import Pause
from loadband.load.read_thread import ThreadReader, read_thread
from loadband.load.reads import ENDINGS, READ_BYTES, WAITING_BYTES, Reads, looks_ended, reads_of
from loadband.load.turns import turns

LONGEST_ENDING = max(map(len, ENDINGS))


def reader_of(
    sock: gevent.socket.socket, clock: Callable[[], float] = time.perf_counter
) -> "LoopReader | ThreadReader":
    """Begins to read the connection. The thread has one clock of its own, and sees nothing through TLS."""
    thread = read_thread() if clock is time.perf_counter and tls_receiver(sock) is None else None
    return LoopReader(sock, clock) if thread is None else ThreadReader(sock, thread)


class LoopReader:
    """The reads of one connection, from construction until `close`."""

    __slots__ = (
        "_clock", "_eager", "_newest", "_pause", "_pieces", "_receive", "_stamps", "_tls", "_turns", "_waiting",
        "_watcher", "ended", "error",
    )  # fmt: skip

    def __init__(self, sock: gevent.socket.socket, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._tls = tls_receiver(sock)
        self._receive: Callable[[int], bytes] = raw_socket(sock).recv if self._tls is None else self._tls.recv
        self._stamps: list[float] = []
        self._pieces: list[bytes] = []
        self._newest: float | None = None
        self._waiting = 0
        self._pause = Pause()
        self._eager = True
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

    def wake_at_each_read(self, wanted: bool) -> None:
        """Whether `take` returns at each read, as it does at first: for headers, and for answers that are no stream."""
        self._eager = wanted

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
            self._wake()
        elif self._eager or looks_ended(data) or (len(data) < LONGEST_ENDING and self._together_ended()):
            self._wake()

    def _end(self) -> None:
        """Nothing comes after what was read."""
        self.ended = True
        if self._tls is not None:
            self.error = self._tls.error
        self._watcher.stop()
        self._wake()

    def _together_ended(self) -> bool:
        """Whether the reads together end as a stream does, the last one alone being too short to tell."""
        return b"".join(self._pieces[-LONGEST_ENDING:]).endswith(ENDINGS)

    def _wake(self) -> None:
        """Let the caller have what there is, if it waits, when its turn comes."""
        self._turns.wait_for(self._pause.end)

    def take(self, until: float) -> Reads:
        """Wait for reads until the monotonic moment `until` at the latest, and hand over all there are, oldest first.

        Empty when `until` passed, or when the connection ended and everything was taken.
        """
        if not (self.ended or (self._eager and self._pieces)):
            self._pause.wait(until - self._clock(), self._wake)
        self._newest = self.last
        reads = reads_of(self._stamps, self._pieces)
        self._stamps, self._pieces = [], []
        if self._waiting >= WAITING_BYTES and not self.ended:
            self._watcher.start(self._readable)
        self._waiting = 0
        return reads

    def rest(self) -> Reads:
        """What came and was not taken yet."""
        return reads_of(self._stamps, self._pieces)

    def close(self) -> bool:
        """Stop reading; whether anything came that nobody took, be it the end.

        Needed before the socket is closed or kept for another request; may be called twice.
        """
        self._watcher.stop()
        self._watcher.close()
        return self.ended or bool(self._pieces)
