"""A connection that one of the readers reads.

Knows: both readers. Must not know: any test.
"""

import time
from collections.abc import Callable

import gevent.socket

from loadband.load.read_thread import ThreadReader, read_thread
from loadband.load.reader import LoopReader
from loadband.load.reads import Reads
from tests.load.native_library import needed

Reader = LoopReader | ThreadReader
Make = Callable[[gevent.socket.socket], Reader]


def by_thread(sock: gevent.socket.socket) -> ThreadReader:
    needed()
    thread = read_thread()
    assert thread is not None
    return ThreadReader(sock, thread)


MAKERS: dict[str, Make] = {"loop": LoopReader, "thread": by_thread}


class Pair:
    """A connection, read at one end."""

    def __init__(self, make: Make) -> None:
        self.near, self.far = gevent.socket.socketpair()
        self.reader = make(self.near)

    def send(self, data: bytes) -> None:
        self.far.sendall(data)

    def take(self, within_s: float = 2.0) -> Reads:
        return self.reader.take(time.perf_counter() + within_s)

    def all(self) -> bytes:
        """Everything up to the end."""
        got = b""
        while (reads := self.take()).stamps or not self.reader.ended:
            got += reads.data
        return got

    def close(self) -> None:
        self.reader.close()
        self.near.close()
        self.far.close()
