"""Ctrl-C, SIGTERM and a closed terminal: what a signal does to a process, at whatever moment it comes.

Knows: signals, and where Locust's main greenlet is at each moment. Must not know: files, levels, what is booked.

Python raises KeyboardInterrupt in whatever greenlet happens to run: Locust's listener swallows it, others die of it
with a traceback. So signals are taken from the event loop, and what they mean is decided here. A signal that was
ignored when the process began (nohup, a script's background job) stays ignored.
"""

import functools
import os
import signal
from collections.abc import Callable

import gevent
from greenlet import getcurrent, greenlet

_watched: list[object] = []
"""Watchers that no longer exist hear nothing."""


@functools.cache
def end_quietly_while_starting() -> None:
    """Until `listen`, Ctrl-C just ends the process. Called while the options are read, before workers are forked."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def listen(on_interrupt: Callable[[], None], on_terminate: Callable[[], None] | None = None) -> None:
    """Take this process's signals from now on, in the event loop. A closed terminal is like SIGTERM.

    Without `on_terminate` SIGTERM is left to Locust.
    """
    _take(signal.SIGINT, on_interrupt)
    if on_terminate is not None:
        _take(signal.SIGTERM, on_terminate)
    _take(signal.SIGHUP, lambda: os.kill(os.getpid(), signal.SIGTERM))


def interrupts_main_once() -> Callable[[], None]:
    """A handler that raises KeyboardInterrupt in the greenlet that calls this, at the first signal alone."""
    main = getcurrent()
    came: list[bool] = []

    def interrupt() -> None:
        if not came:
            came.append(True)
            raise_in(main, KeyboardInterrupt())

    return interrupt


def raise_in(main: greenlet, error: BaseException) -> None:
    """Raise in a greenlet that waits, as soon as the loop is free."""
    gevent.get_hub().loop.run_callback(main.throw, error)


def _take(number: signal.Signals, handler: Callable[[], None]) -> None:
    if signal.getsignal(number) != signal.SIG_IGN:
        _watched.append(gevent.signal_handler(number, handler))
