"""Levels at which nothing was served: throughput 0, no throughput known, nothing but failures.

Knows: throughput, failure rates. Must not know: files, the fitted curve.

None of them has a place on a curve of logarithms, so none is valid. What they say of the server differs. *Unknown*
says nothing. *Nothing but failures* is a failure by errors. *0* with users there, above a level that served, is what
a collapse ends in; two such levels in a row, or two repeats of one, are needed to call it found (see `failure`).
"""

from collections.abc import Sequence

from loadband.analysis.curve import throughput
from loadband.analysis.level import Evidence, Grade, Level

COLLAPSE = "collapse"
"""Mode of the evidence that a level of throughput 0 gives."""


def check_throughput(levels: Sequence[Level], metric: str) -> tuple[Level, ...]:
    """The levels in order; those that served nothing are not valid, with what they say of the server."""
    served = [level.users for level in levels if level.grade.valid and throughput(level, metric)]
    lowest = min(served, default=None)
    return tuple(level.regraded(_checked(level, metric, lowest)) if level.grade.valid else level for level in levels)


def standstills(levels: Sequence[Level]) -> list[Level]:
    """Those whose throughput fell to 0."""
    return [level for level in levels if level.grade.evidence is not None and level.grade.evidence.mode == COLLAPSE]


def _checked(level: Level, metric: str, lowest: float | None) -> Grade:
    if level.numbers.error_rate == 1:
        return all_failed(level.grade)
    x = throughput(level, metric)
    if x is None:
        return level.grade.refuse(f"it has no {metric}")
    if x:
        return level.grade
    stood = level.grade.refuse(f"nothing came: {metric} is 0")
    if lowest is None or level.users <= lowest:
        return stood
    return stood.witness(level.grade.evidence or Evidence(COLLAPSE, f"{metric} is 0"))


def all_failed(grade: Grade) -> Grade:
    """The grade of a level at which nothing but failures ended."""
    sentence = "no request succeeded"
    return grade.refuse(sentence).witness(grade.evidence or Evidence("errors", sentence))
