"""Loadband's listeners on Locust's events; importing this module installs them.

Knows: which process does what at which event, and in which order listeners run. Must not know: anything else.

`quitting` fires in reverse order of registration: the master's listener is registered at import, so it runs after
the runner's own (which takes the workers' last reports); the worker's is registered in `init`, so it runs before
the runner's own `quit` message. `test_stop` fires in order: the last report of this process comes before its end.
"""

import argparse
import functools
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import gevent
from greenlet import getcurrent
from locust import events
from locust.env import Environment
from locust.event import EventHook
from locust.runners import LocalRunner, MasterRunner, Runner, WorkerRunner
from locust.web import WebUI

from loadband.errors import LoadbandError, complain
from loadband.load import locust_patches, signals, surroundings
from loadband.load.agent import Agent
from loadband.load.choice import install_all_users, user_class
from loadband.load.ending import Ending
from loadband.load.options import add_options
from loadband.load.page import guard_page
from loadband.load.roll import Roll
from loadband.load.steady import SteadyDispatcher
from loadband.load.steward import Steward

REPORT_KEY = "loadband"
FORKED_WORKERS_WITHIN_S = 10.0

locust_patches.install()


def _listen(hook: EventHook, listener: Callable[..., Any]) -> None:
    hook.add_listener(listener)  # type: ignore[no-untyped-call]


def _on_parser(parser: argparse.ArgumentParser, **_: Any) -> None:
    surroundings.drop_empty(os.environ)
    add_options(parser)
    for action in parser._actions:
        if action.dest == "user_classes":
            action.type = user_class
    signals.end_quietly_while_starting()


def _on_quitting(environment: Environment, **_: Any) -> None:
    steward: Steward | None = getattr(environment, "loadband_steward", None)
    if steward is not None:
        steward.quit()


def _on_init(environment: Environment, runner: Runner, web_ui: WebUI | None, **_: Any) -> None:
    if isinstance(runner, WorkerRunner):
        _install_worker(environment, runner)
        return
    roll = Roll(runner) if isinstance(runner, MasterRunner) else None  # first: workers say hello at once
    ending = Ending(runner, getcurrent())
    signals.listen(ending.interrupt, ending.terminate)
    try:
        ending.steward = steward = Steward(environment, runner, roll)
        steward.prepare()
    except (LoadbandError, KeyboardInterrupt) as error:
        ending.refuse()
        _refuse(environment, runner, error if isinstance(error, LoadbandError) else ending.error)
    ending.prepared = True
    environment.loadband_steward = steward  # type: ignore[attr-defined]
    _listen(environment.events.test_start, lambda **_: steward.test_starts())
    _listen(environment.events.test_stopping, lambda **_: steward.test_stops())
    _listen(environment.events.quitting, lambda **_: steward.leaves())
    if isinstance(runner, LocalRunner):
        _install_local(environment, runner, steward)
    elif roll is not None:
        _install_master(environment, steward, roll)
    _listen(environment.events.test_stop, lambda **_: steward.test_stopped())
    if web_ui is not None:
        guard_page(web_ui, steward)


def _install_master(environment: Environment, steward: Steward, roll: Roll) -> None:
    def on_report(data: dict[str, Any], **_: Any) -> None:
        if REPORT_KEY in data:
            steward.absorb(data[REPORT_KEY])

    environment.dispatcher_class = functools.partial(SteadyDispatcher, roll)  # type: ignore[assignment]
    _listen(environment.events.worker_report, on_report)


def _install_worker(environment: Environment, runner: WorkerRunner) -> None:
    signals.listen(signals.interrupts_main_once())
    agent = Agent(environment, runner, runner._send_stats)
    install_all_users(environment)
    environment.process_exit_code = 0
    if environment.parsed_options and environment.parsed_options.processes:
        logging.getLogger("locust").setLevel(logging.WARNING)

    def on_report(data: dict[str, Any], **_: Any) -> None:
        if (report := agent.report()) is not None:
            data[REPORT_KEY] = report

    def tell(**_: Any) -> None:
        agent.wait_until_still()
        runner._send_stats()

    def last_words(**_: Any) -> None:
        runner.stop()
        tell()

    _listen(environment.events.test_start, lambda **_: agent.begin())
    _listen(environment.events.spawning_complete, lambda **_: agent.tell_users())
    _listen(environment.events.report_to_master, on_report)
    _listen(environment.events.test_stop, tell)  # before Locust's own word that this worker has stopped
    _listen(environment.events.quitting, last_words)


def _install_local(environment: Environment, runner: LocalRunner, steward: Steward) -> None:
    """In one process the reports take the same way, without a wire."""

    def pump() -> None:
        if (report := agent.report()) is not None:
            steward.absorb(report)

    agent = Agent(environment, runner, pump)

    def pump_each_second() -> None:
        while True:
            gevent.sleep(locust_patches.REPORT_INTERVAL_S)
            pump()

    def last_words(**_: Any) -> None:
        runner.stop()
        pump()

    _listen(environment.events.test_start, lambda **_: agent.begin())
    _listen(environment.events.spawning_complete, lambda **_: agent.tell_users())
    _listen(environment.events.test_stop, lambda **_: pump())
    _listen(environment.events.quitting, last_words)
    gevent.spawn(pump_each_second)


def _refuse(environment: Environment, runner: Runner, error: LoadbandError) -> NoReturn:
    """Say the error, take forked workers down with us, and end. They cannot be told before they connected."""
    complain(error)
    processes = environment.parsed_options.processes if environment.parsed_options else None
    if isinstance(runner, MasterRunner) and processes:
        until = time.monotonic() + FORKED_WORKERS_WITHIN_S
        while len(runner.clients.ready) < locust_patches.children_alive() and time.monotonic() < until:
            gevent.sleep(0.05)
    runner.quit()
    locust_patches.end_children()
    sys.exit(int(error.code))


def _count_no_users_yet(data: dict[str, Any], **_: Any) -> None:
    """A worker that is told to quit while it connects reports before Locust counts; its master wants the counts."""
    data.setdefault("user_classes_count", {})
    data.setdefault("user_count", 0)


_listen(events.report_to_master, _count_no_users_yet)
_listen(events.init_command_line_parser, _on_parser)
_listen(events.init, _on_init)
_listen(events.quitting, _on_quitting)
