"""A socket and the TLS on it, apart: bytes are sealed before they are sent, and opened after they were read.

Knows: sockets, TLS. Must not know: stamps, HTTP, who reads.

So whoever reads the socket, the thread without the interpreter's lock too, stamps what came before anything is
decrypted.
"""

import ssl
from typing import Any

import gevent.socket

from loadband.load.nonblocking import send_at_once

AT_ONCE = 16384
"""A TLS record holds no more."""


class TlsSocket(gevent.socket.socket):
    """`sendall` and `recv` are as of any socket; or others move its bytes, seal what they send, open what they read."""

    def shake_hands(self, context: ssl.SSLContext, name: str) -> None:
        """Agree with the server, that must be called so. Raises OSError, SSLError among them."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._opened = b""
        """What `recv` has to give yet."""
        self.over = False
        """The peer's end came: nothing is to be opened any more."""
        self.error: OSError | None = None
        """What the end was, if not the peer's goodbye: some servers close without one, behind a whole answer."""
        self._unsent = b""
        """Words of TLS that found no room."""
        while not self._agreed():
            received = super().recv(AT_ONCE)
            self._incoming.write(received)
            if not received:
                self._incoming.write_eof()
        if self.opened(b"")[0]:
            raise ssl.SSLError("the server spoke before it was asked")

    def _agreed(self) -> bool:
        try:
            self._tls.do_handshake()
            agreed = True
        except ssl.SSLWantReadError:
            agreed = False
        except OSError:
            self._answer()
            raise
        super().sendall(self._outgoing.read())
        return agreed

    def sendall(self, data: Any, flags: int = 0) -> None:
        """As of any socket."""
        super().sendall(self.sealed(data), flags)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """As of any socket; an end without a goodbye is one. Raises OSError."""
        while not (self._opened or self.over):
            received = super().recv(AT_ONCE, flags)
            self._opened = b"".join(self.opened(received, ended=not received)[0])
        if not (self._opened or self.error is None or isinstance(self.error, ConnectionResetError)):
            raise self.error
        piece, self._opened = self._opened[:size], self._opened[size:]
        return piece

    def getpeercert(self) -> dict[str, Any]:
        """The server's certificate, as `ssl` tells it."""
        return self._tls.getpeercert() or {}

    def version(self) -> str | None:
        """That of the protocol, as `TLSv1.3`."""
        return self._tls.version()

    def sealed(self, data: bytes) -> bytes:
        """What is to be sent that the server may read this. Raises SSLError where the connection is broken."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._tls.write(rest) :]
        wire, self._unsent = self._unsent + self._outgoing.read(), b""
        return wire

    def opened(self, data: bytes, *, ended: bool = False) -> tuple[list[bytes], list[int]]:
        """Pieces of what was read, and after how many of its bytes each was whole. `ended`: no more comes.

        No piece where the data is but a part of a record, or a word of TLS itself.
        """
        if self.over:
            return [], []
        pieces: list[bytes] = []
        marks: list[int] = []
        read, incoming, size = self._tls.read, self._incoming, len(data)
        incoming.write(data)
        if ended:
            incoming.write_eof()
        left = incoming.pending
        while not self.over and (left or ended):
            try:
                piece = read(AT_ONCE)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                piece = b""
            except OSError as error:
                self.error, piece = _as_reset(error), b""
            if not piece:
                self.over = True
                break
            left = incoming.pending
            pieces.append(piece)
            marks.append(size - left)
        if self._outgoing.pending:
            self._answer()
        return pieces, marks

    def _answer(self) -> None:
        """A word of TLS itself: a refusal, or new keys."""
        self._unsent += self._outgoing.read()
        self._unsent = self._unsent[send_at_once(self, self._unsent) :]


def _as_reset(error: OSError) -> OSError:
    return ConnectionResetError(str(error)) if isinstance(error, ssl.SSLEOFError) else error
