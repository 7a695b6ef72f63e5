"""`deploy/run_engine.py` with an engine and a Locust of straw: the engine is always ended, the code is Locust's."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]

ENGINE = """
import os, pathlib, sys, time
pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
print("loading", flush=True)
print("ready http://127.0.0.1:1 model tiny", flush=True)
sys.stdin.read() if "--die-with-parent" in sys.argv else time.sleep(60)
"""
SULKING = "import sys; sys.exit('the model is gone')"

LOCUST = """
import pathlib, sys, time, signal
pathlib.Path("argv").write_text(" ".join(sys.argv[1:]))
print("load", flush=True)
{end}
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Path]:
    """A checkout of straw."""
    (tmp_path / "deploy" / "engines").mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / "run_engine.py", tmp_path / "deploy")
    (tmp_path / "deploy" / "engines" / "requirements-straw.txt").touch()
    (tmp_path / "deploy" / "engines" / "straw.py").write_text(ENGINE)
    (tmp_path / ".engine" / "straw" / "bin").mkdir(parents=True)
    (tmp_path / ".engine" / "straw" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "locust").mkdir()
    (tmp_path / "locust" / "__init__.py").touch()
    yield tmp_path
    assert not alive(tmp_path), "the engine is ended, whatever happened"


def alive(house: Path) -> bool:
    """Whether the engine still runs, after a moment in which it may end."""
    pid = house / "deploy" / "engines" / "pid"
    until = time.monotonic() + 5
    while pid.exists() and Path(f"/proc/{pid.read_text()}").exists():
        if time.monotonic() > until:
            os.kill(int(pid.read_text()), signal.SIGKILL)
            return True
        time.sleep(0.02)
    return False


def start(house: Path, end: str, *words: str, args: str = "") -> subprocess.Popen[str]:
    """The script, with a Locust that ends in this way; `args`: what `make demo ARGS=` hands over."""
    (house / "locust" / "__main__.py").write_text(LOCUST.format(end=end))
    environment = {name: value for name, value in os.environ.items() if name != "LOADBAND_RUN_DIR"} | {
        "DEMO_ARGS": args
    }
    return subprocess.Popen(
        [sys.executable, "deploy/run_engine.py", *words],
        cwd=house, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def until_load(script: subprocess.Popen[str]) -> None:
    assert script.stdout
    assert script.stdout.readline() == "load\n"


ENDS = [
    ("sys.exit(0)", 0, "all is well"),
    ("sys.exit(1)", 1, "a gate failed"),
    ("sys.exit(3)", 3, "no answer"),
    ("signal.raise_signal(signal.SIGKILL)", 137, "killed"),
]


@pytest.mark.parametrize(("end", "code", "sentence"), ENDS, ids=[row[2] for row in ENDS])
def test_the_exit_code_is_locusts(house: Path, end: str, code: int, sentence: str) -> None:
    script = start(house, end, "straw", "--", "--steps", "1,2", "--slo", "ttft<=1s")
    _, said = script.communicate(timeout=30)
    assert script.returncode == code, sentence
    assert said == f"engine ready http://127.0.0.1:1 model tiny; its log: .engine/straw-{script.pid}.log\n"
    words = (house / "argv").read_text()
    assert words.startswith("-f locustfile.py --headless -H http://127.0.0.1:1 --run-dir runs/")
    assert words.endswith("-straw --steps 1,2 --slo ttft<=1s")


def test_the_simulator_needs_no_environment_of_its_own(house: Path) -> None:
    shutil.rmtree(house / ".engine")
    (house / "loadband").mkdir()
    (house / "loadband" / "__main__.py").write_text(ENGINE)
    script = start(house, "", "--profile", "mine", "simulator", "--", "--steps", "4")
    _, said = script.communicate(timeout=30)
    assert (script.returncode, said) == (
        0,
        f"engine ready http://127.0.0.1:1 model tiny; its log: .engine/simulator-{script.pid}.log\n",
    )
    assert (house / "argv").read_text().endswith("-simulator --steps 4")


@pytest.mark.parametrize("words", [("--run-dir", "mine"), ("--run-dir=mine",)])
def test_a_run_directory_of_ones_own_is_kept(house: Path, words: tuple[str, ...]) -> None:
    start(house, "", "straw", "--", *words).communicate(timeout=30)
    assert (house / "argv").read_text() == f"-f locustfile.py --headless -H http://127.0.0.1:1 {' '.join(words)}"


def test_words_of_make_reach_locust_as_they_were_typed(house: Path) -> None:
    start(house, "", "straw", "--", "--steps", "4", args='--slo "ttft_p95<=1s" --label a=b').communicate(timeout=30)
    assert (house / "argv").read_text().endswith(" --steps 4 --slo ttft_p95<=1s --label a=b")
    script = start(house, "", "straw", args='--slo "ttft')
    assert "close its quotes" in script.communicate(timeout=30)[1]
    assert script.returncode == 2


def test_two_at_once_have_an_engine_and_a_directory_each(house: Path) -> None:
    scripts = [start(house, "time.sleep(1)", "straw") for _ in range(2)]
    said = [script.communicate(timeout=30)[1] for script in scripts]
    assert [script.returncode for script in scripts] == [0, 0]
    assert [f"-{script.pid}.log" in words for script, words in zip(scripts, said, strict=True)] == [True, True]
    assert not list((house / ".engine").glob("*.log")), "a log is kept only of what went wrong"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_locust_end_in_its_own_way(house: Path, number: signal.Signals) -> None:
    ending = f"signal.signal({int(number)}, lambda *_: (time.sleep(0.2), sys.exit(7)))"
    end = f"{ending}\nprint('armed', flush=True)\ntime.sleep(60)"
    script = start(house, end, "straw")
    until_load(script)
    assert script.stdout
    assert script.stdout.readline() == "armed\n"
    time.sleep(0.2)  # the script sets its handlers once Locust is started
    if number == signal.SIGINT:
        os.killpg(script.pid, number)
    else:
        script.send_signal(number)
    script.communicate(timeout=30)
    assert script.returncode == 7


def test_an_engine_outlives_no_killed_script(house: Path) -> None:
    script = start(house, "time.sleep(2)", "straw")
    until_load(script)
    script.kill()
    script.communicate(timeout=30)
    assert not alive(house)


def test_an_engine_that_does_not_come_up_is_told_in_one_line(house: Path) -> None:
    (house / "deploy" / "engines" / "straw.py").write_text(SULKING)
    script = start(house, "", "straw")
    _, said = script.communicate(timeout=30)
    assert script.returncode == 4
    assert said == "run_engine: the engine ended with 1 before it was ready: the model is gone\n"


def test_an_engine_that_is_not_installed_is_told_with_the_command_that_mends_it(house: Path) -> None:
    (house / ".engine" / "straw" / "bin" / "python").unlink()
    script = start(house, "", "straw")
    _, said = script.communicate(timeout=30)
    assert script.returncode == 2
    assert said == "run_engine: the engine is not installed: make engine ENGINE=straw\n"


def test_an_unknown_engine_is_told_with_those_that_there_are(house: Path) -> None:
    script = start(house, "", "paper")
    _, said = script.communicate(timeout=30)
    assert script.returncode == 2
    assert "'paper'" in said
    assert "straw" in said


def test_ctrl_c_while_the_engine_starts_leaves_quietly(house: Path) -> None:
    (house / "deploy" / "engines" / "straw.py").write_text(
        ENGINE.replace('print("ready', 'sys.stdin.read()\nprint("ready')
    )
    script = start(house, "", "straw")
    until = time.monotonic() + 20
    while not (house / "deploy" / "engines" / "pid").exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(script.pid, signal.SIGINT)
    _, said = script.communicate(timeout=30)
    assert (script.returncode, said) == (130, "")
