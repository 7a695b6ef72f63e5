"""Work comes one piece at a time, and what is readable is read before each."""

import functools
import socket
import time

import gevent
import pytest

from loadband.load.turns import turns


def test_work_is_done_in_its_order_with_a_look_at_the_sockets_before_each() -> None:
    done: list[str] = []
    near, far = socket.socketpair()

    def work(each: str) -> None:
        done.append(each)
        far.send(each.upper().encode())

    watcher = gevent.get_hub().loop.io(near.fileno(), 1)
    watcher.start(lambda: done.append(near.recv(9).decode()))
    try:
        for each in "abc":
            turns().wait_for(functools.partial(work, each))
        gevent.sleep(0.05)
    finally:
        watcher.close()
        near.close()
        far.close()
    assert done == ["a", "A", "b", "B", "c", "C"]


def test_all_greenlets_share_them() -> None:
    greenlets = [gevent.spawn(turns) for _ in range(3)]
    gevent.joinall(greenlets, timeout=5, raise_error=True)
    assert {id(each.value) for each in greenlets} == {id(turns())}


def test_greenlets_take_turns() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        turns().take()
        done.append(number)

    gevent.joinall([gevent.spawn(work, number) for number in range(5)], timeout=5, raise_error=True)
    assert done == [0, 1, 2, 3, 4]


def test_who_is_killed_while_waiting_keeps_nobody() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        turns().take()
        done.append(number)

    waiting = [gevent.spawn(work, number) for number in range(3)]
    gevent.idle()
    turns()
    first, second, third = waiting
    second.kill(block=False)
    gevent.joinall([first, third], timeout=5, raise_error=True)
    assert second.dead
    assert {0, 2} <= set(done)


def test_work_that_fails_keeps_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[int] = []
    turns().wait_for(lambda: 1 / 0)
    turns().wait_for(lambda: done.append(1))
    gevent.sleep(0.05)
    assert done == [1]
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.timing
def test_turns_cost_no_time_where_nothing_else_happens() -> None:
    """The loop would wait for a millisecond before each, had it a timer to wait for."""
    began = time.perf_counter()
    for _ in range(200):
        turns().take()
    assert time.perf_counter() - began < 0.1
