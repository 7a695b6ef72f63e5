"""Other load tools and ours on the same server, core and load: `python -m benchmarks.peers`.

Server on one core, the whole tool on the other. Every tool keeps so many streams open, as fast as it can, with answers
of the same length; its CPU and its memory (its whole process tree) and the tokens that really flowed are measured from
outside over the same steady seconds, its start left out. TTFT is what the tool itself reports; the truth is the
server's, by construction. Tools are installed into environments of their own beside the C programs, and left out with
the reason where they cannot be had.

Knows: how a tool is installed and watched. Must not know: what a tool's words mean.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_server import (
    BUILT,
    CLIENT_CORE,
    TTFT_MS,
    CannotError,
    TokenServer,
    on_core,
    progress,
    surroundings,
)
from benchmarks.peer_tools import CACHED, TOOLS, Load, Tool
from benchmarks.worker_run import ROOT, wait_for_streams

HEAD = (
    f"| tool | streams | tokens/s | TTFT mean ms (truth {TTFT_MS:g}) | TTFT p99 ms | CPU µs/token | memory MB |\n"
    "|---|---|---|---|---|---|---|"
)
MARGIN_S = 8.0
"""Load before and after the measured seconds."""
PATIENCE_S = 120.0
MAKE_TOKENIZER = (
    "import sys; from pathlib import Path; sys.path.insert(0, 'deploy/engines'); from tiny_folder import model_folder; "
    "print(model_folder(Path(sys.argv[1]), 'tiny'))"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a tool."""

    tokens_s: float
    us_token: float
    memory_mb: float
    ttft_mean_ms: float
    ttft_p99_ms: float


def python_of(tool: Tool) -> str:
    """The interpreter that has the tool, installed now where it is not. Raises CannotError."""
    if tool.pinned is None:
        return sys.executable
    if tool.pinned == "vllm":
        python = ROOT / ".engine" / "vllm" / "bin" / "python"
        if not python.exists():
            raise CannotError("vLLM is not installed: make .engine/vllm/installed")
        return str(python)
    folder = BUILT / tool.pinned.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        progress(f"installing {tool.pinned}, once")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        words = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", tool.pinned]
        installed = subprocess.run(words, capture_output=True, text=True, check=False)
        if installed.returncode:
            raise CannotError(f"pip cannot install it: {installed.stderr.strip().splitlines()[-1]}")
        (folder / "installed").touch()
    return str(python)


def tokenizer_with(python: str) -> Path:
    """A tokenizer's folder, made with the tool's own libraries; also in a cache of Hugging Face's layout."""
    words = [python, "-c", MAKE_TOKENIZER, str(BUILT)]
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode:
        raise CannotError(f"no tokenizer can be made: {made.stderr.strip().splitlines()[-1]}")
    folder = Path(made.stdout.strip().splitlines()[-1])
    cached = BUILT / "cache" / "hub" / f"models--{CACHED.replace('/', '--')}"
    if not cached.exists():
        shutil.copytree(folder, cached / "snapshots" / "0")
        (cached / "refs").mkdir()
        (cached / "refs" / "main").write_text("0", encoding="ascii")
    return folder


def measured(server: TokenServer, tool: Tool, streams: int, seconds: float) -> Measured:
    """One run of the tool, watched while its streams flow. Raises CannotError."""
    python = python_of(tool)
    tokenizer = tokenizer_with(python) if tool.pinned else None
    with tempfile.TemporaryDirectory() as folder:
        load = Load(server.url, streams, seconds + 2 * MARGIN_S, tokenizer, Path(folder))
        with running(tool.command(load, python), load.folder / "said") as process:
            wait_for_streams(server, streams, process)
            before, used = server.count(), cpu_s(process.pid)
            time.sleep(seconds)
            after, now = server.count(), cpu_s(process.pid)
            memory = sum(memory_of(each) for each in tree(process.pid)) / 1e6
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise CannotError("it did not end") from None
        cpu = sum(now[pid] - used.get(pid, 0.0) for pid in now)
        tokens = after.tokens - before.tokens
        mean, p99 = tool.ttft(load)
    return Measured(tokens / ((after.at_ns - before.at_ns) / 1e9), cpu / tokens * 1e6, memory, mean, p99)


@contextmanager
def running(command: list[str], said: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The tool on the client's core, ended with its children when the block is left."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(BUILT / "cache"), "NO_COLOR": "1"}
    env: Mapping[str, str] = {**os.environ, **offline}
    with said.open("wb") as out:
        process = subprocess.Popen(
            on_core(CLIENT_CORE, *command), cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        left = tree(process.pid) if process.poll() is None else []
        for each in left:
            each.kill()
        process.wait()


def tree(pid: int) -> list[psutil.Process]:
    """The process and all its children that live."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_s(pid: int) -> dict[int, float]:
    """Process -> CPU seconds so far, over the tree."""
    used = {}
    for each in tree(pid):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used[each.pid] = times.user + times.system
    return used


def memory_of(process: psutil.Process) -> int:
    """Bytes that are its share: pages of several processes are divided among them."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def row(tool: Tool, streams: int, runs: Sequence[Measured]) -> str:
    """Medians of the runs."""

    def median(name: str) -> float:
        values: list[float] = [getattr(run, name) for run in runs]
        return statistics.median(values)

    return (
        f"| {tool.name} | {streams} | {median('tokens_s'):,.0f} | {median('ttft_mean_ms'):.1f} "
        f"| {median('ttft_p99_ms'):.1f} | {median('us_token'):.0f} | {median('memory_mb'):,.0f} |"
    )


def table(streams: Sequence[int], rounds: int, seconds: float, names: str = "") -> list[str]:
    """The table's lines: the tools in turn, round by round, so that a slow minute hits all alike."""
    lines = [HEAD]
    tools = [tool for tool in TOOLS if names.lower() in tool.name.lower()]
    with TokenServer() as server:
        for each in streams:
            runs: dict[str, list[Measured]] = {}
            reasons: dict[str, str] = {}
            for turn in range(rounds):
                for tool in tools:
                    progress(f"{tool.name}, {each} streams, round {turn + 1} of {rounds}")
                    try:
                        runs.setdefault(tool.name, []).append(measured(server, tool, each, seconds))
                    except CannotError as error:
                        reasons[tool.name] = str(error)
            for tool in tools:
                reason = reasons.get(tool.name)
                done = runs.get(tool.name)
                lines.append(
                    row(tool, each, done) if done else f"| {tool.name} | {each} | left out: {reason} | | | | |"
                )
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--streams", default="200,400", help="comma list (200,400)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each tool (3)")
    parser.add_argument("--seconds", type=float, default=10, help="measured time of each (10)")
    parser.add_argument("--tool", default="", help="only tools with this in their name")
    asked = parser.parse_args()
    try:
        lines = table([int(each) for each in asked.streams.split(",")], asked.rounds, asked.seconds, asked.tool)
    except CannotError as error:
        sys.exit(f"peers: {error}")
    print(surroundings(), *lines, sep="\n")


if __name__ == "__main__":
    main()
