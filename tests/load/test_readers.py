"""Both readers, the event loop's and the thread's: every byte, in order, with its read's stamp, and the end told."""

import errno
import socket
import struct
import time
from collections.abc import Iterator

import gevent
import gevent.socket
import pytest

from loadband.load.reads import ENDINGS, WAITING_BYTES
from tests.load.pairs import KINDS, New, Pair


@pytest.fixture(params=KINDS)
def new(request: pytest.FixtureRequest) -> New:
    return KINDS[request.param]


@pytest.fixture
def pair(new: New) -> Iterator[Pair]:
    both = new()
    yield both
    both.close()


def test_a_read_comes_with_the_moment_it_came_at(pair: Pair) -> None:
    before = time.perf_counter()
    pair.send(b"one")
    reads = pair.take()
    assert (reads.data, list(reads.sizes), len(reads.stamps)) == (b"one", [3], 1)
    assert before <= reads.stamps[0] <= time.perf_counter()
    assert pair.reader.last == reads.stamps[0]
    assert not pair.reader.ended


def test_nothing_comes_of_nothing(pair: Pair) -> None:
    before = time.perf_counter()
    reads = pair.take(0.05)
    assert (list(reads.stamps), list(reads.sizes), reads.data) == ([], [], b"")
    assert time.perf_counter() >= before + 0.049
    assert pair.reader.last is None


def test_the_end_comes_after_all_that_was_sent(pair: Pair) -> None:
    pair.send(b"last")
    pair.end()
    assert pair.all() == b"last"
    assert pair.reader.error is None
    assert not pair.take().stamps


def test_a_reset_is_an_error(new: New) -> None:
    listener = gevent.socket.create_server(("127.0.0.1", 0))
    near = gevent.socket.create_connection(listener.getsockname())
    far = gevent.socket.socket(fileno=listener.accept()[0].detach())
    pair = new((near, far))
    reader = pair.reader
    far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    far.close()
    while not reader.ended:
        reader.take(time.perf_counter() + 2)
    assert isinstance(reader.error, ConnectionResetError)
    assert reader.error.errno == errno.ECONNRESET
    pair.close()
    listener.close()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("cut", [None, 1, 3])
def test_what_looks_like_an_end_wakes(pair: Pair, ending: bytes, cut: int | None) -> None:
    """However it is cut into reads; and nothing else does, once the caller has seen what it wanted to."""
    pair.reader.wake_at_each_read(False)
    pair.send(b"token")
    assert pair.take(0.05).data == b"token", "taken when the caller's patience ended"
    for at in range(0, len(ending), cut or len(ending)):
        gevent.sleep(0.002)
        pair.send(ending[at : at + (cut or len(ending))])
    before, got = time.perf_counter(), b""
    while len(got) < len(ending):
        got += pair.take(5).data
    assert got == ending
    assert time.perf_counter() < before + 2


OTHER_HEADS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCONTENT-LENGTH: 7\r\n\r\n",
    b"\x00\x01 text/event",
)


@pytest.mark.parametrize("head", OTHER_HEADS)
def test_any_other_head_wakes(pair: Pair, head: bytes) -> None:
    for data in (head, b"more", b"and more"):
        pair.send(data)
        before = time.perf_counter()
        assert pair.take(5).data == data
        assert time.perf_counter() < before + 2


def test_what_nobody_takes_is_left_to_the_sender(pair: Pair) -> None:
    """Memory is bounded: reading pauses, the sender waits, and in the end nothing is missing."""
    pair.reader.wake_at_each_read(False)
    sent = bytes(range(256)) * 16_384

    def send() -> None:
        pair.send(sent)
        pair.end()

    sending = gevent.spawn(send)
    gevent.sleep(0.3)
    assert not sending.ready()
    got = b""
    while not pair.reader.ended:
        reads = pair.take()
        assert len(reads.data) <= (2 if pair.sealed else 1) * (WAITING_BYTES + 65_536)
        assert sum(reads.sizes) == len(reads.data)
        assert list(reads.stamps) == sorted(reads.stamps)
        got += reads.data
    assert got == sent


def test_what_came_is_there_for_who_is_stopped(pair: Pair) -> None:
    pair.reader.wake_at_each_read(False)
    waiting = gevent.spawn(pair.take, 10)
    pair.send(b"half a tok")
    gevent.sleep(0.05)
    waiting.kill()
    assert pair.reader.rest().data == b"half a tok"


def test_descriptors_come_again(new: New) -> None:
    """A closed stream's number serves the next one, and nothing of the old one is told to it."""
    for each in range(300):
        pair = new()
        pair.send(b"%d" % each)
        if each % 3:
            assert pair.take().data == b"%d" % each
        if each % 2:
            pair.end()
        pair.close()
        pair.reader.close()


def test_many_connections_at_once(new: New) -> None:
    pairs = [new() for _ in range(100)]
    taking = [gevent.spawn(pair.all) for pair in pairs]
    for part in range(20):
        for number, pair in enumerate(pairs):
            pair.send(b"<%d.%d>" % (number, part))
        gevent.sleep(0)
    for pair in pairs:
        pair.end()
    gevent.joinall(taking, timeout=20, raise_error=True)
    for number, taken in enumerate(taking):
        assert taken.value == b"".join(b"<%d.%d>" % (number, part) for part in range(20))
    for pair in pairs:
        pair.close()
