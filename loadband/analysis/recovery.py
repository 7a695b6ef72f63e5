"""After too much load: how long until the server is as it was on the way up?

Model. The level that the load fell to was held before; that hold is cut into k pieces of W seconds, and the next such
piece of a healthy server lies within mean +- t s sqrt(1 + 1/k) of theirs (95 %; see `baseline`, s not below the noise
floor). After the fall a window of W seconds is moved on second by second. The server is back when, in that window and
in the next one, throughput is not below its interval and the median TTFT not above: being better than before is no
fault. The time counts from the moment at which the load fell. A TTFT belongs to the moment of its first token, of
requests that succeeded; a window without one is not back.

W is 5 s, more where fewer than 5 requests a window would end, less where the hold before was short; a time is no finer
than that. Fails when the hold before did not stand still itself: the interval is then wide, and the server soon back.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from loadband.analysis.baseline import half_width
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.windows import Hold, Step
from loadband.record import Status

WINDOW_S = 5
FEWEST_PIECES = 4
REQUESTS_IN_WINDOW = 5
UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What followed too much load. Levels are users, or requests/s of an open loop."""

    status: str
    """`found`, `not_reached` (not while it was watched), `none` (the server served nothing any more), `undecided`."""
    fell_from: float | None = None
    fell_to: float | None = None
    seconds: float | None = None
    """From the fall of the load until throughput and TTFT p50 were back."""
    throughput_s: float | None = None
    ttft_s: float | None = None
    """The same of each alone."""
    watched_s: float | None = None
    window_s: float | None = None
    throughput_from: float | None = None
    """Tokens/s from which on the throughput counts as back."""
    ttft_upto: float | None = None
    """Seconds of TTFT p50 up to which it counts as back."""
    zombies_most: float | None = None
    """Requests that the server ran beyond those of the users who were left; None where it does not tell."""
    zombies_s: float | None = None
    """Seconds after the fall at which the last of them was seen; 0 where none was."""
    reason: str = ""


class _Seen:
    """Tokens by second, and first tokens by their moment."""

    def __init__(self, seconds: pd.DataFrame, ok: pd.DataFrame) -> None:
        self._second = seconds["second"].to_numpy(dtype=np.float64)
        self._tokens = seconds[["output_tokens_ok", "output_tokens_cut"]].to_numpy(dtype=np.float64).sum(axis=1)
        timed = ok[ok["ttft_s"].notna()]
        self._ttft = timed["ttft_s"].to_numpy(dtype=np.float64)
        self._first_at = timed["started_at"].to_numpy(dtype=np.float64) + self._ttft

    def answers(self, hold: Hold) -> int:
        """First tokens in a hold."""
        return int(((self._first_at >= hold.begin) & (self._first_at < hold.end)).sum())

    def tokens(self, begin: float, length: int) -> float | None:
        """Tokens per second over so many whole seconds; None where none is on record."""
        first = math.floor(begin)
        inside = (self._second >= first) & (self._second < first + length)
        return float(self._tokens[inside].sum()) / length if inside.any() else None

    def ttft(self, begin: float, length: int) -> float | None:
        """Median TTFT of the first tokens in so many seconds."""
        inside = self._ttft[(self._first_at >= begin) & (self._first_at < begin + length)]
        return float(np.median(inside)) if inside.size else None


def recovery_of(
    run: Mapping[str, Any], steps: Sequence[Step], requests: pd.DataFrame, seconds: pd.DataFrame, limits: Thresholds
) -> Recovery | None:
    """None of a run that was not asked for one. `requests` of `windows.with_end`, `seconds` of `windows.by_second`."""
    plan = run.get("plan") or {}
    if not (plan.get("recover") or plan.get("spike_s")):
        return None
    step, after = (_step(steps, (run.get("recovery") or {}).get(name)) for name in ("step", "after"))
    if step is None or after is None or step.asked_at is None:
        return Recovery(UNDECIDED, reason="the run ended before the load fell")
    most, until = (run["recovery"].get(name) for name in ("zombies_most", "zombies_s"))
    open_end = Recovery(UNDECIDED, level_of(after), level_of(step), zombies_most=most, zombies_s=until)
    if step.hold is None:
        return replace(open_end, reason="the run ended as the load fell")
    fallen = Hold(step.asked_at, step.hold.end)
    open_end = replace(open_end, watched_s=fallen.length)
    ok = requests[requests["status"] == Status.OK]
    if not ((ok["started_at"] >= fallen.begin) & (ok["ended_at"] <= fallen.end)).any():
        reason = f"nothing was served for {fallen.length:.0f} s: the server did not come back"
        return replace(open_end, status="none", reason=reason)
    before = next(
        (each for each in reversed(steps) if each.step < after.step and level_of(each) == level_of(step)), None
    )
    if before is None or before.hold is None:
        return replace(open_end, reason="its level was not held on the way up: nothing to compare with")
    return _judged(open_end, _Seen(seconds, ok), before.hold, fallen, limits)


def level_of(step: Step) -> float | None:
    """Users, or requests/s."""
    return step.users if step.users is not None else step.offered_req_s


def _step(steps: Sequence[Step], number: Any) -> Step | None:
    return next((step for step in steps if step.step == number), None)


def _judged(open_end: Recovery, seen: _Seen, before: Hold, fallen: Hold, limits: Thresholds) -> Recovery:
    answers = seen.answers(before)
    window = _window(before.length, answers)
    if window is None:
        reason = (
            f"{answers} answers in the {before.length:.0f} s at its level on the way up are too few to compare with"
        )
        return replace(open_end, reason=reason)
    begins = [before.begin + piece * window for piece in range(int(before.length // window))]
    x_from = _bound([seen.tokens(begin, window) for begin in begins], -1, limits)
    ttft_upto = _bound([seen.ttft(begin, window) for begin in begins], +1, limits)
    if not x_from or ttft_upto is None:
        return replace(open_end, reason="the way up does not tell what throughput and TTFT were")
    moments = [fallen.begin + at for at in range(max(int(fallen.length) - window + 1, 0))]
    fast = [(x := seen.tokens(at, window)) is not None and x >= x_from for at in moments]
    soon = [(ttft := seen.ttft(at, window)) is not None and ttft <= ttft_upto for at in moments]
    found = replace(
        open_end, status="found", window_s=float(window), throughput_from=x_from, ttft_upto=ttft_upto,
        throughput_s=_first_of(fast, window), ttft_s=_first_of(soon, window),
        seconds=_first_of([one and other for one, other in zip(fast, soon, strict=True)], window),
    )  # fmt: skip
    if found.seconds is not None:
        return found
    named = (("throughput", found.throughput_s), ("TTFT p50", found.ttft_s))
    late = " and ".join(name for name, at in named if at is None) or "both together"
    return replace(found, status="not_reached", reason=f"{late} not back within {fallen.length:.0f} s")


def _window(length_s: float, requests: int) -> int | None:
    """Whole seconds of a window; None where so short a hold cannot be cut into pieces with enough in each."""
    longest = math.floor(length_s / FEWEST_PIECES)
    wanted = math.ceil(REQUESTS_IN_WINDOW * length_s / requests) if requests else math.inf
    window = max(min(WINDOW_S, longest), wanted)
    return int(window) if 1 <= window <= longest else None


def _bound(pieces: Sequence[float | None], side: int, limits: Thresholds) -> float | None:
    """One end of the interval of the next piece."""
    known = np.array([value for value in pieces if value is not None])
    if known.size < FEWEST_PIECES:
        return None
    deviation = max(float(known.std(ddof=1)), limits.noise_floor * float(known.mean()))
    return max(float(known.mean()) + side * half_width(known.size) * deviation, 0.0)


def _first_of(good: Sequence[bool], window: int) -> float | None:
    """Seconds until the first window that is good, as is the one behind it."""
    return next((float(at) for at in range(len(good) - window) if good[at] and good[at + window]), None)
