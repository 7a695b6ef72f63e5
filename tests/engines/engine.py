"""Start and stop a real engine for the tests, and read its counters.

Knows: the launcher scripts of `deploy/engines`. Must not know: any test.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[2]


def launcher(name: str) -> Path:
    """The script that starts that engine."""
    return ROOT / "deploy" / "engines" / f"{name}.py"


def engine_python(name: str) -> str:
    """The interpreter that has the engine's packages: the one `make engine` set up, else ours."""
    installed = ROOT / ".engine" / name / "bin" / "python"
    return str(installed) if installed.exists() else sys.executable


class EngineError(RuntimeError):
    """The engine did not start; the message is its own last line."""


class Engine:
    """A running engine with a tiny random model: `url`, `host`, `port`, `model`."""

    name: ClassVar[str]
    niceness: ClassVar[int] = 0
    host = "127.0.0.1"

    def __init__(self, *arguments: str) -> None:
        """Start it on a free port; `arguments` go to the launcher."""
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  a pipe that nobody empties would stop the engine
        self._process = subprocess.Popen(
            [engine_python(self.name), str(launcher(self.name)), "--port", "0", "--die-with-parent", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        os.setpriority(os.PRIO_PROCESS, self._process.pid, self.niceness)
        assert self._process.stdout is not None
        words = self._process.stdout.readline().split()
        if words[:1] != ["ready"]:
            self.stop()
            self._said.seek(0)
            raise EngineError(self._said.read().strip().rpartition("\n")[2])
        self.url, self.model = words[1], words[3]
        self.port = int(self.url.rpartition(":")[2])

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def metrics(self) -> dict[str, float]:
        """Every sample of `/metrics` by name and labels."""
        lines = self._exchange("GET", "/metrics").decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def counter(self, name: str) -> float:
        """The samples of that name, whatever their labels, together."""
        return sum(value for sample, value in self.metrics().items() if sample.partition("{")[0] == name)

    def ask(self, path: str, **body: Any) -> Any:
        """POST `body` as JSON; the JSON of the answer."""
        return json.loads(self._exchange("POST", path, json.dumps(body)))

    def stop(self) -> int:
        """End it by ending its standard input; the exit code."""
        self._process.communicate(timeout=60)
        return self._process.returncode

    def _exchange(self, method: str, path: str, body: str | None = None) -> bytes:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            return connection.getresponse().read()
        finally:
            connection.close()


class LlamaCpp(Engine):
    """llama.cpp's server."""

    name = "llamacpp"


class Vllm(Engine):
    """vLLM on the CPU; it yields the cores to the client."""

    name = "vllm"
    niceness = 10
