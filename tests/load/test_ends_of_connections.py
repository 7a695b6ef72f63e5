"""How a connection ended, and what came with its end: nothing that was read is lost, and a break is no end."""

import contextlib
import os
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadband.load.connection import tls_context
from loadband.load.exchange import Timeouts
from loadband.record import FailureClass, Status
from tests.load.asking import Asker
from tests.load.streams import DONE, HEAD, event, finish, text
from tests.oracle.tls import write_certificate

End = Callable[[ssl.SSLSocket], None]


def without_a_word(sock: ssl.SSLSocket) -> None:
    """As a process that was killed, and as servers that never learned to say goodbye."""
    os.close(sock.detach())


def goodbye_and_wait(sock: ssl.SSLSocket) -> None:
    """As Python's asyncio: TLS ends, and the TCP connection stays until the client ends it."""
    with contextlib.suppress(OSError, ValueError):
        sock.unwrap()
    sock.close()


def served(listener: socket.socket, context: ssl.SSLContext, body: bytes, end: End) -> None:
    connection, _ = listener.accept()
    connection.settimeout(20)
    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as sock:
        sock.recv(65536)
        sock.sendall(HEAD + b"\r\n" + body)
        end(sock)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    certificate, key = write_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tls_context.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    yield context
    tls_context.cache_clear()


@pytest.mark.parametrize("end", [without_a_word, goodbye_and_wait])
@pytest.mark.parametrize("last", [finish() + DONE, finish()], ids=["done", "a reason alone"])
def test_what_came_with_the_end_of_tls_is_read(authority: ssl.SSLContext, end: End, last: bytes) -> None:
    body = text("A") + text("B") + last
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=served, args=(listener, authority, body, end))
        server.start()
        exchange = Asker(f"https://127.0.0.1:{listener.getsockname()[1]}").ask()
        server.join(timeout=20)
    assert (exchange.status, "".join(exchange.answer.text)) == (Status.OK, "AB"), exchange.failure
    assert exchange.end - exchange.start < 4, "the end of TLS is the end, whatever becomes of TCP"


@pytest.mark.parametrize(("end", "told"), [(without_a_word, FailureClass.RESET), (goodbye_and_wait, None)])
def test_tls_without_a_goodbye_ends_no_answer_that_only_its_end_ends(
    authority: ssl.SSLContext, end: End, told: str | None
) -> None:
    body = b'{"text":["hello A"]}\n{"text":["hello A B"]}\n'
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=served, args=(listener, authority, body, end))
        server.start()
        exchange = Asker(f"https://127.0.0.1:{listener.getsockname()[1]}", api="vllm-generate").ask()
        server.join(timeout=20)
    assert "".join(exchange.answer.text) == " A B"
    assert (exchange.failure and exchange.failure.failure_class) == told


def broken_off(listener: socket.socket, body: bytes, read: threading.Event) -> None:
    connection, _ = listener.accept()
    connection.recv(65536)
    connection.sendall(body)
    read.wait(timeout=20)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


CUT = [
    ("vllm-generate", True, HEAD + b"\r\n" + b'{"text":["hello A"]}\n'),
    ("triton", True, HEAD + b"\r\n" + event({"text_output": "A"})),
    ("openai-chat", True, HEAD + b"\r\n" + text("A")),
    ("openai-chat", False, b'HTTP/1.1 200 OK\r\n\r\n{"choices":[{"message":{"content":"A"}}]'),
]


@pytest.mark.parametrize(("api", "stream", "body"), CUT, ids=["vllm-generate", "triton", "chat", "one piece"])
def test_a_reset_is_never_the_end_of_an_answer(api: str, stream: bool, body: bytes) -> None:
    sent = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=broken_off, args=(listener, body, sent))
        server.start()
        asker = Asker(f"http://127.0.0.1:{listener.getsockname()[1]}", Timeouts(5, 5, 5, 20), api, stream=stream)
        threading.Timer(0.3, sent.set).start()
        exchange = asker.ask()
        server.join(timeout=20)
    assert exchange.failure is not None
    assert (exchange.status, exchange.failure.failure_class) == (Status.FAILED, FailureClass.RESET)
