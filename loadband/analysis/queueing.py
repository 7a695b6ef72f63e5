"""An open loop's level: did the client send what was planned, and did the server keep up with it?

Knows: planned moments, ends, the backlog between them; D5 `queue`. Must not know: throughput, other failures.

Planned moment of a request = start - schedule lag. Backlog at a moment = requests planned before it - requests ended
before it, in whatever way. A queue grows in a hold when 1 - completions / arrivals > 3 / sqrt(arrivals), and the
backlog at its end exceeds that at its begin by more than 3 sqrt(arrivals): three standard deviations of a Poisson
count. Chance does that to one level in hundreds, bursts more often, so it takes two levels in a row, or one held twice
as long as the others, or two of three repeats. Bursts raise the backlog of a healthy server; their sum does not grow.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.windows import Hold

DEVIATIONS = 3.0
SLACK = 2.0
"""Arrivals that may lie on the other side of a hold's edge."""

DOUBLED = 2.0
"""A hold so many times as long as the others confirms by itself."""

WAITED = re.compile(r"(?:^|;)waited(?:;|$)")
"""In `flags`: an arrival found no place free in its process."""


@dataclass(frozen=True, slots=True)
class Queue:
    """What came and what was done in one hold."""

    arrivals: int
    """Planned inside the hold."""
    completions: int
    """Ended inside the hold, in whatever way."""
    backlog_from: int
    """Planned and not ended, at the begin of the hold."""
    backlog_to: int

    @property
    def grows(self) -> bool:
        """Whether both signs are there."""
        if not self.arrivals:
            return False
        root = math.sqrt(self.arrivals)
        unserved = 1 - self.completions / self.arrivals
        return unserved > DEVIATIONS / root and self.backlog_to - self.backlog_from > DEVIATIONS * root

    @property
    def sentence(self) -> str:
        """What was seen."""
        return (
            f"{self.completions:,} of {self.arrivals:,} arrivals were completed, "
            f"the backlog grew from {self.backlog_from:,} to {self.backlog_to:,}"
        )


def planned_at(requests: pd.DataFrame) -> windows.Floats:
    """When the schedule wanted each request; its start where there was no schedule."""
    planned: windows.Floats = (requests["started_at"] - requests["schedule_lag_s"].fillna(0.0)).to_numpy(np.float64)
    return planned


def queue_of(requests: pd.DataFrame, hold: Hold) -> Queue:
    """The queue of one hold, from all requests of `windows.with_end`."""
    planned, ended = planned_at(requests), windows.numbers(requests, "ended_at")
    before = int((planned < hold.begin).sum()) - int((ended < hold.begin).sum())
    arrivals = int(((planned >= hold.begin) & (planned < hold.end)).sum())
    completions = int(((ended >= hold.begin) & (ended < hold.end)).sum())
    return Queue(arrivals, completions, before, before + arrivals - completions)


def gap_cv(run: Mapping[str, Any]) -> float | None:
    """Coefficient of variation of the gaps that a run asked for (`plan.arrival`); None of a trace or of none told."""
    arrival = str((run.get("plan") or {}).get("arrival"))
    if match := re.fullmatch(r"gamma\(\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*\)", arrival.strip()):
        return float(match[1])
    return {"poisson": 1.0, "constant": 0.0}.get(arrival.strip())


def unsent(requests: pd.DataFrame, hold: Hold, rate: float, cv: float | None) -> str | None:
    """Why the schedule of a hold was not sent as planned; None when it was.

    `cv`: of the gaps; a count of n arrivals scatters by cv * sqrt(n). Without it only waiting tells.
    """
    planned = planned_at(requests)
    inside = requests[(planned >= hold.begin) & (planned < hold.end) & ~(requests["attempts"] > 1)]
    waited = int(windows.flagged(inside, WAITED).sum())
    if waited:
        return f"{waited:,} arrivals waited for a place in their process: use more workers or lower rates"
    wanted = rate * hold.length
    if cv is not None and len(inside) < wanted - 5 * cv * math.sqrt(wanted) - SLACK:
        return f"only {len(inside):,} of about {wanted:,.0f} planned arrivals were sent"
    return None


def confirmed(place: int, grows: Sequence[Sequence[bool]], holds: Sequence[float]) -> bool:
    """Whether the growth at level number `place` is beyond chance.

    `grows`: of each level, lowest first, whether the queue grew in each of its repeats; `holds`: seconds of each level.
    """
    here = grows[place]
    if len(here) >= 3 and 3 * sum(here) >= 2 * len(here):
        return True
    if place + 1 < len(grows) and any(grows[place + 1]):
        return True
    others = [hold for index, hold in enumerate(holds) if index != place]
    return bool(others) and holds[place] >= DOUBLED * float(np.median(others))
