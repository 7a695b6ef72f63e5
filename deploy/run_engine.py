"""An engine on this machine, a Locust run against it, and the engine ended again: `make demo`.

    python deploy/run_engine.py simulator -- --steps 8,16,32 --hold 15s
    python deploy/run_engine.py llamacpp -- --steps 1,2,4,8 --hold 15s

What stands behind `--` goes to Locust, and then the words of the environment variable DEMO_ARGS (`make demo ARGS=...`,
which no shell has read); the exit code is Locust's. The simulator is part of Loadband; a real engine
lives in a virtual environment of its own (`make engine ENGINE=llamacpp`). All listen on 127.0.0.1 alone, are processes
of their own, and end with this script, however it ends.

Knows: how to start and end two processes. Must not know: what either of them does.
"""

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINES = ROOT / "deploy" / "engines"
HOME = ROOT / ".engine"
"""Each engine's virtual environment and log, and the models."""

SIMULATOR = "simulator"
READY_WITHIN_S = 180.0
END_WITHIN_S = 5.0
ENGINE_NICENESS = 10
UNUSABLE, UNREACHABLE = 2, 4
"""Exit codes: wrong use, and an engine that does not come up."""


def engines() -> list[str]:
    """Names of the engines that can be started."""
    return [SIMULATOR, *sorted(path.stem.removeprefix("requirements-") for path in ENGINES.glob("requirements-*.txt"))]


def command_line() -> argparse.Namespace:
    """The engine's name and size, and what goes to Locust."""
    parser = argparse.ArgumentParser(description="run Locust against an engine on this machine")
    parser.add_argument("engine", choices=engines())
    parser.add_argument("--size", default="tiny", help="size of the engine's model")
    parser.add_argument("--slots", type=int, default=4, help="answers that the engine generates at once")
    parser.add_argument("--context", type=int, default=8192, help="tokens over all slots together")
    parser.add_argument("--profile", default="a100-qwen2.5-32b-q4", help="what the simulator is; the others ignore it")
    parser.add_argument("locust", nargs="*", metavar="-- option", help="options of Locust")
    options = parser.parse_args()
    try:
        options.locust += shlex.split(os.environ.get("DEMO_ARGS", ""))
    except ValueError as error:
        raise gave_up(f"ARGS cannot be read as words ({error}): close its quotes", UNUSABLE) from None
    return options


@contextlib.contextmanager
def running_engine(options: argparse.Namespace) -> Iterator[str]:
    """The engine's address while it runs; it is ended on the way out."""
    log = HOME / f"{options.engine}-{os.getpid()}.log"
    HOME.mkdir(exist_ok=True)
    with log.open("wb") as output:
        # a session of its own: Ctrl-C is for Locust, which still needs the engine while it ends
        engine = subprocess.Popen(
            [*start_of(options), "--port", "0", "--die-with-parent"], cwd=ROOT,
            stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    # what shares the cores with the client must not be what makes it late
    os.setpriority(os.PRIO_PROCESS, engine.pid, ENGINE_NICENESS)
    try:
        yield wait_until_ready(engine, log)
        log.unlink()
    finally:
        engine.terminate()
        try:
            engine.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            engine.kill()
            engine.wait()


def start_of(options: argparse.Namespace) -> list[str]:
    """The engine's command, all but its port. Ends the script when the engine is not installed."""
    if options.engine == SIMULATOR:
        return [sys.executable, "-m", "loadband", "simulate", "--profile", options.profile]
    python = HOME / options.engine / "bin" / "python"
    if not python.exists():
        raise gave_up(f"the engine is not installed: make engine ENGINE={options.engine}", UNUSABLE)
    size = ["--size", options.size, "--slots", str(options.slots), "--context", str(options.context)]
    return [str(python), str(ENGINES / f"{options.engine}.py"), *size, "--model-dir", str(HOME)]


def wait_until_ready(engine: subprocess.Popen[bytes], log: Path) -> str:
    """The address that the engine prints once it answers: `ready http://127.0.0.1:8080 model tiny`."""
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        ended = engine.poll() is not None
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        for line in lines:
            if line.startswith("ready ") and line.endswith("\n"):
                print(f"engine {line.strip()}; its log: {log.relative_to(ROOT)}", file=sys.stderr, flush=True)
                return line.split()[1]
        if ended:
            last = lines[-1].strip() if lines else "it said nothing"
            raise gave_up(f"the engine ended with {engine.returncode} before it was ready: {last}", UNREACHABLE)
        time.sleep(0.05)
    raise gave_up(f"the engine was not ready within {READY_WITHIN_S:.0f} s: see {log.relative_to(ROOT)}", UNREACHABLE)


def gave_up(sentence: str, code: int) -> SystemExit:
    """The end of this script, after one line on standard error."""
    print(f"run_engine: {sentence}", file=sys.stderr, flush=True)
    return SystemExit(code)


def own_directory(engine: str) -> Path:
    """A new directory for the run, named by its second; runs that begin in the same second get `-2`, `-3`."""
    path = own = ROOT / "runs" / time.strftime(f"%Y%m%d-%H%M%S-{engine}")
    number = 1
    while True:
        try:
            own.mkdir(parents=True)
        except FileExistsError:
            number += 1
            own = path.with_name(f"{path.name}-{number}")
        else:
            return own


def run_locust(address: str, options: argparse.Namespace) -> int:
    """Run Locust to its end, whatever signals come meanwhile; its exit code."""
    where = ["-f", "locustfile.py", "--headless", "-H", address]
    named = any(word.split("=")[0] == "--run-dir" for word in options.locust) or "LOADBAND_RUN_DIR" in os.environ
    own = None if named else own_directory(options.engine)
    where += ["--run-dir", str(own.relative_to(ROOT))] if own else []
    locust = subprocess.Popen([sys.executable, "-m", "locust", *where, *options.locust], cwd=ROOT)
    # Ctrl-C reaches Locust by itself, as it reaches this script; a SIGTERM is handed on
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: locust.terminate())
    code = locust.wait()
    if own and not any(own.iterdir()):  # refused before load
        own.rmdir()
    return code if code >= 0 else 128 - code


def main() -> int:
    """Start the engine, run Locust, end the engine."""
    options = command_line()
    try:
        with running_engine(options) as address:
            return run_locust(address, options)
    except KeyboardInterrupt:  # while the engine starts; later Locust decides
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
