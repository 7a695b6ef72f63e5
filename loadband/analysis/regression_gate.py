"""The grammar of `--fail-on`, and whether a comparison fails it.

    metric[@users](< or >)change%        several joined by commas
    output_tok_s<-5%        ttft_p95@32>+10%        error_rate>+1%

A change is relative, of `error_rate` in points. It fails only when the measured change is beyond the limit *and* beyond
noise; beyond the limit and not beyond noise is undecided, never a pass and never a failure.

Knows: the words. Must not know: how a change was measured, exit codes.
"""

import re
from dataclasses import dataclass

from loadband.analysis.comparison import Comparison
from loadband.analysis.effects import Effect
from loadband.analysis.side import COMPARED
from loadband.errors import UsageError

NAMES = tuple(
    column.removesuffix("_s") if column.startswith(("ttft", "tpot", "e2e")) else column for column in COMPARED
)
_GATE = re.compile(
    r"(?P<metric>[a-z0-9_]+)(?:@(?P<users>[0-9]{1,7}))?\s*(?P<sign><|>)\s*(?P<change>[+-]?[0-9]{1,6}(?:\.[0-9]{1,6})?)%"
)
PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit on a change."""

    text: str
    metric: str
    users: float | None
    below: bool
    change: float


@dataclass(frozen=True, slots=True)
class Ruling:
    """How one gate stands for one run."""

    gate: str
    run: str
    result: str
    reason: str


def parse_gates(text: str) -> tuple[Gate, ...]:
    """Gates of a comma list. Raises UsageError that names the part."""
    return tuple(_parse(part.strip()) for part in text.split(","))


def _parse(part: str) -> Gate:
    match = _GATE.fullmatch(part)
    if not match or match["metric"] not in {*NAMES, *COMPARED}:
        raise UsageError(
            f"--fail-on '{part[:60]}' is not understood: write metric<-5% or metric@32>+10%, for example "
            f"output_tok_s<-5% (metrics: {', '.join(NAMES)})"
        )
    name = match["metric"]
    metric = COMPARED[NAMES.index(name)] if name in NAMES else name
    users = float(match["users"]) if match["users"] else None
    return Gate(part, metric, users, match["sign"] == "<", float(match["change"]) / 100)


def rulings(gates: tuple[Gate, ...], comparison: Comparison) -> list[Ruling]:
    """Every gate for every run after the first."""
    return [
        _rule(gate, side.name, comparison, place)
        for place, side in enumerate(comparison.sides[1:], start=1)
        for gate in gates
    ]


def _rule(gate: Gate, name: str, comparison: Comparison, place: int) -> Ruling:
    users = comparison.reference if gate.users is None else gate.users
    found = [each for each in comparison.effects_of(place, gate.metric) if each.users == users]
    if not found:
        return Ruling(gate.text, name, UNDECIDED, f"not measured at {users:g} users on both sides")
    effect = found[0]
    beyond = effect.change < gate.change if gate.below else effect.change > gate.change
    said = f"{effect.change:+.1%} at {users:g} users"
    if not beyond:
        return Ruling(gate.text, name, PASSED, said)
    if effect.counts:
        return Ruling(gate.text, name, FAILED, said)
    return Ruling(gate.text, name, UNDECIDED, f"{said}, {_doubt(effect)}")


def _doubt(effect: Effect) -> str:
    if effect.low is None or effect.high is None:
        return "and nothing tells the noise: longer holds or --repeats 3"
    return f"not beyond noise ({effect.low:+.1%} to {effect.high:+.1%}): longer holds or more repeats"
