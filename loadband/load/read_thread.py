"""Reads connections in a thread that the interpreter's lock does not hold up: stamps are true while Python works.

Knows: the functions of `native/reads.c`, the event loop. Must not know: how TLS is opened, HTTP, tokens, time-outs.
"""

import ctypes
import errno
import os
import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

import gevent
import gevent.socket

from loadband.load import native
from loadband.load.pause import Pause
from loadband.load.reads import WAITING_BYTES, Reads

WAKES_AT_ONCE = 4
"""Between so many greenlets that are woken the event loop looks at everything else."""

TOLD_AT_ONCE = 64
"""Between about so many streams that are opened the event loop looks at everything else."""

SOON_S, SURE_S, SURE_AFTER = 0.002, 0.25, 32
"""Reads through TLS wait at most so long until they are opened, for the end of an answer may be among them; longer when
so many times in a row the length of a record told what looks like an end."""

LAGS = 1024
"""So many samples of twenty milliseconds are kept."""

OWN_ERRORS = (errno.ENOMEM, errno.ENOSPC)
"""What went out is the client's own: they are no word of the server."""

_NAME = "loadband_read_thread"

Come = Callable[[Reads, bool, OSError | None], bool]
"""Is told of reads, whether they were the last, and what the end was if not the peer's.

Whether they look like the end of an answer."""

NOTHING = Reads((), array("I"), b"")


class _Taken(ctypes.Structure):
    """As in the C source."""

    _fields_ = (
        ("bytes", ctypes.c_void_p),
        ("stamps", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
        ("ended", ctypes.c_int),
        ("error", ctypes.c_int),
        ("odd", ctypes.c_int),
    )


class _Gone:
    """The functions, where they must touch nothing."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *_: 0


class ReadThread:
    """One for each event loop, for the life of the process."""

    def __init__(self, library: ctypes.PyDLL) -> None:
        self.library: Any = library
        self.handle = library.reads_start(WAITING_BYTES)
        if not self.handle:
            raise OSError("the thread that reads connections could not be started")
        self.taken = _Taken()
        """What was taken last: whether the stream ended, and whether one of its reads was told by its length."""
        self.taken_at = ctypes.addressof(self.taken)
        self.pauses: dict[int, Pause] = {}
        """Id of a plain stream -> what ends when there is something to see."""
        self.sealed: dict[int, Callable[[], object]] = {}
        """Id of a sealed stream -> what is called when there is something to open; it wakes nobody at once."""
        self._hinted = 0
        """So many times in a row the length of a record told what looks like an end."""
        library.reads_patience(self.handle, SOON_S)
        self._ids = array("Q", [0] * WAKES_AT_ONCE)
        self._ids_at = self._ids.buffer_info()[0]
        self._watcher = gevent.get_hub().loop.io(library.reads_wake(self.handle), 1, ref=False)
        self._watcher.start(self._wake_some)
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """In a child process there is no thread; what wakes the parent, and its streams, are not the child's."""
        self._watcher.stop()
        self.library = _Gone()
        self.taken = _Taken(ended=1, error=errno.ECONNABORTED)
        if getattr(gevent.get_hub(), _NAME, None) is self:
            delattr(gevent.get_hub(), _NAME)

    def _wake_some(self) -> None:
        """Called by the event loop, again and again while streams are due."""
        woken = told = 0
        while woken < WAKES_AT_ONCE and told < TOLD_AT_ONCE:
            due = self.library.reads_due(self.handle, self._ids_at, WAKES_AT_ONCE)
            for stream in self._ids[:due]:
                if (pause := self.pauses.get(stream)) is not None:
                    woken += 1
                    pause.end()
                elif (told_of := self.sealed.get(stream)) is not None:
                    told += 1
                    self._call(told_of)
            if due < WAKES_AT_ONCE:
                break

    @staticmethod
    def _call(told_of: Callable[[], object]) -> None:
        try:
            told_of()
        except Exception:  # told, and no reason to forget the others that are due
            gevent.get_hub().handle_error(told_of, *sys.exc_info())

    def open(self, sock: gevent.socket.socket, *, sealed: bool) -> int:
        """The id of a stream that is read from now on."""
        stream: int = self.library.reads_open(self.handle, sock.fileno(), sealed)
        if not stream:
            raise OSError("the client cannot read one more connection: no memory, or it was closed")
        return stream

    def take(self, stream: int, *, at_once: bool) -> Reads:
        """All reads that wait, `at_once` or when there is reason to look; `taken` tells the rest."""
        taken: Any = self.taken
        self.library.reads_take(self.handle, stream, at_once, self.taken_at)
        if not taken.count:
            return NOTHING
        stamps, sizes = array("d"), array("I")
        stamps.frombytes(ctypes.string_at(taken.stamps, stamps.itemsize * taken.count))
        sizes.frombytes(ctypes.string_at(taken.sizes, sizes.itemsize * taken.count))
        return Reads(stamps, sizes, ctypes.string_at(taken.bytes, taken.size))

    def error(self) -> OSError | None:
        """What ended the stream that was taken last, if not the peer."""
        error: int = self.taken.error
        return OSError(error, os.strerror(error)) if error else None

    def learn(self, *, hinted: bool) -> None:
        """What came through TLS looks like an end, and the length of a record had told so, or not."""
        self._hinted = self._hinted + 1 if hinted else 0
        if self._hinted in (0, SURE_AFTER):
            self.library.reads_patience(self.handle, SURE_S if self._hinted else SOON_S)

    def lags(self) -> list[float]:
        """Seconds by which the thread came late to a timer of its own, since the last call."""
        lags = array("d", bytes(8 * LAGS))
        return lags[: self.library.reads_lags(self.handle, lags.buffer_info()[0], LAGS)].tolist()


class SealedStream:
    """Reads of a connection whose bytes only the event loop can open."""

    __slots__ = ("_come", "_going", "_stream", "_thread")

    def __init__(self, sock: gevent.socket.socket, come: Come, thread: ReadThread) -> None:
        """`come` is called in the event loop, a moment after each read."""
        self._thread = thread
        self._come = come
        self._going = True
        self._stream = thread.open(sock, sealed=True)
        thread.sealed[self._stream] = self._tell_if_wanted

    def _tell_if_wanted(self) -> None:
        if self._going:
            self.tell()

    def tell(self) -> None:
        """Tell at once of what was read."""
        reads = self._thread.take(self._stream, at_once=True)
        ended, odd = bool(self._thread.taken.ended), bool(self._thread.taken.odd)
        if (reads.stamps or ended) and self._come(reads, ended, self._thread.error()):
            self._thread.learn(hinted=odd or ended)

    def eager(self, wanted: bool) -> None:
        """Whether each read is told at once."""
        self._thread.library.reads_eager(self._thread.handle, self._stream, wanted)

    def start(self) -> None:
        """Tell again, after `stop`, and soon of what was read meanwhile."""
        self._going = True
        gevent.get_hub().loop.run_callback(self._tell_if_wanted)

    def stop(self) -> None:
        """Tell no more. The thread reads until it has as much as may wait."""
        self._going = False

    def close(self) -> bool:
        """Whether anything came that was not told."""
        self._thread.sealed.pop(self._stream, None)
        return bool(self._thread.library.reads_close(self._thread.handle, self._stream))


class ThreadReader:
    """As `LoopReader`, on a plain connection."""

    __slots__ = ("_pause", "_stream", "_thread", "ended", "error", "last")

    def __init__(self, sock: gevent.socket.socket, thread: ReadThread) -> None:
        self._thread = thread
        self._pause = Pause()
        self.last: float | None = None
        """Stamp of the newest read that was taken."""
        self.ended = False
        """The peer closed the connection, or it broke (then `error` says how): all is taken that came."""
        self.error: OSError | None = None
        self._stream = thread.open(sock, sealed=False)
        thread.pauses[self._stream] = self._pause

    def wake_at_each_read(self, wanted: bool) -> None:
        """Whether `take` returns at each read. At first it does, but while an answer begins as streams do."""
        self._thread.library.reads_eager(self._thread.handle, self._stream, wanted)

    def take(self, until: float) -> Reads:
        """Wait for reads until the monotonic moment `until` at the latest, and hand over all there are, oldest first.

        Empty when `until` passed, or when the connection ended and everything was taken.
        """
        if self.ended:
            return NOTHING
        reads = self._take(at_once=False)
        if reads.stamps or self.ended:
            return reads
        self._pause.wait(until - time.perf_counter(), self._pause.end)
        return self._take(at_once=True)

    def rest(self) -> Reads:
        """What came and was not taken yet."""
        return NOTHING if self.ended else self._take(at_once=True)

    def _take(self, *, at_once: bool) -> Reads:
        reads = self._thread.take(self._stream, at_once=at_once)
        if self._thread.taken.ended:
            error = self._thread.error()
            if error is not None and error.errno in OWN_ERRORS:
                raise error
            self.ended, self.error = True, error
        if reads.stamps:
            self.last = reads.stamps[-1]
        return reads

    def close(self) -> bool:
        """Stop reading; whether anything came that nobody took, be it the end.

        Needed before the socket is closed or kept for another request; may be called twice.
        """
        self._thread.pauses.pop(self._stream, None)
        return bool(self._thread.library.reads_close(self._thread.handle, self._stream))


def read_thread() -> ReadThread | None:
    """That of this thread's event loop; None where the library was not built, or no thread can be started."""
    hub = gevent.get_hub()
    if not hasattr(hub, _NAME):
        library = native.library()
        try:
            setattr(hub, _NAME, None if library is None else ReadThread(library))
        except OSError:
            setattr(hub, _NAME, None)
    found: ReadThread | None = getattr(hub, _NAME)
    return found


def read_lags() -> list[float]:
    """Those of this event loop's thread; none where it has none."""
    found: ReadThread | None = getattr(gevent.get_hub(), _NAME, None)
    return [] if found is None else found.lags()
