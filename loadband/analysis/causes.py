"""Why requests failed, over the whole run: warm-up, settling and drain among them.

Knows: failure classes, the server's own sentences, the level at which each class came first. Must not know: holds.
"""

from dataclasses import dataclass

import numpy as np

from loadband.analysis.run_files import RunFiles
from loadband.analysis.windows import with_end
from loadband.record import Status


@dataclass(frozen=True, slots=True)
class Cause:
    """One failure class."""

    failure_class: str
    count: int
    first_level: float | None
    """Users of the level at which the first such request ended, which is the one it counts for; None before any."""
    sentence: str
    """The first that the server said, or the client of it; empty when there was none."""


def causes_of(files: RunFiles) -> tuple[Cause, ...]:
    """All classes that occurred, the most frequent first."""
    failed = files.requests[files.requests["status"] == Status.FAILED]
    failed = with_end(failed.assign(step=failed["step_end"].fillna(failed["step"])))
    steps = files.steps
    targets = dict(zip(steps["step"], steps["target"].fillna(steps["offered_req_s"]), strict=True))
    causes = []
    for name, rows in failed.groupby(failed["failure_class"].replace("", "unknown")):
        target = targets.get(rows["step"].iloc[0], np.nan)
        told = next((str(message) for message in rows["message"] if message), "")
        causes.append(Cause(str(name), len(rows), None if np.isnan(target) else float(target), told))
    return tuple(sorted(causes, key=lambda cause: (-cause.count, cause.failure_class)))
