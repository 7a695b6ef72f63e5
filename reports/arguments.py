"""What the commands of `python -m reports` share in reading their arguments.

Knows: argparse. Must not know: what a command does.
"""

import argparse
import math

from loadband.errors import UsageError
from loadband.slo import JoinedLimits


class Parser(argparse.ArgumentParser):
    """A wrong argument is a user's mistake like any other: one line, exit code 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raises UsageError."""
        raise UsageError(f"{message}; see {self.prog} --help")


def seconds(text: str) -> float:
    """A time of 0 s or more; argparse names the option when this refuses."""
    value = _finite(text)
    if value is None or value < 0:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no time: give seconds as a number, for example 2.5")
    return value


def above_zero(text: str) -> float:
    """A number above 0; argparse names the option when this refuses."""
    value = _finite(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no number above 0: give one, for example 2.5")
    return value


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def add_slo(parser: argparse.ArgumentParser) -> None:
    """`--slo`, a text of limits; given again it adds to them."""
    parser.add_argument(
        "--slo", action=JoinedLimits, metavar="LIMITS",
        help="limits, as ttft_p95<=1s@32,error_rate<=1%%; given again it adds more (a run's own are replaced)",
    )  # fmt: skip


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """`--threshold`."""
    parser.add_argument(
        "--threshold", action="append", default=[], metavar="NAME=VALUE", help="change a threshold (docs/verdict.md)"
    )
