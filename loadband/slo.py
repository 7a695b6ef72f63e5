"""Service level objectives: the grammar of `--slo` and whether one request keeps them.

Knows: limits and their words. Must not know: how a percentile is computed, or where the numbers come from.

    [scenario.]metric[_pNN or _mean](<= or >=)value[unit][@users]       several joined by commas
    ttft_p95<=1s@32,error_rate<=1%          interactive.tpot_mean<=50ms          output_tok_s>=2000

Latencies without a statistic mean p95. `@users` names the level at which a gate is judged.
"""

import re
from dataclasses import dataclass

from loadband.errors import UsageError

LATENCIES = ("ttft", "ttfa", "tpot", "itl", "e2e")
SHARES = ("error_rate",)
RATES = ("output_tok_s",)

_LIMIT = re.compile(
    r"(?:(?P<scenario>[a-z][a-z0-9_]*)\.)?"
    r"(?P<metric>ttft|ttfa|tpot|itl|e2e|error_rate|output_tok_s)"
    r"(?:_(?P<statistic>p\d{1,2}(?:\.\d+)?|mean))?"
    r"\s*(?P<operator><=|>=)\s*"
    r"(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|%)?"
    r"(?:@(?P<users>\d+))?"
)


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. `value` is in seconds, tokens per second, or a share between 0 and 1."""

    metric: str
    operator: str
    value: float
    statistic: str | None = None
    """`mean` or `pNN` of a latency; None for a share or a rate."""
    scenario: str | None = None
    users: int | None = None
    """The level at which the gate is judged; None: at some valid level."""

    @property
    def quantity(self) -> str:
        """Name of the measured column without its unit: `ttft_p95`, `error_rate`."""
        return f"{self.metric}_{self.statistic}" if self.statistic else self.metric

    @property
    def percentile(self) -> float | None:
        """95.0 of `p95`; None of a mean, a share or a rate."""
        return float(self.statistic[1:]) if self.statistic and self.statistic != "mean" else None

    def holds(self, measured: float) -> bool:
        """Whether a measured value, in the unit of `value`, keeps the limit."""
        return measured <= self.value if self.operator == "<=" else measured >= self.value

    def __str__(self) -> str:
        """The limit as a person would write it; parses to itself."""
        prefix = f"{self.scenario}." if self.scenario else ""
        if self.metric in SHARES:
            value = f"{self.value * 100:.12g}%"
        else:
            value = f"{self.value:.12g}" + ("s" if self.metric in LATENCIES else "")
        return f"{prefix}{self.quantity}{self.operator}{value}" + (f"@{self.users}" if self.users else "")


def parse_slo(text: str) -> tuple[Limit, ...]:
    """Limits of a comma list. Raises UsageError that names the part."""
    return tuple(_parse_limit(part.strip()) for part in text.split(","))


def _parse_limit(part: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    if not match:
        raise UsageError(
            f"SLO '{part}' is not understood: write metric<=value, for example ttft_p95<=1s@32 or error_rate<=1% "
            f"(metrics: {', '.join((*LATENCIES, *SHARES, *RATES))})"
        )
    metric, statistic, unit = match["metric"], match["statistic"], match["unit"]
    value = float(match["value"])
    if metric in LATENCIES:
        if unit not in ("ms", "s"):
            raise UsageError(f"SLO '{part}' needs a unit: write {match['value']}ms or {match['value']}s")
        value *= 0.001 if unit == "ms" else 1.0
        statistic = statistic or "p95"
        if statistic != "mean" and not 0 < float(statistic[1:]) < 100:
            raise UsageError(f"SLO '{part}': a percentile lies between p1 and p99.99")
    elif statistic:
        raise UsageError(
            f"SLO '{part}': {metric} has no {statistic}; write {metric}{match['operator']}{match['value']}"
        )
    elif metric in SHARES:
        if unit not in ("%", None):
            raise UsageError(f"SLO '{part}': an error rate is a share; write {match['value']}% or a number below 1")
        value = value / 100 if unit == "%" else value
        if value > 1:
            raise UsageError(f"SLO '{part}': an error rate is at most 100%; write {match['value']}%")
    elif unit:
        raise UsageError(f"SLO '{part}': {metric} counts tokens per second; write it without a unit")
    users = int(match["users"]) if match["users"] else None
    if users == 0:
        raise UsageError(f"SLO '{part}': there is no level of 0 users")
    return Limit(metric, match["operator"], value, statistic, match["scenario"], users)
