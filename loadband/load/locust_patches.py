"""All that Loadband changes inside Locust: each change with the version it was made for, its reason, and its test.

Nothing else in the project assigns to Locust's modules. Made for Locust 2.47.0.
"""

import functools
import os
import types
from typing import Any

import psutil
from locust import argument_parser, main, runners
from locust.exception import RPCError
from locust.rpc import zmqrpc

from loadband.errors import UsageError, exit_with

REPORT_INTERVAL_S = 1.0


def install() -> None:
    """Apply every change. May be called twice."""
    cache_default_arguments()
    report_each_second()
    never_start_over()
    forget_reaped_children()
    leave_with_the_master()
    say_that_a_port_is_busy()


def cache_default_arguments() -> None:
    """Keep a worker's loop free at spawn messages.

    A worker asks for the defaults once per option and spawn message, and each call builds a whole parser: with our
    options that stalls every stream for 65 to 93 ms, each second of a ramp. The defaults never change.
    Test: tests/process/test_locust_patches.py.
    """
    current = argument_parser.default_args_dict
    if not hasattr(current, "cache_info"):
        argument_parser.default_args_dict = functools.cache(current)


def report_each_second() -> None:
    """Workers report once a second instead of every three: a kill loses less, and levels end sharper.

    Test: tests/process/test_locust_patches.py.
    """
    runners.WORKER_REPORT_INTERVAL = REPORT_INTERVAL_S


def never_start_over() -> None:
    """Never ramp again from 0 users when a worker has been missing for a minute.

    Locust does so without being asked; in the middle of a level that is another experiment.
    Test: tests/process/test_locust_patches.py.
    """
    runners.HEARTBEAT_DEAD_INTERNAL = -(10**9)


def forget_reaped_children() -> None:
    """A forked worker that died long ago is no error at the end.

    gevent reaps children and forgets them after a minute; Locust then asks for them thousands of times, each with a
    traceback. Test: tests/process/test_locust_patches.py.
    """
    wait = os.waitpid

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        try:
            return wait(pid, options)
        except ChildProcessError:
            return pid, 0

    main.os = types.SimpleNamespace(**{**vars(os), "waitpid": waitpid})  # type: ignore[assignment, attr-defined]


def leave_with_the_master() -> None:
    """Workers go on for 15 s without their master, not for a minute: nobody books what they still ask.

    Test: tests/process/test_locust_patches.py.
    """
    runners.MASTER_HEARTBEAT_TIMEOUT = 15


def say_that_a_port_is_busy() -> None:
    """One line instead of a traceback when the master's port is taken.

    Locust compares with the exact words of an older pyzmq; since pyzmq 26 the sentence ends in the address.
    Test: tests/process/test_locust_patches.py.
    """
    bind: Any = zmqrpc.Server.__init__
    if hasattr(bind, "__wrapped__"):
        return

    @functools.wraps(bind)
    def bind_or_say(self: zmqrpc.Server, host: str, port: int) -> None:
        try:
            bind(self, host, port)
        except RPCError as error:
            if "in use" not in str(error):
                raise
            end_children()
            exit_with(UsageError(f"port {port} for the workers is taken: choose another with {_PORT_OPTIONS}"))

    zmqrpc.Server.__init__ = bind_or_say  # type: ignore[method-assign]


def end_children() -> None:
    """End forked workers that cannot be told: they are not connected, and would try to for minutes."""
    for child in psutil.Process().children():
        child.terminate()


_PORT_OPTIONS = "--master-bind-port N --master-port N"
