"""What an importer gives, and how it takes a number out of somebody's JSON.

Knows: that a key may be missing or hold anything. Must not know: any tool.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadband.analysis.cells import BEYOND_MEASURE
from loadband.analysis.level import Numbers


@dataclass(frozen=True, slots=True)
class Found:
    """One level of a result."""

    numbers: Numbers
    model: str | None = None
    left_out: str | None = None
    """Why it is no level of users; None when it is one."""


def figure(data: Any, *keys: str, scale: float = 1.0) -> float | None:
    """The number under nested keys times `scale`; None of what is missing, no number, negative or beyond measure."""
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    if isinstance(data, bool) or not isinstance(data, int | float):
        return None
    try:
        value = float(data)
    except OverflowError:
        return None
    return value * scale if math.isfinite(value) and 0 <= value < BEYOND_MEASURE else None


def word(data: Any, *keys: str) -> str | None:
    """The text under nested keys; None of anything else and of an empty one."""
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data if isinstance(data, str) and data else None


MS = 1e-3
"""Seconds of a millisecond."""
