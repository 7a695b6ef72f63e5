"""Numbers as `verdict.json` has them.

Knows: rounding. Must not know: which number.
"""

import math


def number(value: float | None) -> float | None:
    """Six significant digits; unknown and not finite are null."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
