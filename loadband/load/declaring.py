"""How an option is declared: its name in the environment, a type that checks and keeps the text.

Knows: argparse. Must not know: which options there are.
"""

import argparse
from collections.abc import Callable
from typing import Any

from loadband.errors import UsageError


def checked(parse: Callable[[str], Any]) -> Callable[[str], str]:
    """An argparse type that keeps the text when `parse` takes it; its sentence is the error otherwise."""

    def check(text: str) -> str:
        try:
            parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return check


def add(group: Any, name: str, **how: Any) -> None:
    """Add `--name`, which the environment calls `LOADBAND_NAME`."""
    group.add_argument(f"--{name}", env_var=f"LOADBAND_{name.upper().replace('-', '_')}", **how)
