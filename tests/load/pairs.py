"""A connection that one of the readers reads, plain or through TLS.

Knows: both readers. Must not know: any test.
"""

import contextlib
import functools
import ssl
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gevent
import gevent.socket

from loadband.load.read_thread import ThreadReader, read_thread
from loadband.load.reader import LoopReader
from loadband.load.reads import Reads
from loadband.load.tls_socket import TlsSocket
from tests.load.native_library import needed
from tests.oracle.tls import write_certificate

Reader = LoopReader | ThreadReader
Make = Callable[[gevent.socket.socket], Reader]
Ends = tuple[gevent.socket.socket, gevent.socket.socket]


def by_thread(sock: gevent.socket.socket) -> Reader:
    needed()
    thread = read_thread()
    assert thread is not None
    return LoopReader(sock, time.perf_counter, thread) if isinstance(sock, TlsSocket) else ThreadReader(sock, thread)


class Pair:
    """A connection, read at one end."""

    sealed = False

    def __init__(self, make: Make, ends: Ends | None = None) -> None:
        self.near, self.far = ends or gevent.socket.socketpair()
        self.reader = make(self.near)

    def send(self, data: bytes) -> None:
        self.far.sendall(data)

    def end(self) -> None:
        """As a server that has said all."""
        self.far.close()

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


@functools.cache
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The client's and the server's."""
    client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = write_certificate(Path(folder))
        server.load_cert_chain(certificate, key)
        client.load_verify_locations(certificate)
    return client, server


class SealedPair(Pair):
    """The same through TLS. `seal` gives what would be sent, for who sends it in pieces of his own."""

    sealed = True

    def __init__(self, make: Make, ends: Ends | None = None) -> None:
        near, self.far = ends or gevent.socket.socketpair()
        client, server = contexts()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = server.wrap_bio(self._incoming, self._outgoing, server_side=True)
        serving = gevent.spawn(self._shake_hands)
        self.near: TlsSocket = TlsSocket(near.family, near.type, near.proto, fileno=near.detach())
        self.near.shake_hands(client, "localhost")
        serving.get(timeout=20)
        self.reader = make(self.near)

    def _shake_hands(self) -> None:
        agreed = False
        while not agreed:
            try:
                self.tls.do_handshake()
                agreed = True
            except ssl.SSLWantReadError:
                pass
            self.far.sendall(self._outgoing.read())
            if not agreed:
                received = self.far.recv(65536)
                assert received, "the client hung up"
                self._incoming.write(received)

    def seal(self, data: bytes) -> bytes:
        rest = memoryview(data)
        while rest:
            rest = rest[self.tls.write(rest) :]
        return self._outgoing.read()

    def opened(self, data: bytes) -> bytes:
        """What was sent to this end."""
        self._incoming.write(data)
        return self.tls.read(65536)

    def goodbye(self) -> bytes:
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self._outgoing.read()

    def send(self, data: bytes) -> None:
        self.far.sendall(self.seal(data))

    def end(self) -> None:
        self.far.sendall(self.goodbye())
        self.far.close()


def taken(pair: Pair, size: int) -> list[tuple[float, bytes]]:
    """Stamp and bytes of each read, until there are so many bytes or the end came."""
    reads: list[tuple[float, bytes]] = []
    while not pair.reader.ended and sum(len(data) for _, data in reads) < size:
        some, end = pair.take(), 0
        for stamp, length in zip(some.stamps, some.sizes, strict=True):
            reads.append((stamp, some.data[end : end + length]))
            end += length
    return reads


New = Callable[..., Pair]
KINDS: dict[str, New] = {
    "loop": functools.partial(Pair, LoopReader),
    "thread": functools.partial(Pair, by_thread),
    "loop, sealed": functools.partial(SealedPair, LoopReader),
    "thread, sealed": functools.partial(SealedPair, by_thread),
}
