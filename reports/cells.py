"""How one value is written in a table: digits, units, nothing for unknown.

Knows: text. Must not know: which table, what a number means.
"""

from collections.abc import Mapping
from typing import Any

NOTHING = "-"


def number(value: float | None, digits: int = 3) -> str:
    """At least `digits` digits, thousands parted."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def time(seconds: float | None) -> str:
    """Three digits with their unit."""
    if seconds is None:
        return NOTHING
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{number(seconds)} s"


def printable(text: str) -> str:
    """Text from outside without signs that steer a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def plain(value: Any) -> str:
    """A fact of a run as a person writes it: lists by commas, keys beside their values, what is unknown left out."""
    if isinstance(value, Mapping):
        known = {key: each for key, each in value.items() if each not in (None, "", [], {})}
        return ", ".join(f"{key} {plain(each)}" for key, each in known.items())
    if isinstance(value, list | tuple):
        return " ".join(plain(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def errors(rate: float | None, judged: float | None) -> str:
    """A failure rate with the number of requests behind it."""
    if rate is None:
        return NOTHING
    of = f" of {judged:,.0f}" if judged else ""
    return f"{rate:.2%}{of}" if rate else f"0{of}"
