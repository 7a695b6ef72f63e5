"""Does a level stand still? Drift and waves of a series within one hold.

*Drift.* Least-squares line through the series; its change over the hold relative to the mean. Neighbouring values
of a loaded server are alike, so the line's uncertainty is that of n_eff = n (1 - rho) / (1 + rho) values, rho being
the lag-1 autocorrelation of the residuals. Assumes a straight trend: a hump that ends where it began is not seen.
Reference: G. V. Bayley, J. M. Hammersley, JRSS Suppl. 8 (1946) 184.

*Waves.* Users with equal answers march in step: starts bunch, each burst queues behind itself, and TTFT becomes that
of the march, not of the load. Starts are counted in bins of an eighth of the mean E2E; the Fano factor (variance over
mean) is 1 of Poisson starts, about the number of users of a march; the autocorrelation one E2E later shows a bunch
that returns. A handful of users is always periodic and never queues behind itself, so fewer than four have no waves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

BINS_PER_E2E = 8
FEWEST_POINTS = 8
"""Below this many points a trend is not told from noise."""
FEWEST_USERS = 4
MOST_BINS = 1_000_000
"""More than a day of the shortest requests: not worth the memory."""


def autocorrelation(values: Floats, lag: int) -> float | None:
    """Correlation of a series with itself `lag` places later; None when too short or without variation."""
    if lag < 1 or values.size < lag + FEWEST_POINTS:
        return None
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[:-lag] @ centred[lag:]) / total if total > 0 else None


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through a series: its change from the first to the last moment, relative to the mean."""

    change: float
    half: float
    """Half the 95 % interval of the change; infinite where neighbours are too much alike to tell."""


def trend(at: Floats, values: Floats) -> Trend | None:
    """The least-squares line; `at` in any unit of time. None when too short, or around 0."""
    n = values.size
    if n < FEWEST_POINTS or np.ptp(at) <= 0 or not values.mean():
        return None
    order = np.argsort(at, kind="stable")
    x, y = at[order] - at.mean(), values[order]
    slope = float(x @ (y - y.mean())) / float(x @ x)
    residuals = y - y.mean() - slope * x
    rho = min(max(autocorrelation(residuals, 1) or 0.0, 0.0), 0.99)
    degrees = n * (1 - rho) / (1 + rho) - 2
    whole = float(np.ptp(x) / y.mean())
    if degrees < 1:
        return Trend(slope * whole, float("inf"))
    error = float(np.sqrt(float(residuals @ residuals) / degrees / float(x @ x)))
    return Trend(slope * whole, float(stdtrit(degrees, 0.975)) * error * whole)


def drift(at: Floats, values: Floats) -> float | None:
    """Significant relative change from the first to the last moment; 0.0 when not significant, None when too short.

    `at` in any unit of time; significant means |t| above the two-sided 95 % quantile with n_eff - 2 degrees.
    """
    line = trend(at, values)
    if line is None:
        return None
    return 0.0 if abs(line.change) <= line.half else line.change


def waves(starts: Floats, begin: float, end: float, e2e_s: float, users: float) -> tuple[float, float | None] | None:
    """Fano factor of the starts, and their autocorrelation one E2E later (None when too short or not told from noise).

    None when there is nothing to judge: fewer than four users, or a hold below two E2E.
    """
    width = max(e2e_s / BINS_PER_E2E, 0.02)
    bins = int((end - begin) / width)
    if users < FEWEST_USERS or e2e_s <= 0 or not 2 * BINS_PER_E2E <= bins <= MOST_BINS:
        return None
    starts = starts[(starts >= begin) & (starts <= end)]
    counts = np.histogram(starts, bins=bins, range=(begin, begin + bins * width))[0].astype(np.float64)
    if not counts.mean():
        return None
    again = autocorrelation(counts, max(round(e2e_s / width), 1))
    if again is not None and abs(again) < 2 / np.sqrt(bins):
        again = None
    return float(counts.var() / counts.mean()), again
