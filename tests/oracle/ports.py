"""Ports where nobody answers.

Knows: sockets. Must not know: HTTP.
"""

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def refused_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections, and that nobody else can take meanwhile."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place.getsockname()[1]


@contextlib.contextmanager
def deaf_port() -> Iterator[int]:
    """A port of 127.0.0.1 that never completes a connection: its queue is full and nobody accepts."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
