"""When the thread tells of reads through TLS: at once, soon, or once the lengths of records are trusted."""

import statistics
import subprocess
import sys
import time

import gevent
import gevent.socket
import pytest

from loadband.load.read_thread import SOON_S, SURE_AFTER, SURE_S, read_thread
from loadband.load.reader import reader_of
from tests.load.native_library import needed
from tests.load.pairs import SealedPair, by_thread, taken

TOKEN = b'data: {"content":"one of many"}\n\n'


def seen_after_s(pair: SealedPair, *pieces: bytes) -> float:
    """How long after it was sent the last piece of an answer, each of its own record, wakes who waits for it."""
    assert pair.reader.close() is False, "nothing is left of the answer before"
    pair.reader = by_thread(pair.near)
    pair.send(TOKEN)
    pair.take()
    pair.reader.wake_at_each_read(False)
    taking = gevent.spawn(lambda: (taken(pair, sum(map(len, pieces))), time.perf_counter()))
    for piece in pieces:
        gevent.sleep(0.001)
        before = time.perf_counter()
        pair.send(piece)
    woken: float = taking.get(timeout=20)[1]
    return woken - before


SMALL, ALIKE, LONG = b"0\r\n\r\n", TOKEN[:-1] + b"0\r\n\r\n", 4 * TOKEN + b"data: [DONE]\n\n0\r\n\r\n"


def median_s(pair: SealedPair, ending: bytes, after_s: float = 0) -> float:
    """The same, of three answers, each so many seconds after the one before."""
    seen = []
    for _ in range(3):
        gevent.sleep(after_s)
        seen.append(seen_after_s(pair, TOKEN, TOKEN, TOKEN, ending))
    return statistics.median(seen)


@pytest.mark.timing
def test_reads_wait_longer_once_ends_are_told_by_their_lengths() -> None:
    """And no longer when one was not: it may come late once, not again."""
    needed()
    pair = SealedPair(by_thread)
    pair.take(0.05)
    seen_after_s(pair, TOKEN, TOKEN, ALIKE)
    for ending in (SMALL, ALIKE):
        assert 0 < median_s(pair, ending) < 20 * SOON_S
    for _ in range(SURE_AFTER):
        seen_after_s(pair, TOKEN, TOKEN, SMALL)
    for ending in (SMALL, LONG):
        assert 0 < median_s(pair, ending, after_s=1.2 * SURE_S) < 0.4 * SURE_S
    gevent.sleep(1.2 * SURE_S)
    assert 0.6 * SURE_S < seen_after_s(pair, TOKEN, TOKEN, TOKEN, ALIKE) < 6 * SURE_S
    assert 0 < median_s(pair, ALIKE) < 20 * SOON_S
    pair.close()


def test_what_waits_is_there_for_who_is_stopped() -> None:
    needed()
    pair = SealedPair(by_thread)
    pair.take(0.05)
    for _ in range(SURE_AFTER + 1):
        seen_after_s(pair, TOKEN, TOKEN, SMALL)
    pair.reader.wake_at_each_read(False)
    waiting = gevent.spawn(pair.take, 10)
    for _ in range(3):
        pair.send(TOKEN)
    gevent.sleep(0.02)
    waiting.kill()
    assert pair.reader.rest().data == 3 * TOKEN
    pair.close()


SENDER = """
import os, sys, time
records = [bytes.fromhex(line) for line in sys.stdin]
for record in records:
    time.sleep(0.01)
    print(f"{time.perf_counter():.6f}", file=sys.stderr, flush=True)
    os.write(1, record)
"""


@pytest.mark.timing
def test_a_stamp_is_true_while_python_is_busy() -> None:
    needed()
    assert read_thread() is not None
    pair = SealedPair(reader_of)
    pair.reader.wake_at_each_read(False)
    sealed = "\n".join(pair.seal(TOKEN).hex() for _ in range(40))
    with subprocess.Popen(
        [sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=pair.far.fileno(), stderr=subprocess.PIPE
    ) as sender:
        assert sender.stdin is not None
        assert sender.stderr is not None
        sender.stdin.write(sealed.encode())
        sender.stdin.close()
        until = time.perf_counter() + 0.9
        while time.perf_counter() < until:
            sum(range(1000))
        sent = [float(line) for line in sender.stderr]
    reads = pair.reader.rest()
    assert len(sent) == len(reads.stamps) == 40
    late = sorted(stamp - moment for stamp, moment in zip(reads.stamps, sent, strict=True))
    assert late[0] >= 0
    assert late[len(late) // 2] < 0.002
    pair.close()


@pytest.mark.timing
def test_a_record_in_two_reads_is_told_when_it_is_whole() -> None:
    needed()
    pair = SealedPair(by_thread)
    pair.take(0.05)
    for _ in range(SURE_AFTER):
        seen_after_s(pair, TOKEN, TOKEN, SMALL)
    seen = []
    for times in (30, 90, 20):
        whole = pair.seal(LONG * times)
        pair.far.sendall(whole[:500])
        gevent.sleep(1.2 * SURE_S)
        before = time.perf_counter()
        pair.far.sendall(whole[500:])
        assert pair.take(5).data == LONG * times
        seen.append(time.perf_counter() - before)
    assert statistics.median(seen) < 0.4 * SURE_S
    pair.close()


def test_a_fault_with_one_stream_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    needed()
    told: list[object] = []
    monkeypatch.setattr(gevent.get_hub(), "handle_error", lambda *what: told.append(what[1]))
    pairs = [SealedPair(by_thread) for _ in range(6)]
    thread = read_thread()
    assert thread is not None
    for stream in list(thread.sealed)[:3]:
        monkeypatch.setitem(thread.sealed, stream, lambda: 1 / 0)
    for pair in pairs:
        pair.send(b"word")
    for pair in pairs[3:]:
        assert pair.take(1).data == b"word"
    assert set(told) == {ZeroDivisionError}
    for pair in pairs:
        pair.close()
