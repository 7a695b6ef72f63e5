"""Other people's knees, for comparison; they never decide.

`n_star`: where the two asymptotes of a closed loop meet, peak throughput over throughput per user at the lowest
levels (P. J. Denning, J. P. Buzen, ACM Computing Surveys 10 (1978) 225). `kneedle`: the level farthest above the
straight line from the first to the last (V. Satopaa et al., ICDCS Workshops 2011), on linear axes. `peak`: the
admissible level with the highest measured throughput.
"""

from dataclasses import dataclass

import numpy as np

from loadband.analysis.curve import Curve
from loadband.analysis.reach import admissible
from loadband.analysis.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class CrossChecks:
    """Users; None where a method has nothing to say."""

    n_star: float | None = None
    kneedle: float | None = None
    peak: float | None = None


def cross_checks(curve: Curve | None, limits: Thresholds) -> CrossChecks:
    """All methods over the same curve."""
    if curve is None:
        return CrossChecks()
    sound = [point for point in curve.points if admissible(point, limits)]
    peak = max(sound, key=lambda point: point.x).users if sound else None
    n_star = float(curve.x.max() / (curve.x[:3] / curve.users[:3]).max())
    return CrossChecks(n_star, _kneedle(curve), peak)


def _kneedle(curve: Curve) -> float | None:
    spread_n, spread_x = float(np.ptp(curve.users)), float(np.ptp(curve.x))
    if curve.users.size < 3 or not spread_x:
        return None
    above = (curve.x - curve.x[0]) / (curve.x.max() - curve.x.min()) - (curve.users - curve.users[0]) / spread_n
    place = int(np.argmax(above))
    return float(curve.users[place]) if 0 < place < curve.users.size - 1 else None
