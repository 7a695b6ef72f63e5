"""Standard output that may end early: a pipe whose reader has enough, a full disk, none at all.

Knows: streams. Must not know: what is printed.

A reader that closes the pipe (`| head -2`) has seen what it wanted: the rest is not printed, and the exit code stays
that of the verdict. Output that cannot be written is an error of its own, since nobody saw the verdict.
"""

import contextlib
import os
import sys
from collections.abc import Iterator

from rich.console import Console

from loadband.errors import UsageError

PLAIN_WIDTH = 160


class ReportConsole(Console):
    """Rich's console, which leaves a closed pipe to `printing`: on its own it ends the process with 1."""

    def on_broken_pipe(self) -> None:
        """Called by rich inside its handler."""
        raise BrokenPipeError


def report_console(plain_width: int = PLAIN_WIDTH) -> ReportConsole:
    """As wide as the terminal; without one, wide enough for prose, or as wide as is said."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return ReportConsole(width=None if sys.stdout.isatty() else plain_width, highlight=False)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Around all printing. Raises UsageError when standard output is closed or cannot be written."""
    if sys.stdout is None:
        raise UsageError("standard output is closed: leave it open, or send it to a file")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _discard()
    except OSError as error:
        _discard()
        raise UsageError(
            f"cannot write to standard output ({error.strerror}): make room, or send it elsewhere"
        ) from error


def _discard() -> None:
    """What is still buffered goes nowhere, or the interpreter would stumble over it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
