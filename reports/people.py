"""Users in words: whole numbers, spans.

Knows: rounding. Must not know: what the users are told for.
"""

import math


def users(count: float) -> str:
    """Users as a person says them: whole numbers, or one decimal below ten; rates below one with two digits."""
    if count < 1:
        return f"{count:.2g}"
    nearest = round(count)
    return f"{nearest:d}" if count >= 10 or abs(count - nearest) < 0.05 else f"{count:.1f}"


def whole(low: float, high: float) -> tuple[float, float]:
    """Whole users inside a band; its own edges when it is narrower than one user."""
    inner = math.ceil(low - 0.05), math.floor(high + 0.05)
    return inner if inner[0] <= inner[1] else (low, high)


def between(low: str, high: str) -> str:
    """A span, or its one end."""
    return low if low == high else f"{low}–{high}"


def span(ends: tuple[float, float]) -> str:
    """A span of users."""
    return between(users(ends[0]), users(ends[1]))
