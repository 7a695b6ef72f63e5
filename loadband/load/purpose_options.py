"""Options of plans with a purpose of their own.

Knows: names, defaults, help texts. Must not know: what the parts do with them.
"""

from typing import Any

from loadband.load import purposes
from loadband.load.declaring import add as _add
from loadband.load.declaring import checked


def add_purposes(group: Any) -> None:
    """Add them to the group of the load plan."""
    _add(
        group, "baseline", metavar="N", type=checked(purposes.parse_baseline),
        help="hold one level (--steps 8, or -u 8) N times, drained in between, and tell within what a next run lies: "
        "mean +- t s sqrt(1+1/N), 3 times are +- 4.97 s. A level that varies too much (tokens/s by more than 3 %%, "
        "TTFT p95 by more than 15 %%) ends with exit code 3 and what to look at",
    )  # fmt: skip
