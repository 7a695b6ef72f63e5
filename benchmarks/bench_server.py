"""The benchmarks' own token server and bare reader: built from C when first needed, pinned to a core, asked for counts.

Knows: how to build and start them. Must not know: who reads the streams.
"""

import http.client
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent / "native"
BUILT = SOURCES / "built"
SERVER_CORE, CLIENT_CORE = 1, 0
TTFT_MS, ITL_MS, TOKENS = 50.0, 20.0, 100


class CannotError(RuntimeError):
    """What keeps a benchmark from running here; the text is a sentence."""


def built(name: str) -> Path:
    """The program of that name, compiled anew when its source is newer. Raises CannotError without a compiler."""
    source, program = SOURCES / f"{name}.c", BUILT / name
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise CannotError("there is no C compiler: apt install gcc")
    BUILT.mkdir(exist_ok=True)
    subprocess.run([compiler, "-O2", "-Wall", "-o", str(program), str(source)], check=True)
    return program


def on_core(core: int, *command: str) -> list[str]:
    """The command, kept on one core."""
    return ["taskset", "-c", str(core), *command]


@dataclass(frozen=True, slots=True)
class Count:
    """What the server has done so far."""

    requests: int
    tokens: int
    open: int
    cpu_s: float
    at_ns: int


class TokenServer:
    """A running token server, ended with the block."""

    def __init__(self, ttft_ms: float = TTFT_MS, itl_ms: float = ITL_MS, tokens: int = TOKENS) -> None:
        words = [str(built("token_server")), "0", f"{ttft_ms:g}", f"{itl_ms:g}", str(tokens)]
        self._process = subprocess.Popen(on_core(SERVER_CORE, *words), stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[1]
        self.port = int(self.url.rpartition(":")[2])

    def __enter__(self) -> "TokenServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def count(self) -> Count:
        """Its counters now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/count")
        told: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return Count(**told)


def bare_reader(port: int, streams: int, tokens: int, seconds: float, warm_s: float = 2.0) -> dict[str, float]:
    """The C reader's line: tokens_s, cpu_us_token and more."""
    words = [str(built("bare_reader")), str(port), str(streams), str(tokens), f"{warm_s:g}", f"{seconds:g}"]
    ran = subprocess.run(on_core(CLIENT_CORE, *words), stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(ran.stdout)
    return told


def progress(words: str) -> None:
    """Tell how far a benchmark is; never on standard output, which holds the result."""
    print(words, file=sys.stderr, flush=True)
