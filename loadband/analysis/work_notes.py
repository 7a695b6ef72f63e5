"""What a reader should know of the work at the levels before the numbers are believed: a sentence each.

Knows: levels side by side, thresholds. Must not know: files, how a ratio was found.
"""

from collections.abc import Sequence

from loadband.analysis.level import Level
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.workload import WARM

MOST_NAMED = 4
"""Levels that one sentence names."""


def notes_on_work(levels: Sequence[Level], limits: Thresholds) -> list[str]:
    """Answers that ended early, and a cache that helped though nobody asked for it."""
    notes = []
    short = [
        (level, ratio) for level in levels if (ratio := level.numbers.output_ratio) and ratio < limits.output_ratio
    ]
    if short:
        told = _span([ratio for _, ratio in short])
        notes.append(
            f"answers had {told} of the asked tokens at {_named([level for level, _ in short], levels)}: less work "
            "than meant; --ignore-eos lets no answer end early, where the server takes it"
        )
    warm = [level for level in levels if level.workload.cache == WARM]
    if warm and not any(level.turns for level in levels):
        told = _span([level.numbers.cached_share or 0.0 for level in warm])
        notes.append(
            f"the cache was warm: {told} of the prompt tokens came from the server's prefix cache at "
            f"{_named(warm, levels)}, and TTFT is that much better; --nonce run with --reset-cache keeps it cold"
        )
    return notes


def _span(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"


def _named(some: Sequence[Level], levels: Sequence[Level]) -> str:
    names = list(dict.fromkeys(level.name for level in some))
    if len(some) == len(levels) and len(names) > 1:
        return "every level"
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
