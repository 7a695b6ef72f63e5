"""Did the target fail during a level, or right after it?

Knows: silence, refused connections, an engine's last words. Must not know: whether the client was healthy, or what
the verdict makes of it.

Three signs. *Silence*: no success for longer than max(3 x E2E p99, min(30 s, hold)) while users were there, no
token arrived (a slow server still streams) and nothing was answered (a server that says 500 is there: these are
errors). *Refused*: connections refused, and nothing but, for 2 s or more. *Last words*: the server says that its
engine died or ran out of memory, and no success follows for 2 s. One refused
connection among successes is a full backlog, not an outage.
"""

import re

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import percentile
from loadband.analysis.level import Evidence
from loadband.analysis.windows import Hold
from loadband.record import FailureClass, Status

QUIET_S = 2.0
FEWEST_REFUSED = 3
AFTERMATH_S = 30.0
"""How long after a hold a refusal still speaks of its level."""

ANSWERED = re.compile("http_|throttled|context_length|stream_error|empty|not_a_stream|protocol")
"""Begins of the classes of requests that failed and yet had an answer."""

LAST_WORDS = re.compile(
    r"engine ?core encountered|engine ?dead|engine (?:process |loop )?(?:has )?(?:died|failed)|out of memory"
    r"|outofmemory|background loop (?:has )?(?:errored|stopped)",
    re.IGNORECASE,
)


LONGEST_PATIENCE_S = 30.0


def outage_of(
    requests: pd.DataFrame,
    hold: Hold,
    seconds: pd.DataFrame,
    next_asked: float | None,
    e2e_before: float | None,
    *,
    cut_short: bool = False,
) -> Evidence | None:
    """The first sign of an outage in a hold or right after it, or None.

    `requests`: all of `windows.with_end`; `seconds`: `by_second` rows touching the hold; `next_asked`: when the next
    level was asked for; `e2e_before`: E2E p99 of the level below, for a hold without a success; `cut_short`: the hold
    was ended before its time, so its length says nothing of how long an answer may take.
    """
    until = min(hold.end + AFTERMATH_S, next_asked if next_asked is not None else np.inf)
    near = windows.ended_between(requests, hold.begin, until)
    served = near.loc[near["status"] == Status.OK, ["ended_at", "e2e_s"]]
    good = windows.numbers(served, "ended_at")
    failed = near[near["status"] == Status.FAILED]
    refused = windows.numbers(failed[failed["failure_class"] == FailureClass.CONNECT], "ended_at")
    told = failed[failed["message"].str.contains(LAST_WORDS)]
    answered = windows.numbers(failed[failed["failure_class"].str.match(ANSWERED)], "ended_at")
    last = float(near["ended_at"].max()) if len(near) else hold.end
    p99 = percentile(windows.numbers(served, "e2e_s"), 99) or e2e_before or 0.0
    patience = max(3 * p99, LONGEST_PATIENCE_S if cut_short else min(LONGEST_PATIENCE_S, hold.length))
    return (
        _silence(answered, good, hold, seconds, patience)
        or _refused(refused, good, hold, last)
        or _last_words(told, good, hold, last)
    )


def _silence(
    refusals: windows.Floats, good: windows.Floats, hold: Hold, seconds: pd.DataFrame, patience: float
) -> Evidence | None:
    answers = np.sort(np.concatenate([good, refusals]))
    inside = answers[answers <= hold.end]
    edges = np.concatenate([[hold.begin], inside, [hold.end]])
    gaps = np.diff(edges)
    for place in np.flatnonzero(gaps >= patience if not inside.size else gaps > patience):
        begin, end = edges[place], edges[place + 1]
        within = seconds[(seconds["second"] >= begin) & (seconds["second"] + 1 <= end)]
        arrived = (
            within[["output_tokens_ok", "output_tokens_failed", "output_tokens_cut"]].to_numpy(dtype=np.float64).sum()
        )
        there = within["users"].fillna(within["in_flight"]).fillna(0) > 0  # an open loop has no users
        if len(within) and bool(there.any()) and not arrived:
            sentence = f"no success for {end - begin:.0f} s, from {begin - hold.begin:.0f} s into the hold"
            return Evidence("outage", sentence, healed=bool((good > begin).any()))
    return None


def _refused(refused: windows.Floats, good: windows.Floats, hold: Hold, last: float) -> Evidence | None:
    """Stretches between successes with nothing but refusals."""
    edges = np.concatenate([np.sort(good), [np.inf]])
    refused = np.sort(refused[~np.isin(refused, good)])
    stretch, first_of, sizes = np.unique(np.searchsorted(edges, refused), return_index=True, return_counts=True)
    for place in np.flatnonzero(sizes >= FEWEST_REFUSED):
        end = edges[stretch[place]]
        first, quiet_until = float(refused[first_of[place]]), min(float(end), last)
        if quiet_until - first >= QUIET_S:
            where = "into" if first <= hold.end else "after the begin of"
            sentence = f"the target refused connections from {first - hold.begin:.0f} s {where} the hold"
            return Evidence("outage", sentence, healed=bool(np.isfinite(end)))
    return None


def _last_words(told: pd.DataFrame, good: windows.Floats, hold: Hold, last: float) -> Evidence | None:
    edges = np.concatenate([np.sort(good), [np.inf]])
    for at, message in zip(told["ended_at"], told["message"], strict=True):
        later = float(edges[np.searchsorted(edges, at, "right")])
        if min(later, last) - at >= QUIET_S:
            words = str(message)[:80]
            sentence = f'the server said "{words}" {at - hold.begin:.0f} s into the hold'
            return Evidence("outage", sentence, healed=bool(np.isfinite(later)))
    return None
