"""A port that passes everything on to another one, from any address, as late as asked: slow links, IPv6 alone.

Knows: sockets and threads. Must not know: what passes.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator


@contextlib.contextmanager
def forwarding(to_port: int, address: str = "127.0.0.1", delay_s: float = 0.0) -> Iterator[int]:
    """The port, on `address`; each piece is passed on `delay_s` after it came, in both directions."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        listener.listen(64)
        threading.Thread(target=_accept, args=(listener, to_port, delay_s), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, to_port: int, delay_s: float) -> None:
    while True:
        try:
            here, _ = listener.accept()
        except OSError:
            return
        there = socket.create_connection(("127.0.0.1", to_port))
        for source, target in ((here, there), (there, here)):
            threading.Thread(target=_pass_on, args=(source, target, delay_s), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, delay_s: float) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if delay_s:
                time.sleep(delay_s)
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
