"""TLS on a socket: handshakes that fail, pages, and which connections live."""

import contextlib
import ssl
import tempfile
from pathlib import Path

import gevent
import gevent.socket
import pytest

from loadband.load.connection import is_alive
from loadband.load.reader import LoopReader
from loadband.load.tls_socket import TlsSocket
from tests.load.pairs import SealedPair, contexts
from tests.oracle.tls import write_certificate


def test_a_socket_like_any_other() -> None:
    """Pages are fetched through it by libraries that know nothing of sealing."""
    pair = SealedPair(LoopReader)
    pair.reader.close()
    pair.near.sendall(b"question")
    received = pair.far.recv(65536)
    assert b"question" not in received
    assert pair.opened(received) == b"question"
    pair.send(b"answer" * 10_000)
    got = b""
    while len(got) < 60_000:
        got += pair.near.recv(1000)
    assert got == b"answer" * 10_000
    pair.end()
    assert pair.near.recv(1000) == b""
    pair.close()


@pytest.mark.parametrize("last", [b"", b"goodbye"], ids=["without a goodbye", "with one"])
def test_the_end_of_a_page_is_an_end(last: bytes) -> None:
    """Servers that never learned to say goodbye end pages so; libraries of HTTP see whether they are whole."""
    pair = SealedPair(LoopReader)
    pair.reader.close()
    pair.far.sendall(pair.seal(b"page") + (pair.goodbye() if last else b""))
    pair.far.close()
    assert [pair.near.recv(1000) for _ in range(3)] == [b"page", b"", b""]
    pair.close()


def test_bytes_that_are_no_tls_are_no_page() -> None:
    pair = SealedPair(LoopReader)
    pair.reader.close()
    pair.far.sendall(b"HTTP/1.1 500 Internal Server Error")
    with pytest.raises(ssl.SSLError):
        pair.near.recv(1000)
    pair.close()


def alive(pair: SealedPair) -> bool:
    pair.reader.close()
    gevent.sleep(0.01)
    return is_alive(pair.near)


def test_tickets_alone_are_a_living_connection() -> None:
    pair = SealedPair(LoopReader)
    assert alive(pair)
    pair.send(b"unasked")
    assert not alive(pair)
    pair.close()


@pytest.mark.parametrize("goodbye", [False, True])
def test_an_end_behind_tickets_is_an_end(goodbye: bool) -> None:
    """Again and again: a doctor asks twice."""
    pair = SealedPair(LoopReader)
    if goodbye:
        pair.end()
    else:
        pair.far.close()
    assert [alive(pair) for _ in range(3)] == [False] * 3
    pair.close()


def test_a_server_that_speaks_first_is_none_of_http() -> None:
    near, far = gevent.socket.socketpair()
    sock = TlsSocket(near.family, near.type, near.proto, fileno=near.detach())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = write_certificate(Path(folder))
        context.load_cert_chain(certificate, key)
        client = ssl.create_default_context(cafile=str(certificate))
    server = context.wrap_bio(incoming, outgoing, server_side=True)
    shaking = gevent.spawn(sock.shake_hands, client, "localhost")
    for _ in range(2):
        incoming.write(far.recv(65536))
        with contextlib.suppress(ssl.SSLWantReadError):
            server.do_handshake()
            server.write(b"220 ready")
        far.sendall(outgoing.read())
    with pytest.raises(ssl.SSLError, match="spoke before"):
        shaking.get(timeout=10)
    sock.close()
    far.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x28"])
def test_a_handshake_that_fails_says_so(answer: bytes) -> None:
    near, far = gevent.socket.socketpair()
    far.sendall(answer)
    far.shutdown(1)
    sock = TlsSocket(near.family, near.type, near.proto, fileno=near.detach())
    with pytest.raises(ssl.SSLError), gevent.Timeout(10):
        sock.shake_hands(contexts()[0], "localhost")
    sock.close()
    far.close()


def test_a_certificate_that_is_refused_is_refused_aloud() -> None:
    near, far = gevent.socket.socketpair()
    sock = TlsSocket(near.family, near.type, near.proto, fileno=near.detach())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = contexts()[1].wrap_bio(incoming, outgoing, server_side=True)
    shaking = gevent.spawn(sock.shake_hands, contexts()[0], "another-name")
    incoming.write(far.recv(65536))
    with contextlib.suppress(ssl.SSLWantReadError):
        server.do_handshake()
    far.sendall(outgoing.read())
    with pytest.raises(ssl.SSLCertVerificationError):
        shaking.get(timeout=10)
    incoming.write(far.recv(65536))
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        server.do_handshake()
    sock.close()
    far.close()
