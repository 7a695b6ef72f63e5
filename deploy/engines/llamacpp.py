"""A real llama.cpp server on this machine, with a model made on the spot: for tests, demos and trying things out.

    pip install -r deploy/engines/requirements-llamacpp.txt
    python deploy/engines/llamacpp.py --port 8080 --slots 4

It serves on 127.0.0.1 alone, with `/metrics`, `/slots` and `/props`, and prints one line when it answers:
`ready http://127.0.0.1:8080 model tiny`. It ends on SIGTERM, SIGINT and, with `--die-with-parent`, when its standard
input ends.

Knows: llama.cpp's server as the `xllamacpp` wheel holds it. Must not know: how the model file is made.
"""

import argparse
import http.client
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

MISSING = "llamacpp.py: {name} is missing: pip install -r deploy/engines/requirements-llamacpp.txt"
READY_WITHIN_S = 60.0
CONNECTIONS = 512
"""Each open connection holds one HTTP thread; when all are held, `/health` and `/metrics` wait as well."""
PER_SLOT = 2048
"""Room for a prompt of 200 tokens, an answer of 448, and a few turns."""

try:
    import xllamacpp
    from tiny_gguf import model_file
    from tiny_model import SIZES, default_folder
except ModuleNotFoundError as missing:
    sys.exit(MISSING.format(name=missing.name))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="llama.cpp's own server with a small random model")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one")
    parser.add_argument("--slots", type=int, default=4, help="answers generated at once; the others wait")
    parser.add_argument("--context", type=int, help=f"tokens over all slots together (default: {PER_SLOT} a slot)")
    parser.add_argument(
        "--size", choices=sorted(SIZES), default="tiny", help="mid computes long enough for few users to fill it"
    )
    # llama.cpp's threads wait for each other by spinning: one that loses its core to a load generator stops them all.
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="half the cores")
    parser.add_argument("--model-dir", type=Path, default=default_folder(), help="where models are kept")
    parser.add_argument("--die-with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument("--verbose", action="store_true", help="llama.cpp's own log on standard error")
    return parser.parse_args()


def serve(chosen: argparse.Namespace, model: Path) -> Any:
    """Start the server in its own threads; the object must be kept as long as it is to run."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {chosen.size}
    params.hostnames = ["127.0.0.1"]
    params.port = chosen.port
    params.n_parallel = chosen.slots
    params.n_ctx = chosen.context or PER_SLOT * chosen.slots
    params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = chosen.threads
    params.n_threads_http = CONNECTIONS
    # Its default keeps 8 GiB of old prompts, which under load are never seen again.
    params.cache_ram_mib = 0
    params.verbosity = 3 if chosen.verbose else -1
    try:
        return xllamacpp.Server(params)
    except RuntimeError:
        sys.exit(f"llamacpp.py: llama.cpp did not start; is port {chosen.port} taken? --verbose says more")


def wait_until_ready(url: str) -> None:
    """Return when `/health` says yes; end the program when it never does."""
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.01)
    sys.exit(f"llamacpp.py: {url} did not become ready within {READY_WITHIN_S:.0f} s; try --verbose")


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
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    if chosen.die_with_parent:
        end_with_parent()
    server = serve(chosen, model_file(chosen.model_dir, chosen.size))
    url = str(server.listening_address).rstrip("/")
    wait_until_ready(url)
    print(f"ready {url} model {chosen.size}", flush=True)
    try:
        threading.Event().wait()
    finally:
        # The wheel's own shutdown waits for running answers; nobody wants those any more.
        os._exit(0)


if __name__ == "__main__":
    main()
