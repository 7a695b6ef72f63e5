"""D0 across levels: what a level is worth can also show only beside the others.

Knows: cold first levels, a differing mix or build, too few requests in common. Must not know: files, the curve.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from loadband.analysis.level import Level, people
from loadband.analysis.thresholds import Thresholds


def check_ladder(levels: Sequence[Level], limits: Thresholds) -> tuple[Level, ...]:
    """The levels, in order of step, with what shows only beside the others."""
    checked = _check_cold(list(levels), limits)
    return tuple(_check_mix(level, checked, limits) for level in checked)


def _check_cold(levels: list[Level], limits: Thresholds) -> list[Level]:
    """The first level pays for compiling, caching and connecting; compared with the next clean level."""
    usable = sorted((level for level in levels if level.grade.valid), key=lambda level: level.users)
    first = next((level for level in usable if level.numbers.repeat == min(x.numbers.repeat for x in usable)), None)
    later = [
        level
        for level in usable
        if first is not None and level.users > first.users and (level.numbers.error_rate or 0) <= limits.error_limit
    ]
    if first is None or not later:
        return levels
    mine, theirs = _slow_tail(first, limits), later[0].numbers.ttft_p95_s
    errors = first.numbers.error_rate
    grade = first.grade
    above = _next_rate(levels, first.users)
    if mine is None or theirs is None or errors is None:
        grade = grade.not_check("cold")
    if errors is not None and errors > limits.error_limit and above is not None and above <= limits.error_limit:
        grade = grade.refuse(f"cold first level: {errors:.1%} failed, while the next clean level is sound")
    elif mine is not None and theirs is not None and mine > limits.cold_ttft_factor * theirs:
        grade = grade.refuse(
            f"cold first level: slow TTFT {mine:.3g} s against a p95 of {theirs:.3g} s at {people(later[0].users)}"
        )
    return [level.regraded(grade) if level is first else level for level in levels]


def _next_rate(levels: list[Level], users: float) -> float | None:
    """Failure rate of the next higher level that tells one, valid or not: one that fails too is no warm server."""
    told = [
        level
        for level in levels
        if level.users > users and level.numbers.error_rate is not None and not level.grade.client_limited
    ]
    return min(told, key=lambda level: level.users).numbers.error_rate if told else None


def _slow_tail(level: Level, limits: Thresholds) -> float | None:
    """TTFT p95; of too few requests p90, so that one or two slow ones do not make a level cold."""
    numbers = level.numbers
    few = numbers.ok is not None and numbers.ok < limits.p95_requests
    return numbers.ttft_p90_s if few and numbers.ttft_p90_s is not None else numbers.ttft_p95_s


def _check_mix(level: Level, levels: list[Level], limits: Thresholds) -> Level:
    """Shares of the scenarios against those of the other valid levels, each weighed by its requests."""
    others = [other for other in levels if other is not level and other.grade.valid and other.mix]
    n = level.draws if level.draws is not None else level.numbers.requests or 0
    if not level.mix or not others or not n:
        return level
    total = sum(other.numbers.requests or 0 for other in others)
    for scenario in sorted({name for each in (level, *others) for name in each.mix}):
        usual = sum(other.mix.get(scenario, 0.0) * (other.numbers.requests or 0) for other in others) / total
        share = level.mix.get(scenario, 0.0)
        chance = 2 * math.sqrt(max(usual * (1 - usual), 0.0) / n)
        if abs(share - usual) > max(limits.mix_points, chance):
            reason = f"the mix differs: {share:.0%} {scenario} against {usual:.0%} at the other levels"
            return replace(level, grade=level.grade.mark("mix", reason))
    return level
