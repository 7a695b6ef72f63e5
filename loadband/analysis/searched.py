"""What a run with `--find` found, as `run.json` tells it.

Knows: the keys of its `search`. Must not know: how levels were chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Search:
    """Users; None where there is no such level."""

    limits: str
    n_slo: float | None
    """Most users at which the limits were kept, below every level at which they were not."""
    broken_at: float | None
    n_slo_low: float | None
    """Most users whose interval lies within the limits."""
    n_slo_high: float | None
    """Fewest users whose interval lies beyond one."""
    levels: float | None
    holds: float | None
    complete: bool
    """Whether the search came to its end."""

    @classmethod
    def of(cls, told: Any) -> Self | None:
        """None of what is no search."""
        if not isinstance(told, Mapping) or not isinstance(told.get("limits"), str):
            return None
        numbers = ("n_slo", "broken_at", "n_slo_low", "n_slo_high", "levels", "holds")
        return cls(
            limits=told["limits"], complete=told.get("complete") is True,
            **{name: _number(told.get(name)) for name in numbers},
        )  # fmt: skip

    def sentence(self) -> str:
        """For a report."""
        spent = f"{_text(self.levels)} levels, {_text(self.holds)} holds"
        begin = "search" if self.complete else "search, ended early"
        if self.n_slo is None:
            return f"{begin}: {self.limits} is kept at no level that was held; {spent}"
        if self.broken_at is None:
            return f"{begin}: {self.limits} is kept up to {_text(self.n_slo)} users, the most that were held; {spent}"
        ends = f"{_text(self.n_slo_low)} to {_text(self.n_slo_high)}"
        return (
            f"{begin}: N_SLO {_text(self.n_slo)} users for {self.limits}, broken at {_text(self.broken_at)}, "
            f"interval while it went on {ends}; {spent}"
        )


def _number(told: Any) -> float | None:
    return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None


def _text(number: float | None) -> str:
    return "unknown" if number is None else f"{number:g}"
