"""Builds the library where it can be built: `python -m loadband.load.native`. Without a compiler it is done without.

Knows: how a C compiler is called. Must not know: what is built.
"""

import argparse
import os
import shutil
import subprocess
import sys

from loadband.load.native import HERE, SOURCES, loaded, place

FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread")


def build() -> str:
    """Build what is not built yet; a sentence on what became of it."""
    wanted = place()
    if loaded(wanted) is not None:
        return f"{wanted.name} is there"
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        lacking = "a C compiler (apt install gcc)" if sys.platform == "linux" else "Linux"
        return _done_without(f"reading them in C needs {lacking}")
    half = HERE / f"{wanted.stem}.{os.getpid()}.part"
    try:
        command = [compiler, *FLAGS, "-o", str(half), *map(str, SOURCES)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if ran.returncode:
            why = (ran.stderr.strip().splitlines() or ["the compiler gave no reason"])[0]
            return _done_without(f"{compiler} failed ({why})")
        half.replace(wanted)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _done_without(f"nothing could be built ({error})")
    finally:
        half.unlink(missing_ok=True)
    for stale in set(HERE.glob("native-*.so")) - {wanted}:
        stale.unlink(missing_ok=True)
    return f"built {wanted.name}"


def _done_without(why: str) -> str:
    return f"streams are read in Python, which costs a worker more CPU: {why}"


def main() -> None:
    """Build, and say what became of it."""
    parser = argparse.ArgumentParser(prog="python -m loadband.load.native", description=__doc__)
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when it is there already")
    quiet = parser.parse_args().quiet
    there = loaded(place()) is not None
    if not (there and quiet):
        print(build())


if __name__ == "__main__":
    main()
