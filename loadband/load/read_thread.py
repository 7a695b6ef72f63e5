"""Reads plain connections in a thread that the interpreter's lock does not hold up: stamps are true while Python works.

Knows: the functions of `native/reads.c`, the event loop. Must not know: HTTP, server-sent events, tokens, time-outs.
"""

import ctypes
import errno
import os
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

LAGS = 1024
"""So many samples of twenty milliseconds are kept."""

OWN_ERRORS = (errno.ENOMEM, errno.ENOSPC)
"""What went out is the client's own: they are no word of the server."""

_NAME = "loadband_read_thread"

_NOTHING = Reads((), array("I"), b"")


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
        self.taken_at = ctypes.addressof(self.taken)
        self.readers: dict[int, ThreadReader] = {}
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
        due = self.library.reads_due(self.handle, self._ids_at, WAKES_AT_ONCE)
        for stream in self._ids[:due]:
            if (reader := self.readers.get(stream)) is not None:
                reader.pause.end()

    def lags(self) -> list[float]:
        """Seconds by which the thread came late to a timer of its own, since the last call."""
        lags = array("d", bytes(8 * LAGS))
        return lags[: self.library.reads_lags(self.handle, lags.buffer_info()[0], LAGS)].tolist()


class ThreadReader:
    """As `LoopReader`, on a plain connection."""

    __slots__ = ("_stream", "_thread", "ended", "error", "last", "pause")

    def __init__(self, sock: gevent.socket.socket, thread: ReadThread) -> None:
        self._thread = thread
        self.pause = Pause()
        """Of the caller, while it waits for reads."""
        self.last: float | None = None
        """Stamp of the newest read that was taken."""
        self.ended = False
        """The peer closed the connection, or it broke (then `error` says how): all is taken that came."""
        self.error: OSError | None = None
        self._stream = thread.library.reads_open(thread.handle, sock.fileno())
        if not self._stream:
            raise OSError("the client cannot read one more connection: no memory, or it was closed")
        thread.readers[self._stream] = self

    def wake_at_each_read(self, wanted: bool) -> None:
        """Whether `take` returns at each read. At first it does, but while an answer begins as streams do."""
        self._thread.library.reads_eager(self._thread.handle, self._stream, wanted)

    def take(self, until: float) -> Reads:
        """Wait for reads until the monotonic moment `until` at the latest, and hand over all there are, oldest first.

        Empty when `until` passed, or when the connection ended and everything was taken.
        """
        if self.ended:
            return _NOTHING
        reads = self._take(at_once=False)
        if reads.stamps or self.ended:
            return reads
        self.pause.wait(until - time.perf_counter(), self.pause.end)
        return self._take(at_once=True)

    def rest(self) -> Reads:
        """What came and was not taken yet."""
        return _NOTHING if self.ended else self._take(at_once=True)

    def _take(self, *, at_once: bool) -> Reads:
        thread = self._thread
        taken: Any = thread.taken
        thread.library.reads_take(thread.handle, self._stream, at_once, thread.taken_at)
        if taken.error in OWN_ERRORS:
            raise OSError(taken.error, os.strerror(taken.error))
        if taken.ended:
            self.ended = True
            self.error = OSError(taken.error, os.strerror(taken.error)) if taken.error else None
        if not taken.count:
            return _NOTHING
        stamps, sizes = array("d"), array("I")
        stamps.frombytes(ctypes.string_at(taken.stamps, stamps.itemsize * taken.count))
        sizes.frombytes(ctypes.string_at(taken.sizes, sizes.itemsize * taken.count))
        self.last = stamps[-1]
        return Reads(stamps, sizes, ctypes.string_at(taken.bytes, taken.size))

    def close(self) -> bool:
        """Stop reading; whether anything came that nobody took, be it the end.

        Needed before the socket is closed or kept for another request; may be called twice.
        """
        self._thread.readers.pop(self._stream, None)
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
