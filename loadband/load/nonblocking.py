"""Reads and writes without waiting: what a connection has, and what it takes; plain, and through TLS.

Knows: sockets, TLS. Must not know: the event loop, stamps, HTTP.
"""

import fcntl
import socket
import ssl
import termios
from array import array
from collections.abc import Callable
from typing import Any

import gevent.socket


def receiver(sock: gevent.socket.socket) -> Callable[[int], bytes]:
    """A function that reads what is there, up to so many bytes at once, without blocking.

    b"" at the end; raises BlockingIOError or SSLWantReadError where nothing is there.
    """
    tls = tls_receiver(sock)
    return raw_socket(sock).recv if tls is None else tls.recv


def send_at_once(sock: gevent.socket.socket, data: bytes) -> int:
    """How many of the bytes the connection took; 0 also where it is broken, which the next one to send is told."""
    if _tls_of(sock) is not None:
        return 0
    try:
        return raw_socket(sock).send(data)
    except OSError:
        return 0


def raw_socket(sock: gevent.socket.socket) -> socket.socket:
    """The non-blocking socket below gevent's, whose calls never switch greenlets."""
    raw: socket.socket = sock._sock  # type: ignore[attr-defined]
    return raw


def tls_receiver(sock: gevent.socket.socket) -> "TlsReceiver | None":
    """What reads a connection through TLS; None of a plain one."""
    tls = _tls_of(sock)
    return None if tls is None else TlsReceiver(tls, sock.fileno())


def _tls_of(sock: gevent.socket.socket) -> Any:
    return getattr(sock, "_sslobj", None)


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
        while not self.over and (not data or (len(data) < limit and self._more())):
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
        return data

    def _more(self) -> bool:
        """Whether more is there. To read in vain would cost an exception for each token."""
        if self._tls.pending():
            return True
        fcntl.ioctl(self._fd, termios.FIONREAD, self._waiting)
        return self._waiting[0] > 0


def _as_reset(error: OSError) -> OSError:
    return ConnectionResetError(str(error)) if isinstance(error, ssl.SSLEOFError) else error
