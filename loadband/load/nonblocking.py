"""Bytes as the wire carries them, sealed where there is TLS: sent at once, as far as the connection takes them.

Knows: sockets. Must not know: the event loop, stamps, HTTP, TLS.
"""

import socket

import gevent.socket


def send_at_once(sock: gevent.socket.socket, data: bytes) -> int:
    """How many of the bytes the connection took; 0 also where it is broken, which the next one to send is told."""
    try:
        return raw_socket(sock).send(data)
    except OSError:
        return 0


def send_wire(sock: gevent.socket.socket, data: bytes) -> None:
    """Send the rest, and wait until all of it is taken. Raises OSError."""
    gevent.socket.socket.sendall(sock, data)


def raw_socket(sock: gevent.socket.socket) -> socket.socket:
    """The non-blocking socket below gevent's, whose calls never switch greenlets."""
    raw: socket.socket = sock._sock  # type: ignore[attr-defined]
    return raw
