"""What a worker tells of its own CPU: the share of its core that the busiest part used."""

import threading
import time

import gevent
import pytest

from loadband.load import health
from loadband.load.health import Health


class Fake:
    """Clocks that a test sets."""

    now = loop = whole = 0.0

    def put(self, monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
        monkeypatch.setattr(time, "thread_time", lambda: self.loop)
        monkeypatch.setattr(time, "process_time", lambda: self.whole)
        monkeypatch.setattr(health, "_cores", lambda: cores)


ROWS = [
    ((8, 0.7, 0.9, 0.7), "the loop is the busiest part"),
    (
        (8, 0.4, 1.2, 0.8),
        "the other threads are; all together used more than one core, and no part a whole one",
    ),
    ((1, 0.4, 0.9, 0.9), "one core for both"),
    ((2, 0.0, 0.0, 0.0), "nothing was done"),
]


@pytest.mark.parametrize(("row", "sentence"), ROWS, ids=[row[1] for row in ROWS])
def test_cpu_is_that_of_the_busiest_part(
    monkeypatch: pytest.MonkeyPatch, row: tuple[int, float, float, float], sentence: str
) -> None:
    cores, loop, whole, share = row
    fake = Fake()
    fake.put(monkeypatch, cores)
    probe = Health(lambda: fake.now)
    assert probe.take()[1] is None, "no share of no time"
    fake.now, fake.loop, fake.whole = 2.0, 2 * loop, 2 * whole
    assert probe.take()[1] == pytest.approx(share), sentence
    fake.now = 3.0
    assert probe.take()[1] == 0.0, "since the last time"


def test_work_of_another_thread_is_not_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_cores", lambda: 2)
    probe = Health()
    until = time.perf_counter() + 0.2

    def work() -> None:
        while time.perf_counter() < until:
            pass

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    loop, whole = time.thread_time(), time.process_time()
    _, share = probe.take()
    assert share is not None and share > 0.1
    assert whole > loop


def test_lags_are_those_since_the_last_time() -> None:
    probe = Health()
    probe.start()
    gevent.sleep(0.3)
    lags, _ = probe.take()
    assert 3 <= len(lags) <= 15
    assert min(lags) >= 0
    assert probe.take()[0] == []
