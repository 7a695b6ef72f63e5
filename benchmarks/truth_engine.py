"""The simulated engine as truth: one long virtual run of each level, cut into many short tests.

A level is run for long in virtual time. Disjoint windows of it are the short tests: the first window of every level
is one test, the second another. The whole, with every number of users between, is the truth; nothing is known to
the analysis but what stands in a window. The noise of a short test is that of its own seconds.

Knows: the virtual engine, holds. Must not know: how a verdict is found.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from benchmarks.truth_shapes import Truth
from loadband.analysis.bounds import mean
from loadband.analysis.hold_noise import hold_noise
from loadband.analysis.level import Level, Numbers
from loadband.analysis.measure import HoldData
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Hold, ended_inside, numbers, per_second, seconds_inside
from loadband.sim.profile import load
from loadband.sim.virtual import Asked, Load, VirtualRun

SETTLE_S = 30


@dataclass
class LongRun:
    """One level, all of it."""

    users: int
    requests: list[tuple[float, float]] = field(default_factory=list)
    """End, E2E."""
    tokens: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def done(self, asked: Asked) -> None:
        """An answer that is whole."""
        self.requests.append((asked.stamps[-1], asked.stamps[-1] - asked.asked_at))
        for stamp in asked.stamps:
            self.tokens[int(stamp)] += 1

    @cached_property
    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Requests and seconds as the analysis has them."""
        ended, e2e = np.array(self.requests).T
        table = {"ended_at": ended, "e2e_s": e2e, "status": "ok", "failure_class": "", "scenario": "", "flags": ""}
        seconds = sorted(self.tokens)
        counted = [float(self.tokens[second]) for second in seconds]
        rows = {"second": np.array(seconds, dtype=np.float64), "output_tokens_ok": counted, "output_tokens_cut": 0.0}
        return pd.DataFrame(table), pd.DataFrame(rows)


def long_run(profile: str, users: int, seconds: float) -> LongRun:
    """A level held for so long."""
    run = LongRun(users)
    VirtualRun(load(profile), Load(), users, run.done).closed(users, 0.0, SETTLE_S + seconds)
    return run


def level_of(run: LongRun, hold: Hold, step: int, limits: Thresholds) -> Level:
    """What a test of this hold sees."""
    requests, seconds = run.frames
    ended, inside = ended_inside(requests, hold), seconds_inside(seconds, hold)
    e2e = mean(numbers(ended, "e2e_s"))
    measured = Numbers(
        step=step, users=run.users, hold_s=hold.length, requests=len(ended), ok=len(ended), failed=0.0, error_rate=0.0,
        output_tok_s=per_second(inside, hold, "output_tokens_ok", "output_tokens_cut"), e2e_mean_s=e2e,
    )  # fmt: skip
    noise = hold_noise(HoldData(hold, ended, inside, {}), e2e, (), limits, step)
    return Level(measured, server_failed=0.0, noise=noise)


def whole_of(run: LongRun, seconds: float) -> Level:
    """The long run as one level."""
    return level_of(run, Hold(float(SETTLE_S), SETTLE_S + seconds), run.users, Thresholds(replicates=20))


def truth_between(levels: list[Level]) -> Truth:
    """The largest P of all numbers of users that were run for long, and where it is 90 %."""
    users = np.array([level.users for level in levels])
    power = np.array([(level.numbers.output_tok_s or 0) ** 2 / (level.numbers.e2e_mean_s or 1) for level in levels])
    fine = np.geomspace(users[0], users[-1], 5000)
    smooth = np.exp(np.interp(np.log(fine), np.log(users), np.log(power)))
    best = int(np.argmax(smooth))
    inside = fine[smooth >= 0.9 * smooth[best]]
    return Truth(float(fine[best]), float(inside[0]), float(inside[-1]))
