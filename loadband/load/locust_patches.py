"""All that Loadband changes inside Locust: each change with the version it was made for, its reason, and its test.

Nothing else in the project assigns to Locust's modules. Made for Locust 2.47.0.
"""

import functools
import os
import signal
import time
import types
from collections.abc import Callable
from typing import Any

import gevent
import psutil
from gevent.event import Event
from greenlet import getcurrent
from locust import argument_parser, main, runners
from locust.exception import RPCError
from locust.rpc import zmqrpc

from loadband.errors import UsageError, exit_with

REPORT_INTERVAL_S = 1.0

LAST_WORDS_WITHIN_S = 10.0
"""A worker that is told to quit and lives has said goodbye by then, however busy its machine is."""

PARENT_SEEN_EVERY_S = 0.5

CHILDREN_END_WITHIN_S = 3.0


def install() -> None:
    """Apply every change. May be called twice."""
    cache_default_arguments()
    report_each_second()
    never_start_over()
    forget_reaped_children()
    leave_with_the_master()
    end_with_the_parent()
    wait_for_last_words()
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


def end_with_the_parent() -> None:
    """Forked workers end when the master that forked them is gone, also while they still look for it.

    Nobody books what they would ask, and Locust lets them try to connect for minutes. The parent is remembered
    before the fork: a master that dies early leaves children that never see it.
    Test: tests/process/test_endings.py.
    """
    connect: Any = runners.WorkerRunner.connect_to_master
    if hasattr(connect, "__wrapped__"):
        return
    parent = os.getpid()

    @functools.wraps(connect)
    def watch_and_connect(self: runners.WorkerRunner) -> None:
        if self.retry == 0 and os.getpid() != parent:
            gevent.spawn(_end_without, parent)
        connect(self)

    runners.WorkerRunner.connect_to_master = watch_and_connect  # type: ignore[method-assign]


def _end_without(parent: int) -> None:
    while os.getppid() == parent:
        gevent.sleep(PARENT_SEEN_EVERY_S)
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_last_words() -> None:
    """The master leaves when every worker that lives has said goodbye; its last report comes before that.

    Locust sleeps half a second and stops listening: on a busy machine every request in flight is lost without a word.
    A worker that went missing is not waited for. Further calls wait for the first, but for those of the master's own
    greenlets, which hear the goodbyes. Test: tests/process/test_endings.py.
    """
    leave: Any = runners.MasterRunner.quit
    if hasattr(leave, "__wrapped__"):
        return

    @functools.wraps(leave)
    def hear_and_leave(self: runners.MasterRunner) -> None:
        heard: Event | None = getattr(self, "loadband_heard", None)
        if heard is not None:
            if getcurrent() not in self.greenlet:  # type: ignore[operator]
                heard.wait()
            return
        self.loadband_heard = heard = Event()  # type: ignore[attr-defined]
        self.stop(send_stop_to_client=False)
        _hear_all(self)
        _see_children_off()
        heard.set()
        self.greenlet.kill(block=True)

    runners.MasterRunner.quit = hear_and_leave  # type: ignore[method-assign]


def _hear_all(runner: runners.MasterRunner) -> None:
    """Tell every worker to quit, also one that connects meanwhile, until all have."""
    told: set[str] = set()
    until = time.monotonic() + LAST_WORDS_WITHIN_S
    while time.monotonic() < until:
        here = [client.id for client in runner.clients.all if client.state != runners.STATE_MISSING]
        if not here:
            return
        for client in set(here) - told:
            told.add(client)
            runner.send_message("quit", client_id=client)
        gevent.sleep(0.02)


def _see_children_off() -> None:
    """Forked workers that said goodbye are about to end: no process is left when the master has gone."""
    until = time.monotonic() + CHILDREN_END_WITHIN_S
    while children_alive() and time.monotonic() < until:
        gevent.sleep(0.05)


def turn_away(runner: runners.MasterRunner, is_struck_off: Callable[[str], bool]) -> None:
    """Take no message of a worker that was struck off; it is told to quit, whenever it comes back.

    Locust would give it users again and add what it counted since to the tables, though its requests are booked as
    lost. Test: tests/process/test_lost_workers.py.
    """
    handle = runner.handle_message

    def handle_or_turn_away(client: str, message: Any) -> None:
        if not is_struck_off(client):
            handle(client, message)
        elif message.type != "quit":
            runner.send_message("quit", client_id=client)

    runner.handle_message = handle_or_turn_away  # type: ignore[method-assign, assignment]


def ask_again(runner: runners.Runner) -> None:
    """Let the shape's next answer be carried out, also when it is the same as the last one.

    After the loss of a worker the users that are asked for must be dealt to the others.
    Test: tests/process/test_lost_workers.py.
    """
    runner.shape_last_tick = None


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


def children_alive() -> int:
    """How many forked workers there are."""
    return sum(child.status() != psutil.STATUS_ZOMBIE for child in psutil.Process().children())


def end_children() -> None:
    """End forked workers that cannot be told: they are not connected, and would try to for minutes."""
    for child in psutil.Process().children():
        child.terminate()


_PORT_OPTIONS = "--master-bind-port N --master-port N"
