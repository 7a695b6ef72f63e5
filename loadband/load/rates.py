"""The levels of an open loop: grammar of `--rates`, that of `--steps` in requests per second.

Knows: the words a person writes and what they mean. Must not know: schedules, clocks, whether a rate was kept.

    rates   0.5,1,2,4    1:8:x2 (factor)    0.5:2:+0.5 (addition)    several joined by commas
"""

import re
from itertools import pairwise

from loadband.errors import UsageError
from loadband.plan import MAX_LEVELS, MIN_FACTOR

MAX_RATE = 100_000.0
"""Requests per second above this are a slip of the keyboard."""

MIN_RATE = 0.001
"""A request in a quarter of an hour."""


def parse_rates(text: str) -> tuple[float, ...]:
    """Rising requests per second from `0.5,1,2`, `1:8:x2`, `0.5:2:+0.5`, or several of them. Raises UsageError."""
    rates: list[float] = []
    for part in text.split(","):
        rates += _rates_of(part.strip(), _short(text))
        if len(rates) > MAX_LEVELS:
            raise UsageError(f"rates '{_short(text)}' are more than {MAX_LEVELS} levels: write fewer")
    for lower, upper in pairwise(rates):
        if upper < lower * MIN_FACTOR:
            raise UsageError(
                f"rates '{_short(text)}' do not rise: {lower:g} is followed by {upper:g}; write them upwards, each once"
            )
    return tuple(rates)


def _rates_of(part: str, whole: str) -> list[float]:
    """Rates of one part between commas, at most one more than MAX_LEVELS."""
    number = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
    if match := re.fullmatch(number, part):
        return [_rate(match[1], whole)]
    match = re.fullmatch(f"{number}:{number}:([x+]){number}", part)
    if not match:
        raise UsageError(f"'{_short(part)}' in rates '{whole}' is not understood: write 0.5,1,2,4 or 1:8:x2")
    rate, last, by = _rate(match[1], whole), _rate(match[2], whole), float(match[4])
    if last < rate:
        raise UsageError(f"'{_short(part)}' runs downwards: write the smaller rate first")
    if by < (MIN_FACTOR if match[3] == "x" else MIN_RATE):
        raise UsageError(f"'{_short(part)}' hardly rises: write x{MIN_FACTOR} or more, or +{MIN_RATE} or more")
    rates: list[float] = []
    while rate <= last * (1 + 1e-9) and len(rates) <= MAX_LEVELS:
        rates.append(round(rate, 9))
        rate = rate * by if match[3] == "x" else rate + by
    return rates


def _rate(digits: str, whole: str) -> float:
    rate = float(digits)
    if not MIN_RATE <= rate <= MAX_RATE:
        raise UsageError(
            f"{_short(digits)} requests/s in rates '{whole}' is out of range: write {MIN_RATE:g} to {MAX_RATE:.0f}"
        )
    return rate


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
