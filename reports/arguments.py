"""What the commands of `python -m reports` share in reading their arguments.

Knows: argparse. Must not know: what a command does.
"""

import argparse
import math

from loadband.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A wrong argument is a user's mistake like any other: one line, exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raises UsageError."""
        raise UsageError(f"{message}; see {self.prog} --help")


def seconds(text: str) -> float:
    """A time of 0 s or more; argparse names the option when this refuses."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


def above_zero(text: str) -> float:
    """A number above 0; argparse names the option when this refuses."""
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError(text)
    return value


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """`--threshold`."""
    parser.add_argument(
        "--threshold", action="append", default=[], metavar="NAME=VALUE", help="change a threshold (docs/verdict.md)"
    )
