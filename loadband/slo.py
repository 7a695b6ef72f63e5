"""Service level objectives: the grammar of `--slo` and whether one request keeps them.

Knows: limits and their words. Must not know: how a percentile is computed, or where the numbers come from.

    [scenario.]metric[_pNN or _mean](<= or >=)value[unit][@users]       several joined by commas
    ttft_p95<=1s@32,error_rate<=1%          interactive.tpot_mean<=50ms          output_tok_s>=2000

Latencies without a statistic mean p95. `@users` names the level at which a gate is judged, a rate in
an open loop. Values are read as
decimals, so that 9ms and 0.009s are the same limit.
"""

import argparse
import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from loadband.errors import UsageError

LATENCIES = ("ttft", "ttfa", "tpot", "itl", "e2e")
SHARES = ("error_rate",)
RATES = ("output_tok_s",)

_SCALE = {"ms": -3, "%": -2}
"""Powers of ten from a unit to that of `Limit.value`."""

_LIMIT = re.compile(
    r"(?:(?P<scenario>[a-z][a-z0-9_]*)\.)?"
    r"(?P<metric>ttft|ttfa|tpot|itl|e2e|error_rate|output_tok_s)"
    r"(?:_(?P<statistic>p[0-9]{1,2}(?:\.[0-9]{1,9})?|mean))?"
    r"\s*(?P<operator><=|>=)\s*"
    r"(?P<value>[0-9]{1,15}(?:\.[0-9]{1,40})?)\s*(?P<unit>ms|s|%)?"
    r"\s*(?:@\s*(?P<users>[0-9]{1,7}(?:\.[0-9]{1,6})?))?"
)


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. `value` is in seconds, tokens per second, or a share between 0 and 1."""

    metric: str
    operator: str
    value: float
    statistic: str | None = None
    """`mean` or `pNN` of a latency, without needless zeros; None for a share or a rate."""
    scenario: str | None = None
    users: float | None = None
    """The level at which the gate is judged, requests per second in an open loop; None: at some valid level."""
    unit: str | None = field(default=None, compare=False)
    """As the user wrote it, `""` for none: the same limit in any unit. None: `s` of a latency, `%` of a share."""

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
        value = Decimal(repr(float(self.value))).scaleb(-_SCALE.get(self._unit, 0)).normalize()
        return f"{prefix}{self.quantity}{self.operator}{value:f}{self._unit}" + (
            f"@{_level(self.users)}" if self.users else ""
        )

    def told(self, measured: float) -> str:
        """A measured value, in the unit of `value`, as a person reads it beside this limit: `31.2 ms`."""
        if math.isinf(measured):
            return "beyond any limit"
        gap = " " if self._unit in ("ms", "s") else ""
        return f"{measured * 10 ** -_SCALE.get(self._unit, 0):.4g}{gap}{self._unit}"

    @property
    def _unit(self) -> str:
        if self.unit is not None:
            return self.unit
        return "%" if self.metric in SHARES else "s" if self.metric in LATENCIES else ""


def parse_slo(text: str) -> tuple[Limit, ...]:
    """Limits of a comma list. Raises UsageError that names the part."""
    return tuple(_parse_limit(part.strip()) for part in text.split(","))


def _parse_limit(part: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    if not match:
        raise UsageError(
            f"SLO '{part[:60]}' is not understood: write metric<=value, for example ttft_p95<=1s@32 or error_rate<=1% "
            f"(metrics: {', '.join((*LATENCIES, *SHARES, *RATES))})"
        )
    metric, statistic, unit, number = match["metric"], match["statistic"], match["unit"], match["value"]
    if metric in LATENCIES:
        if unit not in ("ms", "s"):
            raise UsageError(f"SLO '{part}' needs a unit: write {number}ms or {number}s")
        statistic = _statistic(statistic or "p95", part)
    elif statistic:
        raise UsageError(
            f"SLO '{part}': {metric} has no {statistic}; write {metric}{match['operator']}{number}{unit or ''}"
        )
    elif metric in SHARES:
        _check_share(Decimal(number), unit, part)
    elif unit:
        raise UsageError(f"SLO '{part}': {metric} counts tokens per second; write it without a unit")
    value = float(Decimal(number).scaleb(_SCALE.get(unit, 0)))
    users = float(match["users"]) if match["users"] else None
    if users == 0:
        raise UsageError(f"SLO '{part}': there is no level of 0 users; write @1 or more")
    return Limit(metric, match["operator"], value, statistic, match["scenario"], users, unit or "")


def _level(users: float) -> str:
    return f"{users:.6f}".rstrip("0").rstrip(".")


def _statistic(word: str, part: str) -> str:
    """`mean`, or the one spelling of a percentile: p5 of p05, p95 of p95.0."""
    if word == "mean":
        return word
    percent = Decimal(word[1:])
    if not 1 <= percent <= Decimal("99.99"):
        raise UsageError(f"SLO '{part}': a percentile lies between p1 and p99.99; write p95 or p99")
    return f"p{percent.normalize():f}"


def _check_share(number: Decimal, unit: str | None, part: str) -> None:
    """Raise UsageError of an error rate that is no share: 1 without a unit could mean 1 % or all."""
    if unit not in ("%", None):
        raise UsageError(f"SLO '{part}': an error rate is a share; write {number}% or a number below 1")
    if number > 100:
        raise UsageError(f"SLO '{part}': an error rate is at most 100%; write 1% or 5%")
    if unit is None and number >= 1:
        raise UsageError(f"SLO '{part}': an error rate without a unit is below 1; write {number}%, or 0.01 for 1%")


class JoinedLimits(argparse.Action):
    """An option of limits that adds to them when it is given again, here and in the reports."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, values: Any, _option: str | None = None) -> None:
        """As argparse calls it."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before},{values}")
