"""Every command of the READMEs is run, in a copy of the checkout and in the order in which a reader types them.

What is changed before, and what is not run, stands in `readme_commands.py`. Installing is over already: the copy
borrows the environments of this checkout; apart from them the reader has `python3` and what the system has. Short
levels on shared cores may be too few or too rough for a verdict, so that exit code 3 (it says so) is as good as 0
here; that verdicts are right is tested elsewhere.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.readme_commands import FOR_EVER, NOT_RUN, README, ROOT, SHELL, SMALL, Command, blocks, commands
from tests.process.running import environment, free_port

LEFT_OUT = (".git", ".venv", ".engine", "runs", "tests", "__pycache__", ".*_cache", ".hypothesis")
WITHIN_S = 240.0
PAGE = README.read_text(encoding="utf-8")


def test_every_rule_changes_something_and_every_exception_exists() -> None:
    page = "\n".join(each.written for each in commands(PAGE))
    assert [pattern for pattern, _, _ in SMALL if not re.search(pattern, page, flags=re.MULTILINE)] == []
    inline = "\n".join(re.findall(r"`([^`\n]+)`", PAGE))
    assert [p for p, _ in NOT_RUN if not re.search(p, f"{page}\n{inline}", flags=re.MULTILINE)] == []


def test_the_commands_are_found() -> None:
    found = [each.written for each in commands(PAGE)]
    assert len(found) == len(re.findall(r"^(?:make|python|locust|\.|export) ", "".join(blocks(PAGE)), re.MULTILINE))
    assert {line.split()[0] for line in found} >= {"make", "python", "locust", ".", "export"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy in which everything is installed."""
    copy = tmp_path / "loadband"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (copy / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (copy / ".venv" / name).symlink_to(Path(sys.prefix) / name)
    (copy / ".venv" / "installed").touch()
    (copy / ".engine").mkdir()
    for part in (ROOT / ".engine").glob("*"):
        if part.is_dir() or part.suffix in (".gguf", ".json"):
            (copy / ".engine" / part.name).symlink_to(part.resolve())
    for part in copy.rglob("requirements*.txt"):
        os.utime(part, (0, 0))  # older than what was installed from it
    return copy


class Reader:
    """Somebody who types: what was said to the shell holds for all that follows; each command is a group of its own."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self._said: list[str] = []
        self._typed: list[subprocess.Popen[str]] = []
        self._server = ""
        self._own = checkout.parent / "bin"
        self._own.mkdir()
        (self._own / "python3").symlink_to(sys.executable)

    def type(self, each: Command, port: int = 0) -> subprocess.Popen[str]:
        """Start a command; its output is read by `outcome`."""
        line = each.run.format(server=self._server, port=port)
        process = subprocess.Popen(
            ["bash", "-c", " && ".join([*self._said, line])], cwd=self._checkout, text=True, start_new_session=True,
            env=environment({"PATH": f"{self._own}:/usr/local/bin:/usr/bin:/bin"}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._typed.append(process)
        if SHELL.match(line):
            self._said.append(line)
        return process

    def serve(self, each: Command) -> None:
        """Start a simulated server, and go on once it is ready."""
        process = self.type(each)
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], (each.written, outcome(each, process))
        self._server = words[1]

    def look(self, each: Command) -> subprocess.Popen[str]:
        """Start something with a page, open the page, and end it as Ctrl-C does."""
        port = free_port()
        process = self.type(each, port)
        until = time.monotonic() + WITHIN_S
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                    assert b"Locust" in answer.read()
                break
            except OSError:
                assert time.monotonic() < until and process.poll() is None, each.written
                time.sleep(0.2)
        time.sleep(1.0)  # an interrupt in the middle of an answer may end that answer alone
        os.killpg(process.pid, signal.SIGINT)
        return process

    def leave(self) -> None:
        """Kill what is left."""
        for process in self._typed:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


@pytest.fixture
def reader(checkout: Path) -> Iterator[Reader]:
    somebody = Reader(checkout)
    yield somebody
    somebody.leave()


def outcome(each: Command, process: subprocess.Popen[str]) -> str:
    """What was wrong with a command that ended; empty when nothing was."""
    try:
        out, err = process.communicate(timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        return f"{each.run}: has not ended after {WITHIN_S:.0f} s"
    code = process.returncode
    if code == 2 and each.run.startswith("make") and "Error 3" in err:
        code = 3  # make's own way to say it
    if code in (0, 3) and "Traceback" not in out + err:
        return ""
    return f"{each.run}: exit code {process.returncode}\n{out[-1500:]}\n{err[-1500:]}"


def runs_of(checkout: Path) -> list[Path]:
    return [path for path in (checkout / "runs").iterdir() if (path / "run.json").exists()]


@pytest.mark.process
def test_every_command_is_run_and_does_what_it_should(reader: Reader, checkout: Path) -> None:
    typed = [each for each in commands(PAGE) if not each.why_not]
    if not (ROOT / ".engine" / "llamacpp" / "installed").exists():
        typed = [each for each in typed if "ENGINE=llamacpp" not in each.run]
    reports = [each for each in typed if each.run.startswith("python -m reports")]
    ended: list[tuple[Command, subprocess.Popen[str]]] = []
    for each in typed:
        if "loadband simulate" in each.run:
            reader.serve(each)
        elif FOR_EVER.search(each.run):
            ended.append((each, reader.look(each)))
        elif each not in reports:
            ended.append((each, reader.type(each)))
            time.sleep(1.1)  # a run without a name of its own is named by its second
    faults = [outcome(*one) for one in ended] + [outcome(each, reader.type(each)) for each in reports]
    assert [fault for fault in faults if fault] == []
    loads = [each for each in typed if "--headless" in each.run or each.run.startswith("make demo")]
    runs = [path for path in runs_of(checkout) if path.name != "example"]  # which no server served
    assert len(runs) == len(loads), "each load left a run"
    for path in runs:
        verdict = json.loads((path / "report" / "verdict.json").read_text(encoding="utf-8"))
        held = [level["users"] or level["offered_req_s"] for level in verdict["levels"] if level["req_s"]]
        assert held in ([1, 2, 4], [2, 4, 6]), path
