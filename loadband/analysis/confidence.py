"""How far a verdict carries, in one word and its reason: `high`, `medium`, `low`.

Knows: marks, noise, support, drift. Must not know: what was found.

*high* needs repeats: at least three of every level, an answer that nearly every replicate gives, no drift between the
first and the last. *medium* is all that one run, or two, can earn: its noise is within-run only. *low*: something that
touches the throughput curve is marked, not checked or undecided, a hold is too short, or the server drifted.
"""

from collections.abc import Sequence

from loadband.analysis.book_end import BookEnd
from loadband.analysis.curve import Curve
from loadband.analysis.intervals import Certainty
from loadband.analysis.level import Level
from loadband.analysis.measure import TOKENS_AS_EVENTS

LOWERING = frozenset(
    {
        *("unfinished", "little", "short", "few_rounds", "drifting", "in_waves", "mix", "tokens_per_request"),
        TOKENS_AS_EVENTS,
    }
)
"""Marks that touch the throughput curve; the others touch percentiles or error rates and speak for themselves."""

REPEATS_FOR_HIGH = 3
SUPPORT_FOR_HIGH = 0.95


def confidence_of(
    levels: Sequence[Level], refused: str | None, sure: Certainty, book_end: BookEnd | None, curve: Curve | None
) -> tuple[str, str]:
    """The word and its reason."""
    valid = [level for level in levels if level.grade.valid]
    if refused or not valid or curve is None:
        return "low", "no curve" if refused else "no valid level"
    if told := _doubts(valid, sure, book_end):
        return "low", "; ".join(told).replace("_", " ")
    repeats = min(point.repeats for point in curve.points)
    if sure.source != "repeats":
        return "medium", "one run: its noise is within-run only" if sure.source == "within_run" else sure.reason
    cv = "" if curve.cv is None else f", CV {curve.cv:.1%}"
    if repeats < REPEATS_FOR_HIGH:
        return "medium", f"{repeats} repeats of a level{cv}: {REPEATS_FOR_HIGH} or more make it high"
    if sure.support is not None and sure.support < SUPPORT_FOR_HIGH:
        return "medium", f"{sure.support:.0%} of the replicates give this answer"
    return "high", f"{repeats} repeats{cv}"


def _doubts(valid: Sequence[Level], sure: Certainty, book_end: BookEnd | None) -> list[str]:
    marked = [f"{mark} at {level.users:g}" for level in valid for mark in level.grade.marks if mark in LOWERING]
    told = [_few(list(dict.fromkeys(marked)))] if marked else []
    if sure.too_short:
        told.append(f"too short to trust at {_few([f'{users:g}' for users in sure.too_short])}")
    if book_end is not None and book_end.drifted:
        told.append(f"{book_end.users:g} users gave {book_end.change:+.1%} at the end")
    undecided = sorted({word for level in valid for word in level.grade.undecided})
    unchecked = sorted({word for level in valid for word in level.grade.not_checked})
    for title, words in (("undecided", undecided), ("not checked", unchecked)):
        if words:
            told.append(f"{title}: {_few(words)}")
    return told


def _few(words: list[str]) -> str:
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return ", ".join(words[:3]) + more
