"""What plans with a purpose found, as `verdict.json` has it.

Knows: keys. Must not know: how it was found, where it is written.
"""

from dataclasses import asdict
from typing import Any

from loadband.analysis.baseline import Baseline
from loadband.analysis.recovery import Recovery
from loadband.analysis.significant import number
from loadband.analysis.soak import Drift


def baseline_json(baseline: Baseline) -> dict[str, Any]:
    """All keys but the level's."""
    return {
        "asked": float(baseline.asked),
        "holds": float(baseline.holds),
        "stands": baseline.stands,
        "factor": number(baseline.factor),
        "numbers": [
            {"name": each.name}
            | {key: number(getattr(each, key)) for key in ("mean", "deviation", "cv", "half", "low", "high")}
            for each in baseline.numbers
        ],
        "exceeded": list(baseline.exceeded),
        "look_at": list(baseline.look_at),
    }


def recovery_json(recovery: Recovery) -> dict[str, Any]:
    """All keys."""
    return {name: value if isinstance(value, str) else number(value) for name, value in asdict(recovery).items()}


def drift_json(drift: Drift) -> dict[str, Any]:
    """All keys."""
    return {
        "name": drift.name, "per_hour": number(drift.per_hour), "low": number(drift.low), "high": number(drift.high)
    }  # fmt: skip
