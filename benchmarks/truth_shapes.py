"""Curves whose right answer is known, and noisy short tests of them, for `verdict_truth`.

Each shape is a throughput over users; R = N / X, a closed loop without pauses. What is right is found on a grid of
20,000 points with nothing of the analysis: the largest P = X^2 / R, and where P is 90 % of that on either side of it.

Knows: formulas, noise. Must not know: how a verdict is found.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.analysis.level import Evidence, Grade, HoldNoise, Level, Numbers
from loadband.analysis.queueing import queue_of
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Hold

Floats = NDArray[np.float64]
Shape = Callable[[Floats], Floats]

SHAPES: Mapping[str, Shape] = {
    "sharp": lambda n: np.minimum(n, 18.0),
    "smooth": lambda n: n / (1 + (n / 20) ** 2.5) ** (1 / 2.5),
    "broad": lambda n: n / (1 + n / 24),
    "declining": lambda n: n / (1 + 0.01 * (n - 1) + 0.0012 * n * (n - 1)),
    "two-slope": lambda n: np.where(n < 14, n, 14 * (np.maximum(n, 14.0) / 14) ** 0.12),
}
"""With an optimum inside every grid."""

STRAIGHT: Shape = np.positive
FLAT: Shape = np.ones_like

GRIDS: Mapping[str, tuple[int, ...]] = {
    "powers of 2": (1, 2, 4, 8, 16, 32, 64, 128),
    "x 1.5": (2, 3, 4, 6, 9, 14, 20, 30, 45, 68, 100),
    "+8": (4, 12, 20, 28, 36, 44, 52, 60, 68, 76),
}

REQUESTS = 1000.0
LIMITS = Thresholds()


@dataclass(frozen=True, slots=True)
class Truth:
    """What a test should find; users."""

    best: float
    low: float
    high: float


def truth_of(shape: Shape, grid: tuple[int, ...]) -> Truth:
    """On the continuum between the first and the last level."""
    n = np.geomspace(grid[0], grid[-1], 20_000)
    power = shape(n) ** 3 / n
    best = int(np.argmax(power))
    outside = power < 0.9 * power[best]
    below, above = np.flatnonzero(outside[:best]), np.flatnonzero(outside[best:])
    low = n[below[-1] + 1] if below.size else n[0]
    high = n[best + above[0] - 1] if above.size else n[-1]
    return Truth(float(n[best]), float(low), float(high))


def climbs(
    shape: Shape, grid: tuple[int, ...], cv: float, repeats: int, draw: np.random.Generator, *, error_rate: float = 0.0
) -> list[Level]:
    """Every level, `repeats` times; throughput with log-normal noise, failures by chance."""
    x = shape(np.array(grid, dtype=np.float64)) * 50.0
    levels = []
    for repeat in range(1, repeats + 1):
        noisy = x * np.exp(cv * draw.standard_normal(x.size))
        for place, (users, value) in enumerate(zip(grid, noisy, strict=True)):
            step = (repeat - 1) * len(grid) + place + 1
            levels.append(_level(step, repeat, users, float(value), float(draw.binomial(int(REQUESTS), error_rate))))
    return levels


def one_climb(shape: Shape, grid: tuple[int, ...], cv: float, draw: np.random.Generator) -> list[Level]:
    """Every level once, each with a noise that its seconds would have told rightly."""
    noises = [cv * draw.standard_normal(LIMITS.replicate_count) for _ in grid]
    return [
        replace(level, noise=HoldNoise({"output_tok_s": noise}, -noise, (), 60.0))
        for level, noise in zip(climbs(shape, grid, cv, 1, draw), noises, strict=True)
    ]


def open_climb(
    draw: np.random.Generator, rates: tuple[float, ...] = (1, 2, 4, 8, 16), hold_s: float = 60.0
) -> list[Level]:
    """Poisson arrivals at a server that is never full: every answer takes its own time, 2 s in the mean."""
    levels = []
    for step, rate in enumerate(rates, 1):
        began = draw.uniform(-30, hold_s, draw.poisson(rate * (hold_s + 30)))
        ended = began + draw.lognormal(math.log(2) - 0.125, 0.5, began.size)
        requests = pd.DataFrame({"started_at": began, "schedule_lag_s": 0.0, "ended_at": ended})
        queue = queue_of(requests, Hold(0.0, hold_s))
        numbers = Numbers(
            step=step, offered_req_s=rate, hold_s=hold_s, requests=queue.completions, ok=queue.completions, failed=0.0,
            error_rate=0.0, output_tok_s=queue.completions / hold_s * 100, e2e_mean_s=float((ended - began).mean()),
        )  # fmt: skip
        levels.append(Level(numbers, server_failed=0.0, queue=queue))
    return levels


def _level(step: int, repeat: int, users: float, x: float, failed: float) -> Level:
    numbers = Numbers(
        step=step, repeat=repeat, users=users, hold_s=60.0, requests=REQUESTS, ok=REQUESTS - failed, failed=failed,
        error_rate=failed / REQUESTS, output_tok_s=x, e2e_mean_s=users / x, in_flight=users,
    )  # fmt: skip
    return Level(numbers, server_failed=failed)


def cold(levels: list[Level]) -> list[Level]:
    """The first level pays for compiling: 30 % slower, and the analysis of a run has found it out."""
    first = min(level.users for level in levels)
    grade = Grade().refuse("cold first level: slow TTFT")
    return [
        _scaled(level, 0.7).regraded(grade) if level.users == first and level.numbers.repeat == 1 else level
        for level in levels
    ]


def drifting(levels: list[Level]) -> list[Level]:
    """The server loses 3 % with each climb."""
    return [_scaled(level, 0.97 ** (level.numbers.repeat - 1)) for level in levels]


def in_waves(levels: list[Level]) -> list[Level]:
    """Marked at every level above the third."""
    third = sorted({level.users for level in levels})[2]
    mark = Grade().mark("in_waves", "users march in waves")
    return [level.regraded(mark) if level.users > third else level for level in levels]


def client_limited(levels: list[Level]) -> list[Level]:
    """Above 48 users the load generator is late, and throughput falls."""
    grade = Grade().refuse("the client was the limit", client_limited=True)
    return [_scaled(level, 0.6).regraded(grade) if level.users > 48 else level for level in levels]


def _scaled(level: Level, factor: float) -> Level:
    x, e2e = level.numbers.output_tok_s or 0.0, level.numbers.e2e_mean_s or 0.0
    return level.renumbered(output_tok_s=x * factor, e2e_mean_s=e2e / factor)


def failing(levels: list[Level], mode: str, at: float, draw: np.random.Generator) -> list[Level]:
    """The server breaks from `at` users on."""
    broken = []
    for level in levels:
        if level.users < at:
            broken.append(level)
        elif mode == "errors":
            failed = float(draw.binomial(int(REQUESTS), 0.08))
            changed = level.renumbered(failed=failed, ok=REQUESTS - failed, error_rate=failed / REQUESTS)
            broken.append(Level(changed.numbers, server_failed=failed))
        elif mode == "collapse":
            broken.append(_scaled(level, 0.55))
        else:
            told = "the server said out of memory" if mode == "memory" else "no success for 40 s"
            grade = Grade().refuse(f"the target failed: {told}").witness(Evidence("outage", told))
            broken.append(level.regraded(grade))
    return broken


def near(value: float | None, truth: float, share: float = 0.2) -> bool:
    """Within 20 %."""
    return value is not None and abs(math.log(value / truth)) <= math.log(1 + share)
