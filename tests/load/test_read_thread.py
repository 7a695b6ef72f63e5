"""What only the reading thread does: its stamps do not wait for Python, it is each process's own, it tells its lag."""

import subprocess
import sys
import time
from itertools import accumulate

import gevent
import gevent.socket
import pytest

from loadband.load import native
from loadband.load.read_thread import ThreadReader, read_lags, read_thread
from loadband.load.reader import LoopReader, reader_of
from tests.load.native_library import needed
from tests.load.pairs import Pair, by_thread

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def test_a_head_of_a_stream_wakes_nobody_by_the_thread() -> None:
    pair = Pair(by_thread)
    pair.send(HEAD)
    gevent.sleep(0.02)
    pair.send(b"token")
    before = time.perf_counter()
    reads = pair.take(0.1)
    assert time.perf_counter() >= before + 0.099
    assert (reads.data, len(reads.stamps)) == (HEAD + b"token", 2)
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
    read_thread(needed())
    read_lags()
    gevent.sleep(0.5)
    lags = read_lags()
    assert 10 <= len(lags) <= 26
    assert all(0 <= lag < 0.4 for lag in lags)
    assert read_lags() == []


FORK = """
import gevent.monkey; gevent.monkey.patch_all()
import os, time, gevent.socket
from loadband.load import native
from loadband.load.read_thread import ThreadReader, read_thread
def echo(word):
    near, far = gevent.socket.socketpair()
    reader = ThreadReader(near, read_thread(native.library()))
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


def test_without_the_library_the_loop_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "library", lambda: None)
    near, far = gevent.socket.socketpair()
    reader = reader_of(near)
    assert type(reader) is LoopReader
    reader.close()
    near.close()
    far.close()
