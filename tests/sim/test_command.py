"""`python -m loadband simulate` as a person types it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.rawclient import RawClient

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "loadband", "simulate", *words], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.fixture
def running() -> Iterator[subprocess.Popen[str]]:
    process = start("--profile", "vllm-small", "--port", "0", "--max-num-seqs", "3", "--die-with-parent")
    yield process
    process.kill()
    process.communicate()


def ready(process: subprocess.Popen[str]) -> int:
    """The port of the line that says that it answers."""
    assert process.stdout
    words = process.stdout.readline().split()
    assert (words[0], words[2:]) == ("ready", ["model", "vllm-small"])
    assert words[1].startswith("http://127.0.0.1:")
    return int(words[1].rpartition(":")[2])


def test_it_answers_once_it_says_so_and_ends_with_its_parent(running: subprocess.Popen[str]) -> None:
    with RawClient(ready(running)) as client:
        assert b"river" in client.post(max_tokens=3).until(b"[DONE]")
    _, said = running.communicate(timeout=10)  # closes its standard input
    assert (running.returncode, said) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quietly(running: subprocess.Popen[str], number: signal.Signals) -> None:
    ready(running)
    os.kill(running.pid, number)
    assert running.wait(10) == 0
    assert running.stderr
    assert running.stderr.read() == ""


def test_a_port_that_is_taken_is_told_in_one_line(running: subprocess.Popen[str]) -> None:
    port = ready(running)
    second = start("--port", str(port))
    _, said = second.communicate(timeout=10)
    assert second.returncode == 2
    assert said == (
        f"loadband: cannot listen on 127.0.0.1:{port} (address already in use): choose another --port\n"
    )  # fmt: skip


MISTAKES = [
    (("--profile", "h100"), "there is no profile 'h100': choose "),
    (("--profile", "nowhere.toml"), "cannot read the profile nowhere.toml (No such file or directory)"),
    (("--max-num-seqs", "0"), "profile vllm-small: scheduler.max_num_seqs must be at least 1"),
    (("--max-num-batched-tokens", "8"), "scheduler.max_num_batched_tokens must be at least max_num_seqs"),
    (("--port", "70000"), "--port must be a number between 0 and 65535"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_one_line(words: tuple[str, ...], sentence: str) -> None:
    process = start(*words)
    _, said = process.communicate(timeout=10)
    assert process.returncode == 2
    assert sentence in said
    assert said.startswith("loadband: ")
    assert said.count("\n") == 1
