"""When a hold of `auto` is long enough: its numbers stand still.

Knows: counts, tokens by second. Must not know: clocks, the ladder.
"""

import math
import statistics
from collections.abc import Sequence

from loadband.load.step import Step

AUTO_HOLD_AT_LEAST_S = 30.0
AUTO_HOLD_ROUNDS = 3
AUTO_HOLD_SUCCESSES = 30
AUTO_HOLD_ERROR = 0.02
FAILURES_THAT_TELL = 10
"""So many failures and no success: waiting longer shows nothing new."""

BATCHES = 10
"""Batch means for the standard error of tokens/s."""

OPEN_HOLD_ENDED = 200
"""An open loop's rate is given, its latency is measured: with `auto` so many requests end, enough for a p95."""


def stands_still(step: Step, ok: int, ended: int, tokens_by_second: Sequence[float]) -> bool:
    """Whether a step needs no longer hold: successes and ends inside it, tokens of its whole seconds."""
    if ok == 0 and ended >= max(step.target, FAILURES_THAT_TELL):
        return True
    if step.rate is not None:
        return ended >= OPEN_HOLD_ENDED
    error = relative_error(tokens_by_second)
    enough = ok >= max(AUTO_HOLD_SUCCESSES, AUTO_HOLD_ROUNDS * step.target)
    return enough and error is not None and error <= AUTO_HOLD_ERROR


def relative_error(values: Sequence[float]) -> float | None:
    """Standard error of the mean over the mean, by ten batch means; None with fewer than two values a batch."""
    size = len(values) // BATCHES
    if size < 2:
        return None
    means = [statistics.fmean(values[index * size : (index + 1) * size]) for index in range(BATCHES)]
    mean = statistics.fmean(means)
    return statistics.stdev(means) / math.sqrt(BATCHES) / mean if mean > 0 else None
