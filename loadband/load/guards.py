"""Guards of a plan, `--stop-when`: their grammar, and whether a value has stood beyond its limit for long enough.

Knows: guards and how long each has been beyond. Must not know: where a value comes from, clocks, the ladder.

    metric[_pNN or _mean]>=value[unit] [for TIME]      several joined by commas
    kv_cache>=0.98 for 30s      error_rate>=20% for 10s, ttft_p95>=5s      device_memory>=97%

Shares (`kv_cache device_memory error_rate`) are written as 0.98 or 98%, latencies (`ttft ttfa tpot e2e`, p95 where no
statistic is said) with their unit. Without `for` a guard fires when it is first seen beyond. A value that is not known
for a moment (a busy server answers its metrics late) neither begins nor ends the time beyond; unknown for longer than
`BLIND_AFTER_S` it ends it, for nobody can say that it stood.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from loadband import plan
from loadband.errors import UsageError
from loadband.slo import Limit, parse_slo

OF_SERVER = ("kv_cache", "device_memory")
"""Told by a page of metrics; all others are the load's own."""

OF_LOAD = ("error_rate", "ttft", "ttfa", "tpot", "e2e")

BLIND_AFTER_S = 10.0

_GUARD = re.compile(
    r"(?P<quantity>(?P<metric>[a-z][a-z0-9_]*?)(?:_(?:p[0-9.]+|mean))?)\s*(?P<operator>>=|<=|>|<|=)\s*(?P<value>\S+?)"
    r"(?:\s+for\s+(?P<time>\S+))?"
)


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard. Its value is a share between 0 and 1, or seconds."""

    text: str
    """As it was written, with one space where there were several."""
    metric: str
    value: float
    seconds: float
    """How long the value must stand beyond; 0: seen once."""
    limit: Limit | None = None
    """Of the load's own figures: what a value is compared with, and how it is told."""

    @property
    def of_server(self) -> bool:
        """Whether a server must tell the value."""
        return self.metric in OF_SERVER

    def told(self, value: float) -> str:
        """A value as a person reads it: `0.991`, `31 %`, `5.2 s`."""
        return f"{value:.3f}".rstrip("0").rstrip(".") if self.limit is None else self.limit.told(value)


def parse_guards(text: str) -> tuple[Guard, ...]:
    """Guards of a comma list. Raises UsageError that names the part."""
    return tuple(_parse(" ".join(part.split())) for part in text.split(","))


def _parse(part: str) -> Guard:
    match = _GUARD.fullmatch(part)
    if not match or match["metric"] not in (*OF_SERVER, *OF_LOAD):
        raise UsageError(
            f"guard '{part[:60]}' is not understood: write metric>=value for TIME, for example kv_cache>=0.98 for 30s "
            f"(metrics: {', '.join((*OF_SERVER, *OF_LOAD))})"
        )
    if match["operator"] != ">=":
        raise UsageError(f"guard '{part[:60]}': a guard fires at or above its value, write {match['quantity']}>=...")
    seconds = plan.parse_duration(match["time"]) if match["time"] else 0.0
    if match["metric"] in OF_SERVER:
        if match["quantity"] != match["metric"]:
            raise UsageError(f"guard '{part[:60]}': {match['metric']} has no statistic, write {match['metric']}>=...")
        return Guard(part, match["metric"], _share(match["value"], part), seconds)
    try:
        (limit,) = parse_slo(f"{match['quantity']}>={match['value']}")
    except UsageError as error:
        raise UsageError(str(error).replace("SLO", "guard", 1)) from None
    if limit.users is not None:
        raise UsageError(f"guard '{part[:60]}' watches every level: leave out @{limit.users:g}")
    if limit.value == 0:
        raise UsageError(f"guard '{part[:60]}' would fire at once: write a value above 0")
    return Guard(part, limit.metric, limit.value, seconds, limit)


def _share(word: str, part: str) -> float:
    number = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)(%?)", word)
    value = Decimal(number[1]).scaleb(-2 if number[2] else 0) if number else Decimal(0)
    if not 0 < value <= 1:
        raise UsageError(f"guard '{part[:60]}' wants a share above 0: write 0.98 or 98%")
    return float(value)


@dataclass(frozen=True, slots=True)
class Fired:
    """A guard that ends the plan."""

    guard: Guard
    value: float
    since: float
    """When the value was first seen beyond, Unix seconds."""
    at: float
    """When it had stood there for long enough."""

    def sentence(self) -> str:
        """For a console."""
        lasted = f", beyond it for {self.at - self.since:.0f} s" if self.guard.seconds else ""
        return f"the guard {self.guard.text} fired: {self.guard.told(self.value)}{lasted}"


@dataclass(slots=True)
class _Seen:
    since: float | None = None
    known_at: float | None = None
    highest: float | None = None


@dataclass(slots=True)
class Watch:
    """All guards of a run. `look` about once a second."""

    guards: Sequence[Guard]
    fired: Fired | None = None
    """The first that fired; a run ends once."""
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def look(self, now: float, values: Mapping[str, float | None]) -> Fired | None:
        """What fired, first of all, by the values of this moment: text of a guard -> value, None where unknown."""
        for guard in self.guards:
            seen, value = self._seen.setdefault(guard.text, _Seen()), values.get(guard.text)
            if value is None:
                if seen.known_at is not None and now - seen.known_at > BLIND_AFTER_S:
                    seen.since = None
                continue
            if seen.known_at is not None and now - seen.known_at > BLIND_AFTER_S:
                seen.since = None
            seen.known_at = now
            seen.highest = value if seen.highest is None else max(seen.highest, value)
            if value < guard.value:
                seen.since = None
                continue
            seen.since = now if seen.since is None else seen.since
            if self.fired is None and now - seen.since >= guard.seconds:
                self.fired = Fired(guard, value, seen.since, now)
        return self.fired

    def rows(self) -> list[dict[str, Any]]:
        """For `run.json`: each guard, the highest value seen (None: it was blind), and when one fired with what."""
        rows = []
        for guard in self.guards:
            fired = self.fired if self.fired is not None and self.fired.guard == guard else None
            rows.append({
                "guard": guard.text, "highest": self._seen.get(guard.text, _Seen()).highest,
                "fired_at": fired.at if fired else None, "value": fired.value if fired else None,
                "since": fired.since if fired else None,
            })  # fmt: skip
        return rows
