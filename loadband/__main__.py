"""`python -m loadband COMMAND`: the commands beside Locust.

Knows: their command lines. Must not know: what they do.
"""

import argparse
import asyncio
import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Sequence

from loadband.errors import ExitCode, LoadbandError, UsageError, exit_with
from loadband.sim import profile as profiles
from loadband.sim.server import simulate
from loadband.tuning.doctor.command import add_doctor, run_doctor


def command_line(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command and its options."""
    parser = argparse.ArgumentParser(prog="python -m loadband", description="load tests for LLM inference servers")
    commands = parser.add_subparsers(dest="command", required=True)
    sim = commands.add_parser("simulate", help="a simulated LLM server with a known right answer")
    sim.add_argument("--profile", default="vllm-small", help=f"{', '.join(profiles.shipped())}, or a .toml file")
    sim.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    sim.add_argument("--host", default="127.0.0.1", help="the address to listen on; nobody else's machine by default")
    sim.add_argument("--max-num-seqs", type=int, help="sequences that run at once, instead of the profile's")
    sim.add_argument("--max-num-batched-tokens", type=int, help="tokens of a step, instead of the profile's")
    sim.add_argument("--seed", type=int, default=1, help="the same seed draws the same answers and step times")
    sim.add_argument("--die-with-parent", action="store_true", help="end when standard input ends")
    add_doctor(commands)
    return parser.parse_args(words)


def chosen_profile(options: argparse.Namespace) -> profiles.Profile:
    """The profile with what the command line changes. Raises UsageError."""
    changes = {
        name: value
        for name in ("max_num_seqs", "max_num_batched_tokens")
        if (value := getattr(options, name)) is not None
    }
    try:
        profile = profiles.load(options.profile)
        scheduler = dataclasses.replace(profile.scheduler, **changes)
        return profiles.checked(dataclasses.replace(profile, scheduler=scheduler))
    except profiles.ProfileError as error:
        raise UsageError(str(error)) from None


def end_with_parent() -> None:
    """End the process when standard input does."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def run_simulation(options: argparse.Namespace) -> int:
    """Serve until told to end, or until the simulated engine dies. Raises UsageError."""
    profile = chosen_profile(options)
    if not 0 <= options.port <= 65535:
        raise UsageError("--port must be a number between 0 and 65535")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if options.die_with_parent:
        end_with_parent()

    def ready(port: int) -> None:
        print(f"ready http://{options.host}:{port} model {profile.model}", flush=True)

    try:
        asyncio.run(simulate(profile, options.host, options.port, options.seed, ready))
    except KeyboardInterrupt:
        return int(ExitCode.OK)
    except OSError as error:
        where = f"{options.host}:{options.port}"
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        raise UsageError(f"cannot listen on {where} ({why}): choose another --port") from None
    print(f"the simulated engine died: {profile.refusal.death_message}", file=sys.stderr, flush=True)
    return int(ExitCode.OK)


def main() -> int:
    """Run the command."""
    options = command_line()
    try:
        return run_doctor(options) if options.command == "doctor" else run_simulation(options)
    except LoadbandError as error:
        exit_with(error)


if __name__ == "__main__":
    sys.exit(main())
