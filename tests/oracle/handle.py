"""The test's end of the oracle: start it, give it a script, read what it saw.

Knows: the control channel. Must not know: how the server works.

Works the same in a process where gevent has patched everything: the channel is two pipes of our own, read and
written with plain system calls. A call blocks the caller until the oracle has answered (a big log: some 100 ms), so
fetch logs after the measured part.
"""

import os
import pickle
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.oracle.log import Log
from tests.oracle.script import DEFAULT_RULES, Outage, Rule, Script, Told, rule

ROOT = Path(__file__).resolve().parents[2]


class Oracle:
    """A running oracle. `url`, `host`, `port`; with TLS `cafile`, the certificate to trust."""

    host = "127.0.0.1"

    def __init__(self, certificate: Path | None = None, key: Path | None = None) -> None:
        """Start the process; with `certificate` and `key` it speaks TLS."""
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        tls = ["--certificate", str(certificate), "--key", str(key)] if certificate else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.oracle", *tls], cwd=ROOT, stdin=theirs_in, stdout=theirs_out
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.cafile = certificate
        self.port: int = self._hear()
        self.url = f"{'https' if certificate else 'http'}://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process, for those who want to pin, stop or kill it."""
        return self._process.pid

    def script(
        self,
        *what: Told | Rule,
        slots: int | None = None,
        greeting: bytes | None = None,
        outage: Outage | None = None,
        keep_bodies: bool = True,
        model: str = "oracle",
        context: int = 32768,
    ) -> None:
        """Set what the server does from the next request on.

        Either rules, tried in order, or answers, given in turn to every POST. The counts that rules use start anew;
        the log goes on. With no answer at all the default token stream stays, which makes sense with `slots`.
        """
        rules = [item for item in what if isinstance(item, Rule)]
        answers = [item for item in what if not isinstance(item, Rule)]
        if answers:
            rules.append(rule(*answers))
        chosen = tuple(rules) or (DEFAULT_RULES if greeting is None else ())
        self._ask("script", Script(
            rules=chosen, slots=slots, greeting=greeting, outage=outage, keep_bodies=keep_bodies, model=model,
            context=context,
        ))  # fmt: skip

    def log(self, *, payload: bool = False) -> Log:
        """Everything since the last reset; `payload` adds the bytes sent to each request."""
        log = self._ask("log", payload)
        assert isinstance(log, Log)
        return log

    def counts(self) -> Mapping[str, float]:
        """Only totals (tokens, requests, running, waiting): cheap enough to ask during a run."""
        counts: Mapping[str, float] = self._ask("counts")
        return counts

    def reset(self) -> None:
        """As after the start: default script, empty log, no connection, listening."""
        self._ask("reset")

    def down(self, *, drop: bool = True) -> None:
        """Refuse connections from now on; `drop` also cuts the open ones."""
        self._ask("down", drop)

    def up(self) -> None:
        """Listen again, on the same port."""
        self._ask("up")

    def wait_until(self, holds: Callable[[Log], bool], timeout_s: float = 5.0) -> Log:
        """The first log for which `holds` is true: for what the server sees a moment after the client."""
        until = time.monotonic() + timeout_s
        while not holds(log := self.log()):
            if time.monotonic() > until:
                raise TimeoutError(f"not seen within {timeout_s} s; ends: {dict(log.ends)}")
            time.sleep(0.01)
        return log

    def client_tls(self) -> ssl.SSLContext:
        """A context that trusts this oracle."""
        return ssl.create_default_context(cafile=None if self.cafile is None else str(self.cafile))

    def kill(self) -> None:
        """SIGKILL, as when an engine dies; nothing can be asked afterwards."""
        self._process.kill()
        self._ended(5)

    def stop(self) -> None:
        """End the process: its standard input ends."""
        os.close(self._to)
        if not self._ended(5):
            self.kill()
        os.close(self._from)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _ended(self, within_s: float) -> bool:
        # Not `wait(timeout)`: patched by gevent it can sleep on beside a child that is dead.
        until = time.monotonic() + within_s
        while self._process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        return self._process.returncode is not None

    def _ask(self, *command: object) -> Any:
        body = pickle.dumps(command)
        frame = memoryview(struct.pack("!I", len(body)) + body)
        while frame:
            frame = frame[os.write(self._to, frame) :]
        return self._hear()

    def _hear(self) -> Any:
        (length,) = struct.unpack("!I", self._read(4))
        return pickle.loads(self._read(length))

    def _read(self, length: int) -> bytes:
        parts = bytearray()
        while len(parts) < length:
            part = os.read(self._from, min(1 << 20, length - len(parts)))
            if not part:
                self._ended(1)
                raise RuntimeError(f"the oracle ended (exit code {self._process.returncode}); see its standard error")
            parts += part
        return bytes(parts)
