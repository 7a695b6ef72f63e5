"""The numbers of one hold, and how each SLO limit stands there.

Knows: formulas of `step_table.csv`. Must not know: whether a number is to be believed.

Percentiles are exact (nearest rank, from single requests), over successes only; ITL alone comes from histograms
(error <= 1 %), since a request keeps only its own percentiles. For an SLO a failure is a miss: it counts as an
infinite latency, so that fast refusals never improve a percentile.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loadband.analysis import windows
from loadband.analysis.bounds import mean, percentile
from loadband.analysis.level import Measured, Numbers
from loadband.analysis.windows import Hold, Step
from loadband.histogram import Histogram
from loadband.record import FailureClass, Status, TokenSource
from loadband.slo import LATENCIES, Limit

TOKENS_AS_EVENTS = "tokens_counted_as_events"
"""The mark of a level whose tokens nobody counted."""

UNCOUNTED_SHARE = 0.05
"""Of the successes: of so many a number of tokens may be one of events, and the level's still be one of tokens."""

CV_BIN_S = 5
FEWEST_BINS = 3


@dataclass(frozen=True)
class HoldData:
    """What a hold contains: requests that ended in it, its seconds, its gaps. Without slots: it keeps parts."""

    hold: Hold
    ended: pd.DataFrame
    seconds: pd.DataFrame
    itl: dict[str, Histogram]
    """By scenario."""
    prompt_tokens: float | None = None
    """Of ok and cut requests whose first token came in the hold; None when the server told of none."""

    @cached_property
    def ok(self) -> pd.DataFrame:
        """Successes."""
        return self.ended[self.ended["status"] == Status.OK]

    @cached_property
    def server_failed(self) -> pd.DataFrame:
        """Failures that the server, or the way to it, answers for."""
        failed = self.ended[self.ended["status"] == Status.FAILED]
        return failed[failed["failure_class"] != FailureClass.CLIENT]

    @cached_property
    def events_for_tokens(self) -> bool:
        """Whether events stand for tokens: the server sends no `usage`, and one event may bring several tokens."""
        sources = self.ok["token_source"]
        return bool(len(sources)) and float((sources == TokenSource.EVENTS).mean()) > UNCOUNTED_SHARE

    def itl_of(self, scenario: str | None) -> Histogram:
        """Gaps of one scenario, or of all."""
        merged = Histogram()
        for name, histogram in self.itl.items():
            if scenario in (None, name):
                merged.merge(histogram)
        return merged


def measure(step: Step, data: HoldData, limits: tuple[Limit, ...]) -> Numbers:
    """All columns of one level but `gain_pct`, which needs the level below."""
    hold, ok, inside = data.hold, data.ok, data.seconds
    failed = len(data.server_failed)
    judged = len(ok) + failed
    itl = data.itl_of(None)
    output, prompt = _token_rates(data)
    in_flight = windows.numbers(windows.whole_seconds(inside), "in_flight")
    tpot = mean(windows.numbers(ok, "tpot_s"))
    asked = (ok["output_tokens"] / ok["max_tokens"].where(ok["max_tokens"] > 0)).dropna().to_numpy(dtype=np.float64)
    status = data.ended["status"]
    return Numbers(
        step=step.step,
        repeat=step.repeat,
        users=step.users,
        offered_req_s=step.offered_req_s,
        in_flight=mean(in_flight),
        hold_s=hold.length,
        requests=len(data.ended),
        ok=len(ok),
        failed=int((status == Status.FAILED).sum()),
        cut=int((status == Status.CUT).sum()),
        error_rate=failed / judged if judged else None,
        req_s=judged / hold.length,
        goodput_req_s=_good(ok, limits) / hold.length if limits else None,
        output_tok_s=output,
        prompt_tok_s=prompt,
        total_tok_s=None if output is None or prompt is None else output + prompt,
        tok_s_user=1.0 / tpot if tpot else None,
        output_tok_s_cv=_binned_cv(windows.series(inside, hold, "output_tokens_ok", "output_tokens_cut")),
        **_latency(ok, "ttft_s", 50, 90, 95, 99),
        **_latency(ok, "tpot_s", 50, 95, 99),
        itl_p50_s=itl.percentile(50),
        itl_p99_s=itl.percentile(99),
        **_latency(ok, "e2e_s", 50, 95, 99),
        output_ratio=None if data.events_for_tokens else mean(asked),
        schedule_lag_p99_s=percentile(windows.numbers(data.ended, "schedule_lag_s"), 99),
        abandoned=int((status == Status.ABANDONED).sum()) or None,
        **_from_schedule(ok),
    )


def _latency(ok: pd.DataFrame, column: str, *percents: int) -> dict[str, float | None]:
    """`ttft_mean_s ttft_p50_s ...` of one column."""
    values, name = windows.numbers(ok, column), column.removesuffix("_s")
    return {f"{name}_mean_s": mean(values)} | {f"{name}_p{each}_s": percentile(values, each) for each in percents}


def _from_schedule(ok: pd.DataFrame) -> dict[str, float | None]:
    """E2E from the planned moment; nothing without a schedule."""
    late = (ok["e2e_s"] + ok["schedule_lag_s"]).dropna().to_numpy(dtype=np.float64)
    return {
        "e2e_planned_mean_s": mean(late),
        "e2e_planned_p95_s": percentile(late, 95),
        "e2e_planned_max_s": float(late.max()) if late.size else None,
    }


def _token_rates(data: HoldData) -> tuple[float | None, float | None]:
    """Output and prompt tokens per second; None without a second on record, or when nothing but failures ended."""
    if data.seconds.empty:
        return None, None
    output = windows.per_second(data.seconds, data.hold, "output_tokens_ok", "output_tokens_cut")
    if not output and data.ok.empty:
        return None, None
    return output, None if data.prompt_tokens is None else data.prompt_tokens / data.hold.length


def _binned_cv(per_second: NDArray[np.float64]) -> float | None:
    """Coefficient of variation of tokens/s in whole bins of 5 s."""
    bins = per_second.size // CV_BIN_S
    if bins < FEWEST_BINS or not per_second.any():
        return None
    values = per_second[: bins * CV_BIN_S].reshape(bins, CV_BIN_S).mean(axis=1)
    return float(values.std(ddof=1) / values.mean()) if values.mean() > 0 else None


def own_column(limit: Limit) -> str:
    """Where a request keeps its own value of a limited latency."""
    if limit.metric != "itl":
        return f"{limit.metric}_s"
    return "itl_p50_s" if limit.percentile is not None and limit.percentile <= 50 else "itl_p99_s"


def _good(ok: pd.DataFrame, limits: tuple[Limit, ...]) -> int:
    """Successes whose own values keep every limit; a value that a request cannot have (TPOT of one token) is kept."""
    good = np.ones(len(ok), dtype=bool)
    for limit in limits:
        if limit.metric not in LATENCIES:
            continue
        own = ok[own_column(limit)].to_numpy(dtype=np.float64)
        beyond = own > limit.value if limit.operator == "<=" else own < limit.value
        if limit.scenario:
            beyond &= (ok["scenario"] == limit.scenario).to_numpy(dtype=bool)
        good &= ~beyond
    return int(good.sum())


def measure_limit(limit: Limit, data: HoldData, numbers: Numbers, *, in_waves: bool) -> Measured:
    """How one limit stands at this level."""
    ok, failed = data.ok, data.server_failed
    if limit.scenario:
        ok, failed = ok[ok["scenario"] == limit.scenario], failed[failed["scenario"] == limit.scenario]
    n = len(ok) + len(failed)
    if limit.scenario and not n:
        return Measured(limit, None, 0, absent=True)
    if limit.metric == "error_rate":
        return Measured(limit, len(failed) / n if n else None, n, len(failed))
    if limit.metric == "output_tok_s":
        return Measured(limit, None if limit.scenario else numbers.output_tok_s)
    judgeable = not (in_waves and limit.metric in ("ttft", "ttfa"))
    if limit.metric == "itl":
        return _measure_itl(limit, data.itl_of(limit.scenario), len(ok), len(failed))
    values = windows.numbers(ok, f"{limit.metric}_s")
    if limit.percentile is None:
        return Measured(limit, mean(values), values.size, judgeable=judgeable)
    with_misses = np.concatenate([values, np.full(len(failed), np.inf)])
    misses = int((with_misses > limit.value).sum()) if limit.operator == "<=" else None
    return Measured(limit, percentile(with_misses, limit.percentile), with_misses.size, misses, judgeable)


def _measure_itl(limit: Limit, gaps: Histogram, ok: int, failed: int) -> Measured:
    """ITL from histograms of successes; when failures alone exceed the percentile's share, it is a miss."""
    value = gaps.mean if limit.percentile is None else gaps.percentile(limit.percentile)
    if limit.percentile is not None and failed > (ok + failed) * (1 - limit.percentile / 100):
        value = np.inf
    return Measured(limit, value, ok + failed)
