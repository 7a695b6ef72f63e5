"""One hold taken apart: by scenario, by turn of a conversation, by class of failure.

Knows: the columns that tell requests apart. Must not know: what a level is worth, other levels.

The scenarios share one server, so regions are of the whole mix; these rows say what each of them felt of it. Numbers
have the names and formulas of `step_table.csv`, over the requests of one scenario or turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import percentile
from loadband.analysis.windows import Hold
from loadband.record import FailureClass, Status


@dataclass(frozen=True, slots=True)
class ScenarioPart:
    """What one scenario of a mix had in a hold; unknown is None."""

    scenario: str
    requests: int
    ok: int
    failed: int
    """Of all classes."""
    error_rate: float | None
    output_tok_s: float | None
    ttft_p50_s: float | None
    ttft_p95_s: float | None
    tpot_p50_s: float | None
    e2e_p50_s: float | None


@dataclass(frozen=True, slots=True)
class TurnPart:
    """First-token times of one turn of the conversations, over successes: the history to read grows with each."""

    turn: int
    n: int
    ttft_p50_s: float | None
    ttft_p95_s: float | None


def scenario_parts(
    names: Sequence[str], ended: pd.DataFrame, seconds: pd.DataFrame, hold: Hold
) -> tuple[ScenarioPart, ...]:  # fmt: skip
    """One part for each of `names`, also for those without a request.

    `ended`: requests that ended in the hold; `seconds`: the rows of `seconds.csv` that it touches, with their weight.
    """
    return tuple(
        _scenario_part(name, ended[ended["scenario"] == name], seconds[seconds["scenario"] == name], hold)
        for name in names
    )


def _scenario_part(name: str, ended: pd.DataFrame, seconds: pd.DataFrame, hold: Hold) -> ScenarioPart:
    ok, failed = ended[ended["status"] == Status.OK], ended[ended["status"] == Status.FAILED]
    server = int((failed["failure_class"] != FailureClass.CLIENT).sum())
    judged = len(ok) + server
    ttft = windows.numbers(ok, "ttft_s")
    told = len(seconds) > 0
    return ScenarioPart(
        scenario=name,
        requests=len(ended),
        ok=len(ok),
        failed=len(failed),
        error_rate=server / judged if judged else None,
        output_tok_s=windows.per_second(seconds, hold, "output_tokens_ok", "output_tokens_cut") if told else None,
        ttft_p50_s=percentile(ttft, 50),
        ttft_p95_s=percentile(ttft, 95),
        tpot_p50_s=percentile(windows.numbers(ok, "tpot_s"), 50),
        e2e_p50_s=percentile(windows.numbers(ok, "e2e_s"), 50),
    )


def turn_parts(ended: pd.DataFrame) -> tuple[TurnPart, ...]:
    """First-token times by turn, rising; empty without conversations."""
    rows = ended[(ended["status"] == Status.OK) & ended["turn"].notna()]
    parts = []
    for turn in sorted(rows["turn"].unique()):
        group = rows[rows["turn"] == turn]
        ttft = windows.numbers(group, "ttft_s")
        parts.append(TurnPart(int(turn), len(group), percentile(ttft, 50), percentile(ttft, 95)))
    return tuple(parts)


def failures_by_class(ended: pd.DataFrame) -> Mapping[str, int]:
    """Failure class -> requests, the most frequent first; the client's own among them."""
    counts = ended.loc[ended["status"] == Status.FAILED, "failure_class"].replace("", "unknown").value_counts()
    return {str(name): int(count) for name, count in sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))}


def independent_draws(ended: pd.DataFrame) -> float:
    """How many independent choices of a scenario stand behind these requests: a conversation was chosen once.

    (sum m)^2 / sum m^2 over the numbers m of requests that each choice brought.
    Reference: L. Kish, Survey Sampling (1965), 8.2.
    """
    turned = ended["turn"].notna()
    sizes = ended[turned].groupby(["user", "repeat", "conversation"], dropna=False).size().to_numpy(dtype=np.float64)
    single = float((~turned).sum())
    squares = single + float(sizes @ sizes)
    return (single + float(sizes.sum())) ** 2 / squares if squares else 0.0
