"""D5: the failure point, a bracket (last sound level, first failing level] with its mode.

Knows: what counts as failing, when one level is enough, what heals. Must not know: how the evidence was gathered.

Nothing is extrapolated: a failure point is a level that was tried. `errors` needs two levels, or one beyond doubt,
since overload errors come in clumps that a binomial bound takes for certainty. `collapse` without repeats needs two
levels in a row, each measured so low itself (the fit spreads one low level over its neighbours); a level that is
short or drifts counts only when it lies as far below again. `outage` and `timeout` come as evidence from the levels.
An admission limit that refuses (429, 503, 529) while what it accepts keeps the SLO is no failure: it is reported as
*shed*. `queue` is an open loop's own: more comes than the server completes (`queueing`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from loadband.analysis.bounds import Z95, rule_of_three, wilson
from loadband.analysis.curve import Curve
from loadband.analysis.level import Level, people
from loadband.analysis.queueing import confirmed
from loadband.analysis.standstill import COLLAPSE, standstills
from loadband.analysis.thresholds import Thresholds
from loadband.slo import LATENCIES, Limit

CONSECUTIVE = 2
REPEATS_TO_AGREE = 3
SHAKY = frozenset({"short", "few_rounds", "drifting", "unfinished"})
"""Marks of a level whose throughput may be off by as much as a collapse."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the server breaks. `after` None: already at the first level."""

    status: str
    """`found unconfirmed not_reached not_checked undecided`."""
    after: float | None = None
    at: float | None = None
    mode: str | None = None
    """`errors outage timeout collapse queue`."""
    reason: str = ""
    notes: tuple[str, ...] = ()
    """Transient errors, healed interruptions, admission limits."""


@dataclass(frozen=True, slots=True)
class _Rung:
    """All levels of one number of users that say something about the server."""

    users: float
    levels: tuple[Level, ...]
    low: float
    """Lower 95 % bound of the failure rate; the rate itself when the number of requests is not known."""
    rate: float | None
    exceeding: int
    """Repeats whose own bound exceeds the limit."""

    @property
    def valid(self) -> bool:
        return any(level.grade.valid for level in self.levels)


def find_failure(
    levels: Sequence[Level], curve: Curve | None, slo: tuple[Limit, ...], limits: Thresholds
) -> Failure:  # fmt: skip
    """The lowest failing level, or why there is none."""
    speaking = [
        _without_shed(level, slo)
        for level in levels
        if not level.grade.client_limited and (level.grade.valid or level.grade.evidence) and level.users
    ]
    rungs = [_rung(users, speaking, limits) for users in sorted({level.users for level in speaking})]
    notes = _shed_notes(speaking, levels)
    if not rungs:
        return Failure("undecided", reason="no level says anything about the server")
    found, unconfirmed, more = _errors(rungs, limits)
    evidence, healed = _evidence(rungs)
    stopped = [rung for rung in rungs if not rung.valid and standstills(rung.levels)]
    lasting = [rung for rung in stopped if not any(each.valid and each.users > rung.users for each in rungs)]
    collapse, doubtful = _collapse(curve, levels, limits, lasting)
    healed += [f"transient: throughput was 0 at {each.levels[0].name}" for each in stopped if each not in lasting]
    queue, waiting, grew = _queue(rungs)
    candidates = [each for each in (evidence, found, collapse, queue) if each]
    doubts = [each for each in (unconfirmed, doubtful, waiting) if each]
    notes = (*notes, *more, *healed, *grew)
    if candidates:
        return replace(_bracketed(min(candidates, key=lambda each: each.at or 0.0), rungs), notes=notes)
    if doubts:
        return replace(_bracketed(min(doubts, key=lambda each: each.at or 0.0), rungs), notes=notes)
    return replace(_not_reached(rungs), notes=notes)


def _rung(users: float, speaking: Sequence[Level], limits: Thresholds) -> _Rung:
    levels = tuple(level for level in speaking if level.users == users)
    # failures during an outage are the outage, and are judged as that
    served = [level for level in levels if level.grade.evidence is None or level.grade.evidence.mode != "outage"]
    counted = [(level.server_failed or 0.0, level.judged) for level in served if level.judged]
    rates = [level.numbers.error_rate for level in served if level.numbers.error_rate is not None]
    rate: float | None
    if counted:
        failed, judged = sum(f for f, _ in counted), sum(n for _, n in counted if n)
        low, rate = wilson(failed, judged)[0], failed / judged
        exceeding = sum(wilson(f, n)[0] > limits.error_limit for f, n in counted if n)
    else:
        rate = float(np.mean(rates)) if rates else None
        low, exceeding = rate or 0.0, sum(each > limits.error_limit for each in rates)
    return _Rung(users, levels, low, rate, exceeding)


def _errors(rungs: list[_Rung], limits: Thresholds) -> tuple[Failure | None, Failure | None, list[str]]:
    """Failure by errors, an unconfirmed one, and notes on transient errors."""
    notes: list[str] = []
    for place, rung in enumerate(rungs):
        if rung.low <= limits.error_limit:
            continue
        above = rungs[place + 1 : place + 1 + CONSECUTIVE]
        repeated = len(rung.levels) >= REPEATS_TO_AGREE and rung.exceeding * 3 >= 2 * len(rung.levels)
        sentence = f"{rung.rate:.1%} of the requests failed at {people(rung.users)}"
        if len(above) == CONSECUTIVE and all(each.low <= limits.error_limit for each in above):
            notes.append(f"transient: {sentence}, none of note at the next two levels")
            continue
        again = bool(above) and above[0].low > limits.error_limit
        if rung.low > limits.error_certain or again or repeated:
            return Failure("found", at=rung.users, mode="errors", reason=sentence), None, notes
        if not above:
            reason = f"{sentence}, the last level: not confirmed by a second one"
            return None, Failure("unconfirmed", at=rung.users, mode="errors", reason=reason), notes
        notes.append(f"not confirmed by the level above: {sentence}")
    return None, None, notes


def _evidence(rungs: list[_Rung]) -> tuple[Failure | None, list[str]]:
    """Failure by outage or time-out, and notes on interruptions that healed."""
    notes: list[str] = []
    for place, rung in enumerate(rungs):
        sound_above = [each for each in rungs[place + 1 :] if each.valid]
        for level in rung.levels:
            evidence = level.grade.evidence
            if evidence is None or evidence.mode in ("errors", COLLAPSE):  # judged by their rates
                continue
            passed = rung.valid or len(sound_above) >= CONSECUTIVE
            if evidence.mode == "outage" and evidence.healed and passed:
                notes.append(f"interrupted at {people(rung.users)}: {evidence.sentence}; it healed")
                continue
            unsure = "client_lag" in level.grade.undecided and "client_cpu" in level.grade.undecided
            status = "undecided" if unsure else "found"
            suffix = "; whether the client was healthy is not known" if unsure else ""
            reason = f"at {people(rung.users)}: {evidence.sentence}{suffix}"
            return Failure(status, at=rung.users, mode=evidence.mode, reason=reason), notes
    return None, notes


def _queue(rungs: list[_Rung]) -> tuple[Failure | None, Failure | None, list[str]]:
    """The lowest rate whose queue grows beyond chance, an unconfirmed one, and notes on those that did not last."""
    notes: list[str] = []
    grows = [[bool(level.queue and level.queue.grows) for level in rung.levels] for rung in rungs]
    holds = [float(np.mean([level.numbers.hold_s or 0.0 for level in rung.levels])) for rung in rungs]
    for place, rung in enumerate(rungs):
        grown = next((level.queue for level in rung.levels if level.queue and level.queue.grows), None)
        if grown is None:
            continue
        sentence = f"at {rung.levels[0].name} {grown.sentence}"
        if confirmed(place, grows, holds):
            return Failure("found", at=rung.users, mode="queue", reason=sentence), None, notes
        if place == len(rungs) - 1:
            reason = f"{sentence}: not confirmed by a second level or a hold twice as long"
            return None, Failure("unconfirmed", at=rung.users, mode="queue", reason=reason), notes
        notes.append(f"not confirmed by the level above: {sentence}")
    return None, None, notes


def _collapse(
    curve: Curve | None, levels: Sequence[Level], limits: Thresholds, stopped: Sequence[_Rung]
) -> tuple[Failure | None, Failure | None]:
    """Throughput at or below 80 % of its maximum, past it: found, or in doubt. `stopped`: those above where it is 0."""
    if curve is None:
        return None, None
    peak = int(np.argmax(curve.x))
    limit = limits.collapse_share * curve.x[peak]
    low = [place for place in range(peak + 1, curve.x.size) if curve.x[place] <= limit]
    if not low and not stopped:
        return None, None
    users = float(curve.users[low[0]]) if low else stopped[0].users
    share = float(curve.x[low[0]] / curve.x[peak]) if low else 0.0
    reason = f"throughput at {people(users)} is {share:.0%} of its maximum"
    sure = [place for place in low if curve.points[place].x <= _shaky_limit(curve.users[place], levels, limits) * limit]
    sure += [curve.x.size + n for n in range(sum(len(rung.levels) for rung in stopped))]
    if (low and _apart(curve, peak, low[0])) or any(b == a + 1 for a, b in pairwise(sure)):
        return Failure("found", at=users, mode="collapse", reason=reason), None
    why = "its holds are short or drift" if len(low) > 1 else "not confirmed by a second level"
    return None, Failure("unconfirmed", at=users, mode="collapse", reason=f"{reason}: {why}")


def _shaky_limit(users: float, levels: Sequence[Level], limits: Thresholds) -> float:
    """Share of the limit at which a level counts: 1, or a second drop of the same size when its number is in doubt."""
    marks = [level.grade.marks for level in levels if level.users == users and level.grade.valid]
    return limits.collapse_share if all(SHAKY.intersection(each) for each in marks) else 1.0


def _apart(curve: Curve, one: int, other: int) -> bool:
    """Whether repeats tell two levels apart."""
    repeats = [curve.points[place].repeats for place in (one, other)]
    if curve.cv is None or min(repeats) < 2:
        return False
    return bool(np.log(curve.x[one] / curve.x[other]) > 2 * Z95 * curve.cv * np.sqrt(sum(1 / k for k in repeats)))


def _bracketed(failure: Failure, rungs: list[_Rung]) -> Failure:
    sound = [rung.users for rung in rungs if rung.valid and failure.at is not None and rung.users < failure.at]
    return replace(failure, after=max(sound) if sound else None)


def _not_reached(rungs: list[_Rung]) -> Failure:
    """No failure: how sure n requests make of it."""
    counted = [level for rung in rungs for level in rung.levels if level.judged]
    top = rungs[-1].users
    last = f"up to {people(top)}"
    if counted:
        failed = sum(level.server_failed or 0.0 for level in counted)
        judged = sum(level.judged or 0.0 for level in counted)
        below = rule_of_three(judged) if failed < 0.5 else wilson(failed, judged)[1]
        reason = f"not reached {last}: {failed:.0f} errors in {judged:,.0f} requests, below {below:.2%} (95 %)"
        return Failure("not_reached", reason=reason)
    if all(rung.rate is None for rung in rungs):
        return Failure("not_checked", reason=f"no errors given; throughput does not collapse {last}")
    return Failure("not_reached", reason=f"not reached {last}; the number of requests is not given")


def _without_shed(level: Level, slo: tuple[Limit, ...]) -> Level:
    """The level without its throttled requests, when what was accepted keeps the SLO's latencies."""
    latencies = [limit for limit in slo if limit.metric in LATENCIES and not limit.scenario]
    values = [level.numbers.get(f"{limit.quantity}_s") for limit in latencies]
    kept = all(v is not None and limit.holds(v) for limit, v in zip(latencies, values, strict=True))
    if not level.throttled or not latencies or not kept:
        return level
    return replace(level, server_failed=(level.server_failed or 0.0) - level.throttled, throttled=None)


def _shed_notes(speaking: Sequence[Level], levels: Sequence[Level]) -> tuple[str, ...]:
    shed = {level.numbers.step for level in speaking if level.throttled is None}
    refused = [level for level in levels if level.throttled and level.numbers.step in shed]
    if not refused:
        return ()
    first = min(refused, key=lambda level: level.users)
    return (f"admission limit: from {people(first.users)} on requests are refused while the accepted keep the SLO",)
