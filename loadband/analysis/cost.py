"""What a million output tokens cost at each level, and which level is cheapest.

Knows: a price per accelerator-hour. Must not know: currencies, where the price comes from.

    cost = price per hour x accelerators / (output tokens/s x 3600) x 1,000,000

The price of an hour does not depend on the load, so the cheapest level is that of the most tokens/s among those that
the SLO, errors and the failure point admit. On a plateau many are as good: the fewest users within `small_gain` of it.
"""

from dataclasses import dataclass

from loadband.analysis.curve import Curve
from loadband.analysis.reach import Bounds, Reach
from loadband.analysis.thresholds import Thresholds

PER_TOKENS = 1_000_000
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Price:
    """What the hardware costs."""

    per_hour: float
    """Of one accelerator, in any currency."""
    accelerators: float = 1.0

    def per_million(self, output_tok_s: float | None) -> float | None:
        """Cost of a million output tokens; None without a throughput."""
        if not output_tok_s:
            return None
        return self.per_hour * self.accelerators / (output_tok_s * HOUR_S) * PER_TOKENS


@dataclass(frozen=True, slots=True)
class CostFirst:
    """The cheapest level."""

    users: float
    per_million: float


def cheapest(curve: Curve, bounds: Bounds, price: Price, limits: Thresholds) -> CostFirst | None:
    """The fewest users whose tokens cost at most `small_gain` more than the least; None where nothing is admissible."""
    if curve.metric != "output_tok_s" or curve.users.size < limits.direction_levels:
        return None
    if bounds.slo is not None and bounds.slo < curve.users[0]:
        return None
    nodes = [node for stretch in Reach(curve, bounds, limits).stretches for node in stretch]
    costs = {node: price.per_million(curve.x_at(node)) or 0.0 for node in nodes}
    if not costs:
        return None
    least = min(costs.values())
    users = min(node for node, cost in costs.items() if cost <= least * (1 + limits.small_gain))
    return CostFirst(users, costs[users])
