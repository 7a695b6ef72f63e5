"""Errors that a person can mend, and the exit codes of every command.

Knows: the five exit codes and their order. Must not know: Locust, files, the network.

A user's mistake is one line that says what is wrong and what to do next; no traceback.
Code raises `LoadbandError`; only the outermost face (a command, a Locust hook) prints and exits.
"""

import sys
from enum import IntEnum
from typing import NoReturn


class ExitCode(IntEnum):
    """What the process says to the script that called it; the first that applies wins, top to bottom."""

    USAGE = 2
    """Wrong use or bad input, found before any load."""
    UNREACHABLE = 4
    """The target could not be reached at the start, or went away before anything could be said."""
    UNANSWERED = 3
    """What was asked cannot be answered: too few valid levels, a client-limited run, lost workers."""
    GATE_FAILED = 1
    """An SLO gate failed."""
    OK = 0


class LoadbandError(Exception):
    """A fault a person can mend. `str()` is one line: what is wrong, and what to do."""

    def __init__(self, sentence: str, code: ExitCode) -> None:
        super().__init__(" ".join(sentence.split()))
        self.code = code


class UsageError(LoadbandError):
    """Wrong use or bad input (exit 2)."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitCode.USAGE)


class UnreachableError(LoadbandError):
    """The target does not answer (exit 4)."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitCode.UNREACHABLE)


class UnansweredError(LoadbandError):
    """The data does not allow an answer (exit 3)."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ExitCode.UNANSWERED)


def complain(error: LoadbandError) -> None:
    """Print the error's one line to standard error."""
    print(f"loadband: {error}", file=sys.stderr, flush=True)


def exit_with(error: LoadbandError) -> NoReturn:
    """Print the error's one line to standard error and end the process with its code."""
    complain(error)
    raise SystemExit(int(error.code))
