"""What we change inside Locust is in force, in a process of its own: importing Locust patches the interpreter."""

import json
import socket
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from tests.process.running import ROOT, environment, run

pytestmark = pytest.mark.process


def in_a_locust_process(script: str) -> Any:
    """What a script prints as JSON after our locustfile was imported."""
    whole = "import json, time\nimport locustfile\nfrom locust import argument_parser, runners\n" + textwrap.dedent(
        script
    )
    done = subprocess.run(
        [sys.executable, "-c", whole], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_workers_report_each_second() -> None:
    assert in_a_locust_process("print(json.dumps(runners.WORKER_REPORT_INTERVAL))") == 1.0


def test_a_missing_worker_never_makes_the_run_start_over() -> None:
    assert in_a_locust_process("print(json.dumps(runners.HEARTBEAT_DEAD_INTERNAL))") < -(10**6)


def test_workers_do_not_outlive_their_master_for_long() -> None:
    assert in_a_locust_process("print(json.dumps(runners.MASTER_HEARTBEAT_TIMEOUT))") <= 15


def test_a_child_that_was_reaped_long_ago_is_no_error() -> None:
    script = """
        from locust import main
        print(json.dumps(main.os.waitpid(2**22 - 1, main.os.WNOHANG)))
    """
    assert in_a_locust_process(script) == [2**22 - 1, 0]


def test_the_port_to_bind_is_the_port_that_forked_workers_look_for() -> None:
    script = """
        options = argument_parser.get_parser().parse_args(["--master-bind-port", "5601"])
        print(json.dumps([options.master_bind_port, options.master_port]))
    """
    assert in_a_locust_process(script) == [5601, 5601]


def test_a_spawn_message_does_not_stall_the_worker() -> None:
    """A worker looks up every option of the message; without the change that takes 1.5 ms an option."""
    script = """
        argument_parser.default_args_dict()
        before = time.process_time()
        found = sum(f"option{n}" in argument_parser.default_args_dict() for n in range(150))
        print(json.dumps([found, (time.process_time() - before) * 1000]))
    """
    found, milliseconds = in_a_locust_process(script)
    assert found == 0
    assert milliseconds < 10


def test_ports_bind_to_this_machine_unless_asked() -> None:
    script = """
        options = argument_parser.get_parser().parse_args([])
        print(json.dumps([options.web_host, options.master_bind_host]))
    """
    assert in_a_locust_process(script) == ["127.0.0.1", "127.0.0.1"]


def test_a_busy_port_is_said_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        words = ["--headless", "-H", "http://127.0.0.1:9", "--steps", "1", "--master", "--master-bind-port", port]
        ended = run(words)
    assert ended.code == 2
    assert f"port {port}" in ended.err and "--master-bind-port" in ended.err
    assert "Traceback" not in ended.err


def test_the_ladder_is_looked_at_until_locust_has_something_to_do() -> None:
    """Locust sleeps a second after each answer; one that says nothing new would keep a level waiting for it."""
    script = """
        import types
        from loadband.load.shape import LadderShape
        runner = types.SimpleNamespace(shape_last_tick=(1, 100.0), state=runners.STATE_RUNNING)
        answers = [(1, 100.0)] * 3 + [(2, 100.0), None, (2, 100.0)]
        shape = LadderShape(runner, lambda: answers.pop(0))
        told = [[shape.tick(), len(answers)], [shape.tick(), len(answers)]]
        runner.shape_last_tick, runner.state = (2, 100.0), runners.STATE_STOPPED
        print(json.dumps([*told, [shape.tick(), len(answers)]]))
    """
    assert in_a_locust_process(script) == [[[2, 100.0], 2], [None, 1], [[2, 100.0], 0]]


def test_the_master_is_told_at_once_that_the_last_answer_came() -> None:
    """Not when a second is over, and not of a gate that was opened again meanwhile."""
    script = """
        import types, gevent
        from loadband.load.agent import Agent
        told = []
        ledger = types.SimpleNamespace(in_flight=2)
        gate = types.SimpleNamespace(set=lambda: None, clear=lambda: None)
        runner = types.SimpleNamespace(register_message=lambda *_: None)
        agent = Agent(types.SimpleNamespace(), runner, lambda: told.append(ledger.in_flight))
        agent.session = types.SimpleNamespace(ledger=ledger, gate=gate, gate_epoch=0)
        for epoch, is_open in ((1, False), (2, True), (3, False)):
            agent._on_gate(types.SimpleNamespace(data={"open": is_open, "epoch": epoch}))
        gevent.sleep(0.2)
        before, ledger.in_flight = list(told), 0
        gevent.sleep(0.3)
        print(json.dumps([before, told]))
    """
    assert in_a_locust_process(script) == [[], [0]]
