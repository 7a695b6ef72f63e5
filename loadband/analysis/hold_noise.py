"""Noise of one hold from itself: its time is cut into blocks, and blocks are drawn again.

Model. The hold is a stationary stretch of a longer one; blocks of max(2 R, 3 correlation times) are as good as
independent, so a hold made of blocks drawn with replacement is one that could as well have been measured. Tokens,
response times and SLO quantities are drawn together, so what goes with what is kept. With m blocks the spread of such
means is too small by sqrt((m - 1) / m) and its tails are those of a normal law; both are put right by a factor, so
that 5-95 % of the replicates is the t interval of m blocks. Where a hold has no `noise_blocks` such blocks it is cut
into batches of one R, and the factor is that of n_eff = m (1 - rho) / (1 + rho) batches, rho their lag-1
autocorrelation.

Assumptions and failure modes. What does not vary within the hold is not seen: a server that is slower an hour later,
the luck of one start. So this noise is *within-run only* and mostly too small. A hold below 6 R has hardly one
independent block more than it has unknowns: it is not to be trusted, and the verdict says so. ITL percentiles come
from histograms without blocks; their noise is taken to be that of the requests' own percentiles.
References: H. R. Kuensch, Ann. Statist. 17 (1989) 1217 (block bootstrap); A. M. Law, Simulation Modeling and Analysis,
ch. 9.5 (batch means); n_eff: see `series`.
"""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from loadband.analysis import windows
from loadband.analysis.bounds import Z95
from loadband.analysis.level import LOG_BOUND, HoldNoise
from loadband.analysis.measure import HoldData, own_column
from loadband.analysis.monotone import Floats
from loadband.analysis.thresholds import Thresholds
from loadband.slo import LATENCIES, Limit

Places = NDArray[np.intp]

SEED = 20_261_101
FEWEST_SECONDS = 4
MOST_RANKS = 512
"""Values are counted by so many ranks: a percentile is off by no more than one of them."""


def hold_noise(
    data: HoldData, e2e_s: float | None, slo: tuple[Limit, ...], limits: Thresholds, step: int
) -> HoldNoise | None:
    """Replicates of a hold; None when it is too short to be cut, or nothing ended in it. The same for the same step."""
    blocks = blocks_of(data, e2e_s, limits, step)
    if blocks is None or not e2e_s:
        return None
    ok = data.ok
    x = blocks.ratio(blocks.sums(blocks.of_second, _tokens(data)), blocks.length)
    served = blocks.ratio(blocks.counts(blocks.places(ok)), blocks.length)
    timed = ok[ok["e2e_s"].notna()]
    return HoldNoise(
        x={"output_tok_s": x, "total_tok_s": x, "req_s": served},
        e2e=blocks.mean(windows.numbers(timed, "e2e_s"), blocks.places(timed)),
        values=tuple(x if limit.metric == "output_tok_s" else _value(limit, data, blocks) for limit in slo),
        rounds=data.hold.length / e2e_s,
    )


def blocks_of(data: HoldData, e2e_s: float | None, limits: Thresholds, step: int) -> "Blocks | None":
    """The hold in blocks; None when it is too short to be cut, or nothing ended in it."""
    tokens = _tokens(data)
    if tokens.size < FEWEST_SECONDS or not e2e_s:
        return None
    return Blocks(tokens, math.ceil(data.hold.begin), cut(tokens, e2e_s, limits), limits.replicate_count, step)


def _tokens(data: HoldData) -> Floats:
    return windows.series(data.seconds, data.hold, "output_tokens_ok", "output_tokens_cut")


def _value(limit: Limit, data: HoldData, blocks: "Blocks") -> Floats:
    """The quantity of a limit, as `measure_limit` has it."""
    ok, failed = data.ok, data.server_failed
    if limit.scenario:
        ok, failed = ok[ok["scenario"] == limit.scenario], failed[failed["scenario"] == limit.scenario]
    misses = blocks.places(failed)
    if limit.metric not in LATENCIES:
        lost = blocks.counts(misses)
        return blocks.ratio(lost, lost + blocks.counts(blocks.places(ok)))
    column = own_column(limit)
    has = ok[ok[column].notna()]
    values, at = windows.numbers(has, column), blocks.places(has)
    if limit.percentile is None or limit.metric == "itl":
        return blocks.mean(values, at)
    with_misses = np.concatenate([values, np.full(misses.size, np.inf)])
    return blocks.percentile(with_misses, np.concatenate([at, misses]), limit.percentile)


def cut(series: Floats, e2e_s: float, limits: Thresholds) -> tuple[int, float]:
    """How many blocks, and the factor that makes their spread a t interval. `series`: one value a second."""
    seconds = series.size
    rho = _lag1(series)
    correlation_s = -1 / math.log(rho) if rho > 0 else 0.0
    blocks = int(seconds / max(2 * e2e_s, 3 * correlation_s, 1.0))
    if blocks >= limits.noise_blocks:
        return blocks, _widen(blocks, blocks)
    batches = max(2, int(seconds / max(e2e_s, 1.0)))
    rho = _lag1(np.array([each.mean() for each in np.array_split(series, batches)]))
    return batches, _widen(batches, max(batches * (1 - rho) / (1 + rho), 2.0))


def _widen(blocks: int, effective: float) -> float:
    quantile = float(stdtrit(effective - 1, 0.95)) / Z95
    return quantile * math.sqrt(blocks / (blocks - 1) * blocks / effective)


def _lag1(values: Floats) -> float:
    """Lag-1 autocorrelation, kept from 0 to 0.99."""
    centred = values - values.mean()
    total = float(centred @ centred)
    return min(max(float(centred[:-1] @ centred[1:]) / total, 0.0), 0.99) if total > 0 else 0.0


class Blocks:
    """A hold in blocks, and statistics of holds made of blocks that were drawn again."""

    def __init__(self, tokens: Floats, begin: int, cut_in: tuple[int, float], replicates: int, step: int) -> None:
        self.count, self._widen = cut_in
        self._begin, self._last = begin, tokens.size - 1
        self.of_second: Places = np.arange(tokens.size) * self.count // tokens.size
        self.length = self.counts(self.of_second)
        draw = np.random.default_rng([SEED, step])
        drawn = draw.multinomial(self.count, np.full(self.count, 1 / self.count), size=replicates)
        self._draws: Floats = drawn.astype(np.float64)
        """How often each block (column) came in a replicate (row)."""

    def places(self, ended: pd.DataFrame) -> Places:
        """The block of each request, by its end."""
        second = np.clip(ended["ended_at"].to_numpy(dtype=np.float64) - self._begin, 0, self._last)
        places: Places = self.of_second[second.astype(np.intp)]
        return places

    def counts(self, at: Places) -> Floats:
        """How many in each block."""
        return np.bincount(at, minlength=self.count).astype(np.float64)

    def sums(self, at: Places, values: Floats) -> Floats:
        """The sum of the values in each block."""
        return np.bincount(at, values, self.count).astype(np.float64)

    def ratio(self, above: Floats, below: Floats) -> Floats:
        """Logarithm of sum above / sum below, replicate minus measured; 0 where a replicate has nothing below."""
        parts = self._draws @ below
        logs = _log(np.divide(self._draws @ above, parts, out=np.zeros_like(parts), where=parts > 0))
        return self._apart(np.where(parts > 0, logs, np.nan), _log(above.sum() / max(below.sum(), 1e-300)))

    def mean(self, values: Floats, at: Places) -> Floats:
        """The same of a mean of values, each in its block."""
        return self.ratio(self.sums(at, values), self.counts(at))

    def percentile(self, values: Floats, at: Places, percent: float) -> Floats:
        """The same of a nearest-rank percentile."""
        if not values.size:
            return np.zeros(self._draws.shape[0])
        order = np.argsort(values, kind="stable")
        ranks = np.arange(values.size) * min(values.size, MOST_RANKS) // values.size
        highest = values[order][np.append(np.flatnonzero(np.diff(ranks)), values.size - 1)]
        counts = np.zeros((self.count, highest.size))
        np.add.at(counts, (at[order], ranks), 1.0)

        def found(weights: Floats) -> Floats:
            total = np.cumsum(weights @ counts, axis=-1)
            wanted = np.ceil(total[..., -1:] * percent / 100 - 1e-9)
            ranked: Floats = highest[np.argmax(total >= np.maximum(wanted, 1), axis=-1)]
            return ranked

        return self._apart(_log(found(self._draws)), _log(found(np.ones((1, self.count)))))

    def _apart(self, logs: Floats, measured: Floats) -> Floats:
        apart: Floats = np.nan_to_num((logs - measured) * self._widen, nan=0.0)
        return apart


def _log(values: Floats) -> Floats:
    """Logarithms that stay finite."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.clip(np.log(values), -LOG_BOUND, LOG_BOUND)
    return logs
