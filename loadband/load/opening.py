"""The place of a test's files: a new run directory, or one that is gone on with.

Knows: what a run begins with in either case. Must not know: Locust, what is written while it goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadband.errors import UsageError
from loadband.load.claim import Claim
from loadband.load.ladder import Ladder
from loadband.load.resumption import Past
from loadband.load.run_state import RunState
from loadband.rundir import LOCUST_PREFIX, RunDirectory


@dataclass(frozen=True, slots=True)
class Opened:
    """A run directory that is written to."""

    directory: RunDirectory
    state: RunState
    claim: Claim
    tables: Path
    """Prefix of Locust's own files: `locust`, and `locust_2` of the second part of a run, for Locust begins anew."""


def open_new(path: Path, facts: Mapping[str, Any], now: float) -> Opened:
    """A new one. Raises UsageError."""
    directory = RunDirectory.create(path)
    claim = Claim(path)
    begun = {**facts, "started": now, "ended": None, "how": None, "workers": [], "held": []}
    return Opened(directory, RunState(directory, begun), claim, path / LOCUST_PREFIX)


def open_again(past: Past, ladder: Ladder, facts: Mapping[str, Any], now: float) -> Opened:
    """That of a run that was cut off; the ladder goes on where it stood. Raises UsageError."""
    past.refuse_unlike(facts)
    if not ladder.go_on_after(past.held):
        raise UsageError(
            f"all levels of the run in {past.path} were held: make its report with python -m reports {past.path}"
        )
    directory = RunDirectory(past.path)
    try:
        past.settle(directory)
        state = RunState(directory, past.facts(facts, now))
    except OSError as error:
        raise UsageError(f"cannot write to {past.path} ({error.strerror}): see to it, then resume again") from error
    return Opened(directory, state, past.claim, past.path / f"{LOCUST_PREFIX}_{past.parts + 1}")
