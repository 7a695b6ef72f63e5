"""What only the reading thread does: its stamps do not wait for Python, it is each process's own, it tells its lag."""

import ctypes
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import accumulate

import gevent
import gevent.socket
import pytest

from loadband.load import native
from loadband.load import read_thread as read_thread_module
from loadband.load.read_thread import ThreadReader, read_lags, read_thread
from loadband.load.reader import LoopReader, reader_of
from tests.load.native_library import needed
from tests.load.pairs import Pair, by_thread

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

EVENT = b'19\r\ndata: {"content":"one"}\n\n\r\n'


BEGINNINGS = [
    ([HEAD], 0.1, "a head alone"),
    ([HEAD, EVENT, EVENT], 0.1, "a head, and events"),
    ([HEAD + EVENT, EVENT], 0.1, "a head with the first event"),
    ([HEAD, b"\x1f\x8b\x08"], 0, "bytes that are no event"),
    ([HEAD + b"{}"], 0, "a head with such bytes"),
    ([HEAD[:-6], HEAD[-6:]], 0, "a head in two pieces"),
    ([HEAD.replace(b"200", b"204")], 0, "a head without a body"),
    ([HEAD.replace(b"200", b"503"), EVENT], 0, "a refusal"),
    ([HEAD.replace(b"text/event-stream", b"application/json") + b'{"text/event-stream": "data:"}'], 0, "in the body"),
    ([HEAD.replace(b"\r\n\r\n", b"\r\nCONTENT-LENGTH: 7\r\n\r\n")], 0, "an answer of a known length"),
    ([HEAD + EVENT + b"data: [DONE]\n\n0;x\r\nX-Trailer: 1\r\n\r\n"], 0, "a whole answer"),
    ([HEAD + EVENT + b"0\r\nX-Trailer: 1\r\n\r\n"], 0, "an answer with a trailer"),
]


@pytest.mark.parametrize(("sent", "patience_s", "sentence"), BEGINNINGS, ids=[row[2] for row in BEGINNINGS])
def test_what_begins_as_a_stream_wakes_nobody(sent: list[bytes], patience_s: float, sentence: str) -> None:
    """All else wakes at once."""
    pair = Pair(by_thread)
    taking = gevent.spawn(lambda: (pair.take(patience_s or 5), time.perf_counter()))
    gevent.sleep(0.005)
    begun = time.perf_counter()
    for data in sent:
        pair.send(data)
        gevent.sleep(0.005)
    reads, woken = taking.get(timeout=10)
    took = woken - begun
    assert (took > 0.8 * patience_s and len(reads.stamps) == len(sent)) if patience_s else took < 2, sentence
    pair.close()


def test_who_reads_what() -> None:
    near, far = gevent.socket.socketpair()
    needed()
    for clock, kind in ((time.perf_counter, ThreadReader), (time.monotonic, LoopReader)):
        reader = reader_of(near, clock)
        assert type(reader) is kind
        reader.close()
    near.close()
    far.close()


SENDER = """
import sys, time
for _ in range(40):
    time.sleep(0.01)
    sys.stdout.write(f"{time.perf_counter():.6f}\\n")
    sys.stdout.flush()
"""


@pytest.mark.timing
def test_a_stamp_is_true_while_python_is_busy() -> None:
    """Half a second of work without a pause, and still each read is stamped when it came."""
    near, far = gevent.socket.socketpair()
    reader = by_thread(near)
    reader.wake_at_each_read(False)
    with subprocess.Popen([sys.executable, "-c", SENDER], stdout=far.fileno()):
        until = time.perf_counter() + 0.9
        while time.perf_counter() < until:
            sum(range(1000))
    reads = reader.rest()
    assert len(reads.data.split()) == 40
    newest = [reads.data[:end].split()[-1] for end in accumulate(reads.sizes)]
    late = sorted(stamp - float(at) for stamp, at in zip(reads.stamps, newest, strict=True))
    assert late[0] >= 0
    assert late[len(late) // 2] < 0.002
    reader.close()
    near.close()
    far.close()


def test_the_thread_tells_how_late_it_comes() -> None:
    needed()
    assert read_thread() is not None
    read_lags()
    gevent.sleep(0.5)
    lags = read_lags()
    assert 10 <= len(lags) <= 26
    assert all(0 <= lag < 0.4 for lag in lags)
    assert read_lags() == []


FORK = """
import gevent.monkey; gevent.monkey.patch_all()
import os, time, gevent.socket
from loadband.load.read_thread import ThreadReader, read_thread
def echo(word):
    near, far = gevent.socket.socketpair()
    reader = ThreadReader(near, read_thread())
    for each in range(50):
        far.sendall(word)
        assert reader.take(time.perf_counter() + 5).data == word
    reader.close()
echo(b"parent")
child = os.fork()
if not child:
    echo(b"child")
    os._exit(7)
echo(b"parent again")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.process
def test_parent_and_child_read_each_their_own() -> None:
    """`locust --processes` forks."""
    needed()
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def refuses() -> ctypes.PyDLL:
    """A library whose thread cannot be started, as where there are too many processes."""
    library = native.loaded(native.place())
    assert library is not None
    library.reads_start = lambda *_: None  # type: ignore[attr-defined]
    return library


@pytest.mark.parametrize("library", [lambda: None, refuses], ids=["not built", "no thread"])
def test_without_a_thread_the_loop_reads(
    monkeypatch: pytest.MonkeyPatch, library: Callable[[], ctypes.PyDLL | None]
) -> None:
    needed()
    monkeypatch.setattr(native, "library", library)
    monkeypatch.delattr(gevent.get_hub(), read_thread_module._NAME, raising=False)
    near, far = gevent.socket.socketpair()
    reader = reader_of(near)
    assert type(reader) is LoopReader
    assert read_lags() == []
    reader.close()
    near.close()
    far.close()
