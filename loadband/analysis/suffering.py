"""Which class of users suffers: the first tokens of one scenario with and without others beside it.

Knows: parts of levels by scenario. Must not know: how a change is told from noise, printing.

A run of one scenario is that scenario alone, at the same number of users in all: half as many of them stand in a mix
of halves. So what is compared is what those users feel who are there, under a server with as many users altogether.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadband.analysis.level import Level
from loadband.analysis.side import Side


@dataclass(frozen=True, slots=True)
class Felt:
    """First-token times of one scenario at one level, seconds; geometric means over repeats."""

    ok: float
    """Successes behind it."""
    ttft_p50_s: float | None
    ttft_p95_s: float | None


@dataclass(frozen=True, slots=True)
class Suffering:
    """One scenario at one level, in the first run and in another."""

    run: str
    scenario: str
    users: float
    before: Felt
    after: Felt


def sufferings(sides: Sequence[Side], levels: Sequence[float]) -> tuple[Suffering, ...]:
    """Of every run against the first, the scenarios that both have; nothing where both are one and the same."""
    first = sides[0]
    found = []
    for side in sides[1:]:
        for users in levels:
            before, after = _felt(first, users), _felt(side, users)
            if len(before) < 2 and len(after) < 2:
                continue
            shared = [name for name in before if name in after]
            found += [Suffering(side.name, name, users, before[name], after[name]) for name in shared]
    return tuple(found)


def _felt(side: Side, users: float) -> dict[str, Felt]:
    """Scenario -> what was felt at a level, over its repeats."""
    levels = [level for _, level in side.levels_at(users)]
    parts: dict[str, list[Felt]] = {}
    for level in levels:
        for name, felt in _parts(level, side).items():
            parts.setdefault(name, []).append(felt)
    return {name: _together(each) for name, each in parts.items()}


def _parts(level: Level, side: Side) -> dict[str, Felt]:
    if level.scenarios:
        return {part.scenario: Felt(part.ok, part.ttft_p50_s, part.ttft_p95_s) for part in level.scenarios if part.ok}
    mix = side.conditions.words.get("mix", "") if side.conditions else ""
    numbers = level.numbers
    alone, _, _ = mix.partition("=")
    if not alone or "," in mix or not numbers.ok:
        return {}
    return {alone: Felt(numbers.ok, numbers.ttft_p50_s, numbers.ttft_p95_s)}


def _together(parts: Sequence[Felt]) -> Felt:
    return Felt(
        sum(part.ok for part in parts),
        _mean([part.ttft_p50_s for part in parts]),
        _mean([part.ttft_p95_s for part in parts]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None
