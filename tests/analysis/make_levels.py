"""Levels by hand, for tests of the verdict that need no run directory."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadband.analysis.level import Evidence, Grade, Level, Numbers
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.verdict import Facts, Verdict, judge

Xs = Mapping[int, float] | Mapping[float, float]
"""Users -> throughput."""

LIMITS = Thresholds()
KEPT = ("grade", "build", "throttled", "think_s", "mix", "scenarios", "turns", "failures", "itl_mean_s", "drifts")
"""What belongs to a level, not to its numbers."""


def level(users: float, x: float | None, *, n: float = 1000, failed: float = 0, **changes: Any) -> Level:
    """A valid level of `n` judged requests, `failed` of them failures; further numbers by their column names."""
    known = {name: changes.pop(name) for name in KEPT if name in changes}
    numbers: dict[str, Any] = {
        "step": int(users), "users": users, "output_tok_s": x, "requests": n, "ok": n - failed, "failed": failed,
        "error_rate": failed / n if n else None, "hold_s": 60.0,
    }  # fmt: skip
    return Level(Numbers(**(numbers | changes)), server_failed=failed, **known)


def outage(*, healed: bool = False, **grade: Any) -> Grade:
    """A grade that speaks of an outage."""
    return Grade(**grade).refuse("the target failed").witness(Evidence("outage", "no success for 40 s", healed))


def ladder(xs: Xs, **changes: Any) -> list[Level]:
    return [level(users, x, **changes) for users, x in xs.items()]


def verdict_of(levels: Sequence[Level], facts: Facts | None = None, limits: Thresholds = LIMITS) -> Verdict:
    return judge(levels, (), limits, facts or Facts())
