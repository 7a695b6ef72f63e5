"""Reads a socket: stamps each read as it returns and hands over stamps and bytes.

Knows: the event loop, that TLS is opened after the stamp. Must not know: HTTP, server-sent events, tokens, time-outs.

Nothing is parsed between a read and its stamp, and the request's greenlet is woken only when there is reason to parse:
the bytes look like the end of a stream, the connection ended, a buffer is full, or the caller's deadline passed. What
looks like the end may be none, so the caller's parser decides.

A thread of its own reads where it was built (`read_thread.py`). It also sees what a plain connection brought; what came
through TLS only the event loop can see. Without the thread a callback of the event loop reads. Then greenlets wake one
at a time, and all sockets that are readable are read before each: what a request's end costs must not make the others'
tokens late.
"""

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

import gevent
import gevent.socket

from loadband.load.nonblocking import raw_socket
from loadband.load.pause import Pause
from loadband.load.read_thread import NOTHING, OWN_ERRORS, Come, ReadThread, SealedStream, ThreadReader, read_thread
from loadband.load.reads import ENDINGS, READ_BYTES, WAITING_BYTES, Reads, looks_ended, reads_of
from loadband.load.tls_socket import TlsSocket
from loadband.load.turns import turns

LONGEST_ENDING = max(map(len, ENDINGS))


def reader_of(
    sock: gevent.socket.socket, clock: Callable[[], float] = time.perf_counter
) -> "LoopReader | ThreadReader":
    """Begins to read the connection. The thread has one clock of its own."""
    thread = read_thread() if clock is time.perf_counter else None
    if thread is None or isinstance(sock, TlsSocket):
        return LoopReader(sock, clock, thread)
    return ThreadReader(sock, thread)


class _LoopStream:
    """Reads of a connection by the event loop itself."""

    __slots__ = ("_clock", "_come", "_receive", "_watcher")

    def __init__(self, sock: gevent.socket.socket, come: Come, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._come = come
        self._receive = raw_socket(sock).recv
        self._watcher = gevent.get_hub().loop.io(sock.fileno(), 1)
        self.start()

    def _readable(self) -> None:
        """Called by the event loop: read once, stamp, tell."""
        error = None
        try:
            data = self._receive(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as broken:
            data, error = b"", broken
        stamp = self._clock()
        self._come(Reads((stamp,), array("I", (len(data),)), data) if data else NOTHING, not data, error)

    def start(self) -> None:
        self._watcher.start(self._readable)

    def stop(self) -> None:
        self._watcher.stop()

    def eager(self, wanted: bool) -> None:
        """Each read is told at once."""

    def tell(self) -> None:
        """All is told that was read."""

    def close(self) -> bool:
        self._watcher.stop()
        self._watcher.close()
        return False


class LoopReader:
    """The reads of one connection, which the event loop looks at one by one, from construction until `close`."""

    __slots__ = (
        "_clock", "_eager", "_newest", "_pause", "_pieces", "_stamps", "_stream", "_tls", "_turns", "_waiting",
        "ended", "error",
    )  # fmt: skip

    def __init__(
        self,
        sock: gevent.socket.socket,
        clock: Callable[[], float] = time.perf_counter,
        thread: ReadThread | None = None,
    ) -> None:
        """`thread`: reads for it, on its own clock."""
        self._clock = clock
        self._tls = sock if isinstance(sock, TlsSocket) else None
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
        self._stream = (
            _LoopStream(sock, self._come, clock) if thread is None else SealedStream(sock, self._come, thread)
        )

    @property
    def last(self) -> float | None:
        """Stamp of the newest read."""
        return self._stamps[-1] if self._stamps else self._newest

    def wake_at_each_read(self, wanted: bool) -> None:
        """Whether `take` returns at each read, as it does at first: for headers, and for answers that are no stream."""
        if wanted != self._eager:
            self._eager = wanted
            self._stream.eager(wanted)

    def _come(self, reads: Reads, ended: bool, error: OSError | None) -> bool:
        """Called by the event loop with what was read: keep it, and wake the caller if there is reason to.

        Whether it looks like the end of an answer.
        """
        if self.ended:
            return False
        stamps, pieces, self.ended, self.error = self._opened(reads, ended, error)
        self._stamps += stamps
        self._pieces += pieces
        data = b"".join(pieces)
        self._waiting += len(data)
        looks = looks_ended(data) or (0 < len(data) < LONGEST_ENDING and self._together_ended())
        if self.ended or self._waiting >= WAITING_BYTES:
            self._stream.stop()
            self._wake()
        elif data and (self._eager or looks):
            self._wake()
        return looks

    def _opened(
        self, reads: Reads, ended: bool, error: OSError | None
    ) -> tuple[Sequence[float], Sequence[bytes], bool, OSError | None]:
        """Stamps and pieces of reads, whether they were the last, and what the end was if not the peer's."""
        if self._tls is None:
            return reads.stamps, () if ended else (reads.data,), ended, error
        pieces, marks = self._tls.opened(reads.data, ended=ended and error is None)
        if len(reads.stamps) == 1:
            stamps = [reads.stamps[0]] * len(pieces)
        else:
            ends = list(accumulate(reads.sizes))
            stamps = [reads.stamps[bisect_left(ends, mark)] for mark in marks]
        over = self._tls.over or ended
        return stamps, pieces, over, self._tls.error if self._tls.over else error

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
            if self._waiting < WAITING_BYTES:
                self._stream.tell()
        if self.error is not None and self.error.errno in OWN_ERRORS:
            raise self.error
        self._newest = self.last
        reads = reads_of(self._stamps, self._pieces)
        self._stamps, self._pieces = [], []
        if self._waiting >= WAITING_BYTES and not self.ended:
            self._stream.start()
        self._waiting = 0
        return reads

    def rest(self) -> Reads:
        """What came and was not taken yet."""
        self._stream.tell()
        return reads_of(self._stamps, self._pieces)

    def close(self) -> bool:
        """Stop reading; whether anything came that nobody took, be it the end.

        Needed before the socket is closed or kept for another request; may be called twice.
        """
        self._stream.tell()
        return self._stream.close() or self.ended or bool(self._pieces)
