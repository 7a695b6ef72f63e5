"""The benchmarks' own token server and bare reader: built from C when first needed, pinned to a core, asked for counts.

Knows: how to build and start them. Must not know: who reads the streams.
"""

import datetime
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent / "native"
BUILT = Path(__file__).resolve().parents[1] / ".engine" / "bench"
SERVER_CORE, CLIENT_CORE = 1, 0
TTFT_MS, ITL_MS, TOKENS = 50.0, 20.0, 100


class CannotError(RuntimeError):
    """What keeps a benchmark from running here; the text is a sentence."""


def built(name: str, *, tls: bool = False) -> Path:
    """The program of that name, compiled anew when its source is newer. Raises CannotError."""
    source, program = SOURCES / f"{name}.c", BUILT / (f"{name}_tls" if tls else name)
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise CannotError("there is no C compiler: apt install gcc")
    BUILT.mkdir(parents=True, exist_ok=True)
    words = [compiler, "-O2", "-Wall", "-Wextra", "-o", str(program), str(source)]
    words += ["-DTLS", "-lssl", "-lcrypto"] if tls else []
    compiled = subprocess.run(words, capture_output=True, text=True, check=False)
    if compiled.returncode:
        hint = "; for TLS: apt install libssl-dev" if tls else ""
        raise CannotError(f"{name} does not compile ({compiled.stderr.strip().splitlines()[0]}{hint})")
    return program


def on_core(core: int, *command: str) -> list[str]:
    """The command, kept on one core. Raises CannotError where there are fewer than two."""
    if (os.cpu_count() or 1) < 2:
        raise CannotError("it needs two cores, one for the server and one for the client")
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
        self._words = ["0", f"{ttft_ms:g}", f"{itl_ms:g}", str(tokens)]
        self.cafile: Path | None = None

    def secured(self, folder: Path) -> "TokenServer":
        """Speak TLS, with a certificate made in that folder."""
        self.cafile = folder / "cert.pem"
        make_certificate(self.cafile, folder / "key.pem")
        return self

    def __enter__(self) -> "TokenServer":
        tls = self.cafile is not None
        files = (
            {}
            if self.cafile is None
            else {"TLS_CERT": str(self.cafile), "TLS_KEY": str(self.cafile.parent / "key.pem")}
        )
        self._process = subprocess.Popen(
            on_core(SERVER_CORE, str(built("token_server", tls=tls)), *self._words),
            stdout=subprocess.PIPE, text=True, env={**os.environ, **files},
        )  # fmt: skip
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline().rpartition(":")[2])
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def count(self) -> Count:
        """Its counters now."""
        if self.cafile is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        else:
            trust = ssl.create_default_context(cafile=str(self.cafile))
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=trust)
        connection.request("GET", "/count")
        told: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return Count(**told)


def make_certificate(certificate: Path, key: Path) -> None:
    """A self-signed certificate for 127.0.0.1, good for two days. Raises CannotError without openssl."""
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"]
    openssl = shutil.which("openssl")
    if openssl is None:
        raise CannotError("there is no openssl to make a certificate: apt install openssl")
    subprocess.run([openssl, *words, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)


def bare_reader(port: int, streams: int, tokens: int, seconds: float, warm_s: float = 2.0) -> dict[str, float]:
    """The C reader's line: tokens_s, cpu_us_token and more."""
    words = [str(built("bare_reader")), str(port), str(streams), str(tokens), f"{warm_s:g}", f"{seconds:g}"]
    ran = subprocess.run(on_core(CLIENT_CORE, *words), stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(ran.stdout)
    return told


def surroundings() -> str:
    """Date and machine, for the head of a table."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores ({model}), Python {sys.version.split()[0]}"


def progress(words: str) -> None:
    """Tell how far a benchmark is; never on standard output, which holds the result."""
    print(words, file=sys.stderr, flush=True)
