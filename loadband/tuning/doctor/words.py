"""Numbers as the doctor says them.

Knows: units. Must not know: what they measure.
"""


def milliseconds(seconds: float | None) -> str:
    """A time fit for a sentence: three digits, ms or s."""
    if seconds is None:
        return "unknown"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def counted(number: float, thing: str) -> str:
    """`1 event`, `2 events`, `0.5 events`."""
    return f"{number:,.4g} {thing}{'' if number == 1 else 's'}"
