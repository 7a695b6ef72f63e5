"""Every number the verdict rests on, in one place. They are defaults: printed in each report, and options.

Knows: names and values. Must not know: how they are used.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from loadband.errors import UsageError


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares are between 0 and 1, times in seconds."""

    weight: float = 2.0
    """Power of throughput in P = X^weight / R: 2 stops adding when 10 % more in flight bring < 3.3 % more tokens."""
    band_power: float = 0.90
    """The best band is where P is at least this share of its maximum."""
    tight_power: float = 0.97
    """The tight band, said only of repeats: 3 % of P is 1 % of X."""
    linear_efficiency: float = 0.80
    """Tokens per user against the best of the lowest levels: linear while at least this."""
    saturation_gain: float = 0.15
    """Local exponent of tokens/s over users: saturated once at most this (doubling buys less than 11 %)."""
    small_gain: float = 0.02
    """A gain over the level below that is less is named by its number ("+1.1 % only")."""
    saturation_reach: float = 1.25
    """Saturation is said only when levels reach this many times further, or a decline is seen."""
    saturation_decline: float = 0.03
    """A fall of throughput by more than this is past the peak."""
    error_limit: float = 0.01
    """Failure rate above which a level is neither admissible nor healthy."""
    error_certain: float = 0.05
    """Failure rate above which one level alone is a failure point."""
    collapse_share: float = 0.80
    timeout_share: float = 0.95
    """A latency at this share of the client's own limit counts as timed out."""
    slo_band_low: float = 0.80
    """Lower edge of the band as a share of its upper edge when an SLO sets the operating point."""
    little_low: float = 0.7
    little_low_mark: float = 0.9
    little_high_mark: float = 1.1
    little_high: float = 1.2
    tokens_disagree: float = 0.10
    table_tokens_disagree: float = 0.25
    """The same for tables, where the mean tokens per request must be guessed from the other levels."""
    cold_ttft_factor: float = 2.0
    short_hold_s: float = 30.0
    short_hold_e2e: float = 5.0
    few_rounds: float = 3.0
    drift: float = 0.10
    wave_fano: float = 2.0
    wave_autocorrelation: float = 0.3
    p95_requests: float = 200.0
    p99_requests: float = 1000.0
    mix_points: float = 0.05
    output_ratio: float = 0.9
    """Mean answer length as a share of that asked for, below which the work was less than meant."""
    lag_client_limited_s: float = 0.100
    cpu_client_limited: float = 0.95
    lag_ttft_s: float = 0.005
    lag_ttft_share: float = 0.05
    lag_itl_s: float = 0.002
    lag_itl_share: float = 0.20
    direction_levels: float = 3.0
    """Valid levels needed to say in which direction the optimum lies."""
    interior_levels: float = 5.0
    """Valid levels needed to say that it lies between tested levels."""
    grid_gain: float = 1.6
    """An untested level that could be this many times better leaves the optimum unresolved; factor-2 grids pass."""
    repeats_cv: float = 0.10
    """Repeats that differ by more say nothing together."""
    replicates: float = 200.0
    """Times the whole pipeline is run on numbers with noise; from 20 to 10,000."""
    support: float = 0.80
    """Share of the replicates that must give the same kind of answer, else it is not established."""
    noise_floor: float = 0.01
    """Repeats never agree by more than this, though a few may by chance."""
    noise_blocks: float = 10.0
    """Pieces that a hold is cut into at least, else batch means are used."""
    noise_e2e: float = 6.0
    """Mean E2E that a hold must last for its noise to be trusted."""
    baseline_x_cv: float = 0.03
    """Holds of a baseline whose tokens/s vary by more are of a place that is not fit to measure in."""
    baseline_ttft_cv: float = 0.15
    """The same of TTFT p95."""
    soak_s: float = 1800.0
    """A hold from here on tells by how much the server drifts in an hour."""

    @property
    def replicate_count(self) -> int:
        """Replicates, within what is sensible and can be held."""
        return int(min(max(self.replicates, 20), 10_000))

    def as_dict(self) -> dict[str, float]:
        """Names and values, in order."""
        return asdict(self)


LEVELS, REQUESTS = "a whole number of levels", "a whole number of requests"
RANGES: dict[str, tuple[float, float, str]] = {
    "weight": (0.1, 10, "a power"),
    **dict.fromkeys(
        ("band_power", "tight_power", "support", "linear_efficiency", "slo_band_low", "timeout_share"),
        (0.01, 1, "a share"),
    ),
    **dict.fromkeys(("saturation_gain", "collapse_share"), (0.01, 0.99, "a share")),
    **dict.fromkeys(("small_gain", "saturation_decline", "error_limit", "error_certain"), (0, 0.99, "a share")),
    **dict.fromkeys(("little_low", "little_low_mark"), (0, 1, "a ratio")),
    **dict.fromkeys(("little_high_mark", "little_high"), (1, 100, "a ratio")),
    **dict.fromkeys(
        ("tokens_disagree", "table_tokens_disagree", "drift", "repeats_cv", "baseline_x_cv", "baseline_ttft_cv"),
        (0, 10, "a relative change"),
    ),
    **dict.fromkeys(("mix_points", "output_ratio", "wave_autocorrelation"), (0, 1, "a share")),
    **dict.fromkeys(("cpu_client_limited", "lag_ttft_share", "lag_itl_share"), (0, 10, "a share")),
    **dict.fromkeys(("saturation_reach", "cold_ttft_factor", "wave_fano", "grid_gain"), (1, 1e6, "a factor")),
    **dict.fromkeys(
        ("short_hold_s", "soak_s", "lag_client_limited_s", "lag_ttft_s", "lag_itl_s"), (0, 86400, "seconds")
    ),
    **dict.fromkeys(("short_hold_e2e", "few_rounds"), (0, 1e6, "a number of rounds")),
    **dict.fromkeys(("p95_requests", "p99_requests"), (1, 1e9, REQUESTS)),
    "noise_floor": (0, 1, "a share"),
    "noise_e2e": (0, 1e6, "a number of rounds"),
    "noise_blocks": (2, 1e6, "a number of blocks"),
    "replicates": (20, 10_000, "a number of replicates"),
    "direction_levels": (2, 1000, LEVELS),
    "interior_levels": (3, 1000, LEVELS),
}
"""Least and largest value of each threshold, both allowed, and what it is."""

ORDERED = (
    ("error_limit", "error_certain"), ("little_low", "little_low_mark"), ("little_high_mark", "little_high"),
    ("direction_levels", "interior_levels"),
)  # fmt: skip
"""The first of each pair may not exceed the second."""


def parse_thresholds(assignments: Iterable[str]) -> Thresholds:
    """Thresholds with `name=value` replaced. Raises UsageError of an unknown name or a value out of range."""
    known = {field.name for field in fields(Thresholds)}
    changed: dict[str, float] = {}
    for assignment in assignments:
        name, _, text = assignment.partition("=")
        if name not in known:
            raise UsageError(f"there is no threshold '{name}': choose one of {', '.join(sorted(known))}")
        changed[name] = _value(name, text, assignment)
    limits = Thresholds(**changed)
    for lower, upper in ORDERED:
        if getattr(limits, lower) > getattr(limits, upper):
            low, high = getattr(limits, lower), getattr(limits, upper)
            raise UsageError(f"threshold {lower} of {low:g} is above {upper} of {high:g}: set both")
    return limits


def _value(name: str, text: str, assignment: str) -> float:
    low, high, what = RANGES[name]
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    whole = what not in (LEVELS, REQUESTS) or value.is_integer()
    if not low <= value <= high or not whole:
        wanted = f"{what} from {low:g} to {high:g}"
        raise UsageError(f"threshold '{assignment[:60]}' needs a number: {name} is {wanted}")
    return value
