"""What was asked at a level, and what came of it: prompts as long as meant, answers to their end, the prefix cache.

Knows: what `run.json` says was asked, the columns that say what came. Must not know: speed, what a level is worth.

A server that counts no cached tokens leaves the cache unknown. One that tells may leave the number out where it is 0
(vLLM does), so that in a run in which any answer has it, one without is none cached.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import percentile
from loadband.analysis.breakdown import AdapterPart
from loadband.analysis.monotone import Floats
from loadband.record import Status

WARM_SHARE = 0.10
"""Of the prompt tokens: from here on they came from the cache, and not by chance of a common template."""

SLACK_TOKENS, SLACK_SHARE = 2.0, 0.02
"""What a prompt may be off its asked length: the larger of the two."""

MOST_OFF = 0.05
"""Of the prompts: with more of them off, they are not of the asked length."""

UNKNOWN, COLD, WARM, SHARED = "unknown", "cold", "warm", "shared"


@dataclass(frozen=True, slots=True)
class Meant:
    """What a run was to ask."""

    template_tokens: float | None = None
    """Of the server's chat template around each prompt; None when nobody could tell."""
    shared_prefix: float = 0.0
    """Tokens that every prompt was to begin with."""
    tells_cached: bool = False
    """Whether the server says how much of a prompt was cached."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Scenario -> share of the conversations, of a mix."""
    adapters: tuple[str, ...] = ()
    """Names of several LoRA adapters, asked for or met, in order."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What came at a level, beside its numbers."""

    cache: str = UNKNOWN
    finish_reasons: Mapping[str, float] = field(default_factory=dict)
    """Reason -> share of the successes, the most frequent first."""
    adapters: tuple[AdapterPart, ...] = ()


def meant_by(run: Mapping[str, Any], requests: pd.DataFrame) -> Meant:
    """What `run.json` and the whole run's requests say."""
    mix = {str(name): float(weight) for name, weight in (run.get("mix") or {}).items() if weight}
    total = sum(mix.values())
    adapters = {*(run.get("adapters") or ()), *requests["adapter"].unique()} - {""}
    return Meant(
        template_tokens=run.get("template_tokens"),
        shared_prefix=float(run.get("shared_prefix") or 0),
        tells_cached=bool(requests["cached_tokens"].notna().any()),
        shares={name: weight / total for name, weight in mix.items()} if total else {},
        adapters=tuple(sorted(str(name) for name in adapters)) if len(adapters) > 1 else (),
    )


def workload_numbers(ended: pd.DataFrame, meant: Meant) -> dict[str, Any]:
    """The columns of `step_table.csv` about it, of the requests that ended in a hold."""
    ok = ended[ended["status"] == Status.OK]
    ratios = (counted_tokens(ok, meant) / ok["prompt_tokens_asked"]).dropna().to_numpy(dtype=np.float64)
    begun, broken = conversations(ended)
    return {
        "cached_share": cached_share(ok) if meant.tells_cached else None,
        "prompt_ratio_p50": percentile(ratios, 50),
        "prompt_ratio_worst": _farthest(ratios),
        "conversations": begun,
        "conversations_failed": broken,
    }


def counted_tokens(ok: pd.DataFrame, meant: Meant) -> "pd.Series[float]":
    """Prompt tokens as the server counts them, its template taken off; unknown where no length was asked or told."""
    template = np.nan if meant.template_tokens is None else meant.template_tokens
    counted: pd.Series[float] = ok["prompt_tokens"].where(ok["prompt_tokens_asked"] > 0) - template
    return counted


def _farthest(ratios: Floats) -> float | None:
    """The ratio that is farthest from 1, up or down alike."""
    return float(ratios[np.argmax(np.abs(ratios - 1))]) if ratios.size else None


def cached_share(ok: pd.DataFrame) -> float | None:
    """Cached tokens / prompt tokens, of the successes whose prompt was counted."""
    prompt = windows.numbers(ok, "prompt_tokens").sum()
    return float(windows.numbers(ok, "cached_tokens").sum() / prompt) if prompt else None


def cache_word(share: float | None, meant: Meant) -> str:
    """`shared` where a common prefix was asked for; else by what was measured."""
    if meant.shared_prefix:
        return SHARED
    return UNKNOWN if share is None else WARM if share >= WARM_SHARE else COLD


def conversations(ended: pd.DataFrame) -> tuple[int | None, int | None]:
    """Conversations with a turn that ended in the hold, and those of them that a failed turn ended; None without."""
    turns = ended[ended["turn"].notna()]
    failed = turns[
        (turns["status"] == Status.FAILED) & ~turns["flags"].astype(str).str.contains("retried", regex=False)
    ]
    key = ["repeat", "user", "conversation"]
    return (len(turns[key].drop_duplicates()), len(failed[key].drop_duplicates())) if len(turns) else (None, None)


def finish_reasons(ended: pd.DataFrame) -> Mapping[str, float]:
    """Reason -> share of the successes; `unknown` where the server told none."""
    reasons = ended.loc[ended["status"] == Status.OK, "finish_reason"].replace("", UNKNOWN)
    shares = reasons.value_counts(normalize=True)
    return {str(name): float(share) for name, share in sorted(shares.items(), key=lambda each: (-each[1], each[0]))}


def notes_on_prompts(requests: pd.DataFrame, meant: Meant) -> Sequence[str]:
    """A note where prompts are not as long as asked, of the whole run."""
    ok = requests.loc[requests["status"] == Status.OK, ["prompt_tokens", "prompt_tokens_asked"]]
    counted, asked = counted_tokens(ok, meant), ok["prompt_tokens_asked"]
    off = (counted - asked).abs() > np.maximum(SLACK_TOKENS, SLACK_SHARE * asked)
    known = counted.notna()
    share = float(off[known].mean()) if known.any() else 0.0
    if share <= MOST_OFF:
        return ()
    median = percentile((counted / asked)[known].to_numpy(dtype=np.float64), 50)
    return (
        f"{share:.0%} of the prompts are not of the asked length: the median has {median:.2f} of its tokens, as the "
        "server counts; name the model's own --tokenizer",
    )
