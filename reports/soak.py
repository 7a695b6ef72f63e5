"""How a level that was held for long drifted, in words.

Knows: names of the numbers. Must not know: how a drift is found, where it is printed.
"""

from loadband.analysis.level import Level
from loadband.analysis.soak import HOUR_S, Drift
from loadband.analysis.verdict import Verdict
from reports.units import named

NAMES = {
    "output_tok_s": "output tokens/s", "ttft_p50_s": "TTFT p50", "ttft_p95_s": "TTFT p95", "e2e_mean_s": "E2E mean",
}  # fmt: skip


def soak_sentences(verdict: Verdict) -> list[str]:
    """A sentence for each level that was held long enough."""
    return [_sentence(level, verdict) for level in verdict.levels if level.drifts and level.grade.valid]


def _sentence(level: Level, verdict: Verdict) -> str:
    hours = (level.numbers.hold_s or 0.0) / HOUR_S
    told = ", ".join(f"{named(NAMES[each.name], verdict)} {_percent(each)}" for each in level.drifts)
    beyond = [named(NAMES[each.name], verdict) for each in level.drifts if each.counts]
    end = f"beyond noise: {', '.join(beyond)}" if beyond else "none beyond noise"
    return f"Drift per hour over {hours:.3g} h at {level.name} (95 %): {told}; {end}."


def _percent(each: Drift) -> str:
    return f"{each.per_hour:+.2%} ({each.low:+.2%} to {each.high:+.2%})"
