"""Long prompts are written in slices: the loop is never kept for long, however many users write at once."""

import time

import gevent
import pytest

from loadband.load.lengths import kinds_of, lengths
from loadband.load.passage import write
from loadband.load.prompts import PromptBook
from loadband.load.rest import Rest
from tests.load.vocabularies import ids


@pytest.mark.timing
def test_five_hundred_long_prompts_at_once_keep_the_loop_for_less_than_ten_milliseconds() -> None:
    table = lengths(kinds_of(["long_context"]), None, lambda: ids, None).table
    write(table, "document", 40_000, PromptBook(1, "r").source(0, 0), lambda: None)
    book = PromptBook(1, "run", table, rest=Rest())
    lags: list[float] = []
    written: list[int] = []

    def watch() -> None:
        while True:
            asleep = time.perf_counter()
            gevent.sleep(0.01)
            lags.append(time.perf_counter() - asleep - 0.01)

    def build(user: int) -> None:
        written.append(len(book.document(book.source(user, 1), 32_768, book.nonce(1, user, 1)).text))

    watcher = gevent.spawn(watch)
    begun = time.perf_counter()
    gevent.joinall([gevent.spawn(build, user) for user in range(500)])
    took = time.perf_counter() - begun
    watcher.kill()
    lags.sort()
    print(f"500 x 32k in {took:.1f} s; lag p50 {lags[len(lags) // 2] * 1e3:.1f} ms, "
          f"p99 {lags[len(lags) * 99 // 100] * 1e3:.1f} ms")  # fmt: skip
    assert len(written) == 500
    assert lags[len(lags) // 2] < 0.01


def test_a_short_prompt_does_not_wait() -> None:
    rest = Rest()
    slept: list[float] = []
    original = gevent.sleep
    gevent.sleep = slept.append  # type: ignore[assignment]
    try:
        for _ in range(3):
            rest()
            time.sleep(0.005)
    finally:
        gevent.sleep = original
    assert slept == []
