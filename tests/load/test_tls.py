"""Reads through TLS: records cut anywhere, its own words, its ends."""

import random
import ssl
import time
from collections.abc import Iterator
from itertools import pairwise

import gevent
import gevent.socket
import pytest

from loadband.load.reader import LoopReader
from loadband.load.reads import WAITING_BYTES
from loadband.load.tls_socket import AT_ONCE
from tests.load.pairs import SealedPair, by_thread, taken

MAKERS = {"loop": LoopReader, "thread": by_thread}


@pytest.fixture(params=MAKERS)
def pair(request: pytest.FixtureRequest) -> Iterator[SealedPair]:
    both = SealedPair(MAKERS[request.param])
    yield both
    both.close()


@pytest.mark.parametrize("seed", range(8))
def test_each_record_has_the_stamp_of_its_last_byte(pair: SealedPair, seed: int) -> None:
    """However the bytes are cut: in mid-header, many records in a read, one record in many."""
    draw = random.Random(seed)
    records = [b"<%d>" % number * draw.randint(1, 400) for number in range(12)]
    whole, ends = b"", []
    for record in records:
        whole += pair.seal(record)
        ends.append(len(whole))
    cuts = sorted({0, len(whole), *draw.sample(range(1, len(whole)), 10), *(end + draw.randint(-2, 2) for end in ends)})
    at: list[tuple[int, float]] = []
    for begin, end in pairwise(cuts):
        at.append((min(end, len(whole)), time.perf_counter()))
        pair.far.sendall(whole[begin:end])
        gevent.sleep(0.004)
    reads = taken(pair, sum(map(len, records)))
    assert [data for _, data in reads] == records
    assert [stamp for stamp, _ in reads] == sorted(stamp for stamp, _ in reads)
    for end, (stamp, _) in zip(ends, reads, strict=True):
        sent = next(moment for until, moment in at if until >= end)
        assert stamp >= sent, "a record is whole when its last byte came"


def test_long_records_come_whole(pair: SealedPair) -> None:
    sent = random.Random(1).randbytes(3 * AT_ONCE + 17)
    pair.send(sent)
    assert b"".join(data for _, data in taken(pair, len(sent))) == sent


ENDS = [
    (b"goodbye", None, "a goodbye"),
    (b"", ConnectionResetError, "none"),
    (b"garbage", ssl.SSLError, "bytes that are no TLS"),
]


@pytest.mark.parametrize(("last", "error", "sentence"), ENDS, ids=[row[2] for row in ENDS])
def test_the_end_in_one_piece_with_the_last_bytes(
    pair: SealedPair, last: bytes, error: type[OSError] | None, sentence: str
) -> None:
    words = pair.seal(b"last words")
    pair.far.sendall(words + (pair.goodbye() if last == b"goodbye" else b"\x00garbage" if last else b""))
    pair.far.close()
    assert pair.all() == b"last words", sentence
    assert isinstance(pair.reader.error, error or type(None)), sentence


def test_words_of_tls_itself_are_no_reads(pair: SealedPair) -> None:
    """The tickets that TLS 1.3 sends after the handshake come with what follows, or alone."""
    assert pair.tls.version() == "TLSv1.3"
    assert not pair.take(0.05).stamps
    pair.send(b"one")
    assert pair.take().data == b"one"
    assert pair.reader.close() is False, "nothing is left"


def test_what_waits_for_room_comes_soon_after_there_is_some(pair: SealedPair) -> None:
    """An answer of several buffers: all of it is there without a wait for the caller's patience."""
    sent = random.Random(2).randbytes(5 * WAITING_BYTES)
    sending = gevent.spawn(pair.send, sent)
    gevent.sleep(0.2)
    before, got = time.perf_counter(), b""
    while len(got) < len(sent):
        got += pair.take(5).data
    assert got == sent
    assert time.perf_counter() - before < 3
    sending.get()
    before = time.perf_counter()
    pair.send(b"and its tail")
    assert [data for _, data in taken(pair, 12)] == [b"and its tail"]
    assert time.perf_counter() - before < 2
