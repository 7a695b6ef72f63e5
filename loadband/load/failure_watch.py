"""Does the server fail? The verdict's rule on errors, level by level, while the run still goes on (`--until-failure`).

Knows: how many requests ended well and badly in each hold of one pass. Must not know: the ladder, Locust, files, the
analysis, which judges the finished run by the same numbers and by more than a running master knows (a collapse of the
throughput, a tail at a time-out).

A level *exceeds* when the one-sided 95 % lower bound of its failure rate lies above 1 %; two such levels in a row
confirm a failure, for errors of an overload come in clumps. Above 5 % one level is enough. The bound is Wilson's (JASA
22 (1927) 209), so that one failure of ten requests proves as little as it does.
"""

import math
from dataclasses import dataclass

ERROR_LIMIT = 0.01
ERROR_CERTAIN = 0.05
Z95 = 1.6448536269514722
"""One-sided 95 % quantile of the normal distribution."""


def lowest_rate(failed: int, ended: int) -> float:
    """One-sided 95 % lower bound of a failure rate; 0 when nothing ended."""
    if not failed:
        return 0.0
    share, z2 = failed / ended, Z95 * Z95
    half = Z95 * math.sqrt(share * (1 - share) / ended + z2 / (4 * ended * ended))
    return (share + z2 / (2 * ended) - half) / (1 + z2 / ended)


@dataclass(slots=True)
class FailureWatch:
    """One pass over the levels, lowest first."""

    exceeded: bool = False
    """The level before exceeded the limit."""

    def confirms(self, ok: int, failed: int) -> bool:
        """Whether a failure is sure, now that a hold with so many ends is over. Called once for each level held."""
        low = lowest_rate(failed, ok + failed)
        before, self.exceeded = self.exceeded, low > ERROR_LIMIT
        return low > ERROR_CERTAIN or (before and self.exceeded)
