"""One hold taken apart: by scenario, by turn of a conversation, by LoRA adapter, by class of failure.

Knows: the columns that tell requests apart. Must not know: what a level is worth, other levels.

The scenarios share one server, so regions are of the whole mix; these rows say what each of them felt of it. Numbers
have the names and formulas of `step_table.csv`, over the requests of one scenario or turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import mean, percentile
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
    asked_share: float | None = None
    """Of the conversations, as the mix wants it."""
    conversation_share: float | None = None
    """Of the conversations whose first or only request ended in the hold."""
    completed_share: float | None = None
    """Of the successes: a conversation counts as often as it has turns."""


@dataclass(frozen=True, slots=True)
class AdapterPart:
    """What the requests of one LoRA adapter had in a hold; unknown is None."""

    adapter: str
    requests: int
    ok: int
    failed: int
    """Of all classes."""
    error_rate: float | None
    tok_s_user: float | None
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
    names: Sequence[str],
    ended: pd.DataFrame,
    seconds: pd.DataFrame,
    hold: Hold,
    asked: Mapping[str, float] = MappingProxyType({}),
) -> tuple[ScenarioPart, ...]:
    """One part for each of `names`, also for those without a request.

    `ended`: requests that ended in the hold; `seconds`: the rows of `seconds.csv` that it touches, with their weight;
    `asked`: shares of the mix.
    """
    begun = ended.loc[~(ended["turn"] > 1), "scenario"]
    succeeded = ended.loc[ended["status"] == Status.OK, "scenario"]
    parts = []
    for name in names:
        rows = seconds[seconds["scenario"] == name]
        rate = windows.per_second(rows, hold, "output_tokens_ok", "output_tokens_cut") if len(rows) else None
        parts.append(
            ScenarioPart(
                scenario=name,
                output_tok_s=rate,
                asked_share=asked.get(name),
                conversation_share=float((begun == name).mean()) if len(begun) else None,
                completed_share=float((succeeded == name).mean()) if len(succeeded) else None,
                **_felt(ended[ended["scenario"] == name]),
            )
        )
    return tuple(parts)


def adapter_parts(names: Sequence[str], ended: pd.DataFrame) -> tuple[AdapterPart, ...]:
    """One part for each of `names`, also for those without a request."""
    parts = []
    for name in names:
        rows = ended[ended["adapter"] == name]
        tpot = mean(windows.numbers(rows[rows["status"] == Status.OK], "tpot_s"))
        parts.append(AdapterPart(adapter=name, tok_s_user=1.0 / tpot if tpot else None, **_felt(rows)))
    return tuple(parts)


def _felt(ended: pd.DataFrame) -> dict[str, Any]:
    """What the requests of one part felt."""
    ok, failed = ended[ended["status"] == Status.OK], ended[ended["status"] == Status.FAILED]
    server = int((failed["failure_class"] != FailureClass.CLIENT).sum())
    judged = len(ok) + server
    ttft = windows.numbers(ok, "ttft_s")
    return {
        "requests": len(ended),
        "ok": len(ok),
        "failed": len(failed),
        "error_rate": server / judged if judged else None,
        "ttft_p50_s": percentile(ttft, 50),
        "ttft_p95_s": percentile(ttft, 95),
        "tpot_p50_s": percentile(windows.numbers(ok, "tpot_s"), 50),
        "e2e_p50_s": percentile(windows.numbers(ok, "e2e_s"), 50),
    }


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
