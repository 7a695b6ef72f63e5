"""Connections to the target: one a user, kept alive, one TLS context for all.

Knows: addresses, TCP, TLS, when a kept connection is dead. Must not know: HTTP, requests, tokens.
"""

import errno
import functools
import os
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import gevent
import gevent.socket
import gevent.ssl
from geventhttpclient.connectionpool import ConnectionPool

from loadband.errors import UsageError
from loadband.load.nonblocking import raw_socket
from loadband.load.reads import READ_BYTES
from loadband.load.tls_socket import TlsSocket
from loadband.record import FailureClass

OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM})


class ConnectError(Exception):
    """No connection: the failure class, and a sentence."""

    def __init__(self, failure_class: str, sentence: str) -> None:
        super().__init__(sentence)
        self.failure_class = failure_class


@dataclass(frozen=True, slots=True)
class Address:
    """Where the target is. `host_header` is what the server is called; `base_path` precedes every path."""

    host: str
    port: int
    tls: bool
    base_path: str = ""

    @property
    def host_header(self) -> str:
        """Host header, with the port where it is not the scheme's own."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The target as a person writes it, without credentials."""
        return f"{'https' if self.tls else 'http'}://{self.host_header}{self.base_path}"


def parse_address(host: str | None) -> Address:
    """Address of `-H`. Raises UsageError; credentials in the URL are refused, since a key lives in the environment."""
    if not host:
        raise UsageError("no target: give the server's address with -H http://HOST:PORT")
    try:
        parts = urlsplit(host if "://" in host else f"http://{host}")
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the target is no address ({error}): write http://HOST:PORT") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"'{parts.scheme}://{parts.hostname or ''}' is no target: write http://HOST:PORT")
    if parts.username or parts.password:
        raise UsageError(
            "credentials in the address would end in files: leave them out and set LOADBAND_API_KEY instead"
        )
    if parts.query or parts.fragment:
        raise UsageError("the address ends with the path: leave out what stands behind ? or #")
    tls = parts.scheme == "https"
    base_path = parts.path.rstrip("/").removesuffix("/v1")  # the usual base URL of OpenAI clients
    return Address(parts.hostname, port or (443 if tls else 80), tls, base_path)


@functools.cache
def tls_context() -> ssl.SSLContext:
    """One context for the process: a context a user would cost 0.8 MB and 16 ms each.

    Certificates are verified against the system's authorities; `SSL_CERT_FILE` names others.
    """
    context: ssl.SSLContext = gevent.ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


@functools.cache
def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
    """Addresses of the target, looked up once a process. Raises OSError."""
    found: list[tuple[Any, ...]] = gevent.socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, socket.SOL_TCP)
    return found


def is_alive(sock: gevent.socket.socket) -> bool:
    """Whether an idle kept connection may be used again: nothing to read, not closed.

    Reads instead of `select`, which fails for descriptors from 1024 on and would call every connection dead. The
    tickets that TLS 1.3 sends unasked after the handshake are nothing to read.
    """
    if sock.fileno() < 0:
        return False
    tls, receive = sock if isinstance(sock, TlsSocket) else None, raw_socket(sock).recv
    try:
        while (came := receive(READ_BYTES)) and tls is not None and not (tls.opened(came)[0] or tls.over):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


class _CarefulPool(ConnectionPool):
    """Geventhttpclient's way to a connection, with names looked up once; the pool itself stays empty."""

    def _resolve(self) -> list[Any]:
        return resolve(self._connection_host, self._connection_port)

    def _connect_socket(self, sock: gevent.socket.socket, address: Any) -> gevent.socket.socket:
        super()._connect_socket(sock, address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if isinstance(sock, TlsSocket):
            sock.shake_hands(tls_context(), self._request_host)
        return sock


class _CarefulTlsPool(_CarefulPool):
    """The same over TLS."""

    def _create_tcp_socket(self, family: int, socktype: int, protocol: int) -> gevent.socket.socket:
        return TlsSocket(family, socktype, protocol)


class Connection:
    """One kept connection to the target."""

    def __init__(self, address: Address, connect_timeout_s: float) -> None:
        self._timeout_s = connect_timeout_s
        hint = " (does it speak https at all?)" if address.tls else ""
        self._too_slow = f"no connection within {connect_timeout_s:g} s{hint}"
        options: dict[str, Any] = {
            "connection_host": address.host,
            "connection_port": address.port,
            "request_host": address.host,
            "request_port": address.port,
            "size": 1,
            "connection_timeout": connect_timeout_s,
            "network_timeout": None,
        }
        self._pool: _CarefulPool = (_CarefulTlsPool if address.tls else _CarefulPool)(**options)
        self._kept: gevent.socket.socket | None = None
        self._prepared = False
        """The kept socket was connected ahead, and has served no request."""

    def prepare(self, within_s: float) -> None:
        """Connect ahead, so that the next `open` need not. What hinders that is for `open` to tell."""
        timer = gevent.Timeout(within_s)
        timer.start()
        try:
            sock, connect_s = self.open()
            self._prepared = connect_s is not None
            self.keep(sock)
        except ConnectError:
            pass
        except gevent.Timeout as timeout:
            if timeout is not timer:
                raise
        finally:
            timer.close()

    def open(self, clock: Callable[[], float] = time.perf_counter) -> tuple[gevent.socket.socket, float | None]:
        """The kept socket, or a new one with the seconds it took: 0 of one connected ahead. Raises ConnectError."""
        prepared, self._prepared = 0.0 if self._prepared else None, False
        kept, self._kept = self._kept, None
        if kept is not None:
            if is_alive(kept):
                return kept, prepared
            self.drop(kept)
        before = clock()
        timer = gevent.Timeout(self._timeout_s)
        timer.start()
        try:
            sock = self._pool.get_socket()
        except gevent.Timeout as timeout:
            if timeout is not timer:
                raise
            raise ConnectError(FailureClass.TIMEOUT_CONNECT, self._too_slow) from None
        except TimeoutError as error:
            raise ConnectError(FailureClass.TIMEOUT_CONNECT, self._too_slow) from error
        except Exception as error:
            raise _connect_error(error) from error
        finally:
            timer.close()
        return sock, clock() - before

    def keep(self, sock: gevent.socket.socket) -> None:
        """The answer ended cleanly: the socket serves the next request."""
        self._kept = sock

    def drop(self, sock: gevent.socket.socket) -> None:
        """Close the socket; the server sees the abort."""
        self._pool.release_socket(sock)

    def close(self) -> None:
        """Close the kept socket, if any."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self.drop(kept)
        self._pool.close()


def _connect_error(error: Exception) -> ConnectError:
    """The class and sentence of what went wrong on the way to a connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = f"{error.verify_message}; name its authority with SSL_CERT_FILE"
        return ConnectError(FailureClass.TLS, f"the certificate is not trusted: {advice}")
    if isinstance(error, ssl.SSLError):
        return ConnectError(FailureClass.TLS, f"TLS handshake failed: {error.reason or error}")
    if isinstance(error, OSError) and error.errno in OUT_OF_RESOURCES:
        return ConnectError(FailureClass.CLIENT, f"the client ran out of resources: {os.strerror(error.errno or 0)}")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ConnectError(FailureClass.CONNECT, reason.lower() if reason else type(error).__name__)
