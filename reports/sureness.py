"""How sure the verdict is, in sentences: intervals, repeats, what other weights and a price would say, the book-end.

Knows: how an interval is said. Must not know: how it was found.
"""

import math

from loadband.analysis.intervals import Certainty
from loadband.analysis.slo_end import End
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.people import between, span, users

AGREED = 0.995
"""Support from here on reads 100 %."""


def edges(sure: Certainty) -> str:
    """The noise of both edges of the band, to follow the band."""
    low, high = sure.of("low").noise, sure.of("high").noise
    return f"; lower edge {span(low)}, upper {span(high)}" if low and high else ""


def sureness(verdict: Verdict) -> str:
    """Between which tested levels the optimum lies, and what is known of the noise."""
    sure, curve = verdict.sure, verdict.curve
    if curve is None:
        return ""
    said = []
    point = sure.of("operating")
    if point.grid:
        said.append(f"optimum between the tested levels {point.grid[0]:g} and {point.grid[1]:g}")
    if sure.source == "none":
        said.append(f"no noise interval: {sure.reason}")
    elif sure.source == "within_run":
        said.append("one run, within-run noise only")
    else:
        repeats = sorted({each.repeats for each in curve.points})
        cv = "" if curve.cv is None else f", CV {curve.cv:.1%}"
        said.append(f"{between(str(repeats[0]), str(repeats[-1]))} repeats{cv}")
    if verdict.operating.status == "found" and sure.source != "none" and point.noise is None:
        short = ", ".join(f"{each:g}" for each in sure.too_short)
        rounds = verdict.thresholds.noise_e2e
        said.append(f"too short to trust at {short} users (hold a level for {rounds:g} mean E2E or more)")
    if sure.support is not None and sure.support < AGREED and verdict.operating.status != "not_established":
        said.append(f"{sure.support:.0%} of the replicates agree")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def slo_span(end: End) -> str:
    """The interval of N_SLO, to follow it; nothing when none is known or all agree."""
    if end.low is None or end.high is None or end.low == end.high:
        return ""
    if math.isinf(end.low):
        return ""
    upper = "every level" if math.isinf(end.high) else users(end.high)
    lower = "none" if end.low <= 0 else users(end.low)
    return f" ({lower} to {upper})" if end.low <= 0 or math.isinf(end.high) else f" ({between(lower, upper)})"


def firsts(verdict: Verdict) -> str:
    """The points that other weights would choose, and a price."""
    if verdict.operating.status != "found":
        return ""
    named = (("latency", verdict.latency_first), ("throughput", verdict.throughput_first))
    said = [f"{name} first: {users(point)} users" for name, point in named if point is not None]
    if (cost := verdict.cost_first) is not None:
        said.append(
            f"cost first: {users(cost.users)} users ({cells.number(cost.per_million)} per million output tokens)"
        )
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def repeated_at_the_end(verdict: Verdict) -> str:
    """The book-end, of a run that has one."""
    end = verdict.book_end
    if end is None:
        return ""
    text = f"{users(end.users)} users once more at the end: throughput {end.change:+.1%}"
    if end.noise is None:
        return f"{text}; whether that is noise is not known."
    if end.drifted:
        return f"{text}, more than noise explains (±{end.noise:.1%}): the server drifted."
    return f"{text}, within noise (±{end.noise:.1%})."
