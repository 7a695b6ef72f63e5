"""What the guards of a run (`--stop-when`) saw, as `run.json` tells it.

Knows: the keys of its `guards`. Must not know: how a guard watches.
"""

import time
from collections.abc import Mapping
from typing import Any


def notes_on_guards(run: Mapping[str, Any]) -> list[str]:
    """Which guard ended the run, and which never saw its value."""
    told = run.get("guards")
    rows = [row for row in told if isinstance(row, Mapping) and row.get("guard")] if isinstance(told, list) else []
    return [sentence for row in rows if (sentence := _sentence(row))]


def _sentence(row: Mapping[str, Any]) -> str | None:
    guard, value = row["guard"], _number(row.get("value"))
    if value is not None:
        since, at = _number(row.get("since")), _number(row.get("fired_at"))
        stood = "" if since is None or at is None else f", at or above it since {_clock(since)} ({at - since:.0f} s)"
        return f"the run was ended by its guard {guard}: {value:.4g}{stood}"
    if _number(row.get("highest")) is None:
        return f"the guard {guard} was blind: its value was never known, so it guarded nothing"
    return None


def _number(told: Any) -> float | None:
    return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S UTC", time.gmtime(at))
