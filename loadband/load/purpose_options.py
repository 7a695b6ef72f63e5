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
    _add(
        group, "recover", action="store_true", default=False,
        help="after a failure (--until-failure, or the target is gone), or after the top level, let half of the users "
        "go at once, and tell how long it takes until tokens/s and TTFT p50 are as on the way up; watched for --hold, "
        "60 s with auto. A target that serves nothing for 120 s (at most --max-hold) is said to be dead. Default off",
    )  # fmt: skip
    _add(
        group, "spike", metavar="LOW:HIGH:TIME", type=checked(purposes.parse_spike),
        help="8:64:60s: hold 8 users, then 64 at once for 60 s, then 8 again for --hold (60 s with auto): throughput "
        "and TTFT inside the spike, and how long until they are as before. In place of --steps",
    )  # fmt: skip
