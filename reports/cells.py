"""How one value is written in a table: digits, units, nothing for unknown.

Knows: text. Must not know: which table, what a number means.
"""

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
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def errors(rate: float | None, judged: float | None) -> str:
    """A failure rate with the number of requests behind it."""
    if rate is None:
        return NOTHING
    of = f" of {judged:,.0f}" if judged else ""
    return f"{rate:.2%}{of}" if rate else f"0{of}"
