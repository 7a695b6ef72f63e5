"""Long prompts are written in slices: the loop is never kept for long, however many users write at once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import gevent
import pytest

from loadband.load.dialects import dialect_of
from loadband.load.lengths import kinds_of, lengths
from loadband.load.passage import write
from loadband.load.prompts import PromptBook
from loadband.load.request import whole_request
from loadband.load.rest import Rest
from loadband.load.says import Sampling
from tests.load.vocabularies import ids


@contextmanager
def watched(turns: list[float]) -> Iterator[None]:
    """Adds the CPU time of each turn of the loop: from one look at the sockets to the next nobody's read is stamped.

    CPU time and not the clock's: what other processes take of a busy machine is not the loop's doing.
    """
    loop = gevent.get_hub().loop
    looked, looks = loop.check(), loop.prepare()
    begun = [time.thread_time()]
    looked.start(lambda: begun.__setitem__(0, time.thread_time()))
    looks.start(lambda: turns.append(time.thread_time() - begun[0]))
    try:
        yield
    finally:
        for watcher in (looked, looks):
            watcher.stop()
            watcher.close()


@pytest.mark.timing
def test_five_hundred_long_prompts_at_once_keep_the_loop_for_less_than_ten_milliseconds() -> None:
    table = lengths(kinds_of(["long_context"]), None, lambda: ids, None).table
    write(table, "document", 40_000, PromptBook(1, "r").source(0, 0), lambda: None)
    book, dialect = PromptBook(1, "run", table, rest=Rest()), dialect_of("openai-chat")
    written: list[int] = []

    def build(user: int) -> None:
        prompt = book.document(book.source(user, 1), 32_768, book.nonce(1, user, 1))
        body = dialect.body(Sampling("m"), [{"role": "user", "content": prompt.text}], 64)
        written.append(len(whole_request(b"", body)))

    turns: list[float] = []
    with watched(turns):
        begun = time.perf_counter()
        gevent.joinall([gevent.spawn(build, user) for user in range(500)])
        took = time.perf_counter() - begun
    turns.sort()
    print(f"500 x 32k in {took:.1f} s; CPU time of a turn of the loop p50 {turns[len(turns) // 2] * 1e3:.2f} ms, "
          f"p99 {turns[len(turns) * 99 // 100] * 1e3:.2f} ms, longest {turns[-1] * 1e3:.2f} ms")  # fmt: skip
    assert len(written) == 500
    assert turns[len(turns) * 99 // 100] < 0.01


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
