"""D0 for runs of our own: what is one level worth, judged by itself.

Knows: every check that needs only this level. Must not know: other levels (see `ladder`), the curve.

Two grades. *Not valid*: the number is not that of this level (users were missing, the target failed, the books do not
balance). *Marked*: the number is right but rests on little. Books: Little's law compares the time that requests were
really open with the sampled number in flight; tokens by arrival second are compared with requests/s x tokens each.
Both hold for any server whatever its speed; when they fail, some request or token was lost or counted twice. The
second is blurred by the requests that cross the hold's edges, the long ones above all, so its tolerance grows
where rounds are few. A check without its data is `undecided`, never passed.
"""

import numpy as np
import pandas as pd

from loadband.analysis import windows
from loadband.analysis.bounds import requests_needed, wilson
from loadband.analysis.level import Evidence, Grade, Numbers
from loadband.analysis.measure import TOKENS_AS_EVENTS, HoldData
from loadband.analysis.queueing import Queue
from loadband.analysis.series import drift, waves
from loadband.analysis.thresholds import Thresholds
from loadband.record import FailureClass, Status

FEWEST_COUNTED = 2.0
"""Requests that the seconds of a hold must count before their records can be missing: its edges count in part."""

SHORTEST_HOLD_S = 3.0
"""A hold covers a whole second from here on that no neighbouring level can have told of (`check_delivery`)."""

NOT_COUNTED = "the server does not count tokens: events stand for tokens"

TIMEOUTS = (
    ("connect", "connect_s", FailureClass.TIMEOUT_CONNECT),
    ("first_token", "ttft_s", FailureClass.TIMEOUT_FIRST_TOKEN),
    ("idle", "itl_max_s", FailureClass.TIMEOUT_IDLE),
    ("total", "e2e_s", FailureClass.TIMEOUT_TOTAL),
)
"""Name of a limit (in `run.json`: with `_s`), the column it bounds, the class of a request that ran into it."""


def check_delivery(grade: Grade, numbers: Numbers, data: HoldData) -> Grade:
    """Were the users there, all through the hold?

    The master learns of users up to a second late, so the row of a second may already tell of the next one: seconds
    whose successor lies outside the hold are not asked.
    """
    inside = windows.whole_seconds(data.seconds)
    users = windows.numbers(inside[inside["second"] + 2 <= data.hold.end], "users")
    if numbers.users is None:
        return grade
    if not users.size and len(data.seconds) and data.hold.length < SHORTEST_HOLD_S:
        wanted = f"hold a level for {SHORTEST_HOLD_S:g} s or longer"
        return grade.undecide("users").refuse(f"the hold of {data.hold.length:.3g} s is too short: {wanted}")
    if not users.size:
        return grade.undecide("users").refuse("nothing says how many users were there during the hold")
    wrong = users[users != numbers.users]
    if wrong.size:
        reason = f"users were not {numbers.users:g} during {wrong.size} of {users.size} s (from {wrong.min():g} to "
        grade = grade.refuse(f"{reason}{wrong.max():g})")
    return grade


def check_records(grade: Grade, data: HoldData, limits: Thresholds) -> Grade:
    """Are the requests on record that the seconds of this hold counted, and is it known how they ended?"""
    ended, seconds = data.ended, data.seconds
    counted = sum(float((seconds[name] * seconds["weight"]).sum()) for name in ("ok", "failed", "cut"))
    if ended.empty and counted >= FEWEST_COUNTED:
        reason = f"requests.csv has no request that ended in this hold, seconds.csv counts {counted:.0f}"
        return grade.undecide("requests").refuse(f"{reason}: one of the files is damaged")
    strange = ended[~ended["status"].isin(list(Status))]
    if len(strange) > limits.error_limit * len(ended):
        words = ", ".join(sorted({f"'{str(word)[:20]}'" for word in strange["status"]})[:3])
        reason = f"how {len(strange):,} of {len(ended):,} requests ended is not known (status {words})"
        return grade.undecide("requests").refuse(reason)
    return grade


def check_success(grade: Grade, data: HoldData) -> Grade:
    """A level at which nothing but failures ended has no throughput: not valid, yet it speaks of the server."""
    failed = data.server_failed
    if len(data.ok) or failed.empty or (grade.evidence and grade.evidence.mode == "outage"):
        return grade
    kind = str(failed["failure_class"].mode().iloc[0])
    told = next((f": {words}" for words in failed.loc[failed["failure_class"] == kind, "message"] if words), "")
    sentence = f"no request succeeded, {len(failed):,} failed ({kind}{told})"
    return grade.refuse(sentence).witness(grade.evidence or Evidence("errors", sentence))


def check_books(grade: Grade, numbers: Numbers, requests: pd.DataFrame, data: HoldData, limits: Thresholds) -> Grade:
    """Little's law, and tokens against requests."""
    if numbers.in_flight:
        ratio = windows.open_seconds(requests, data.hold) / data.hold.length / numbers.in_flight
        grade = grade_little(grade, ratio, limits)
    else:
        grade = grade.undecide("little")
    ended = data.ended[data.ended["status"].isin(["ok", "cut", "abandoned"])]
    each = windows.numbers(ended, "output_tokens")
    if not each.any() or not numbers.output_tok_s or each.size < len(ended) / 2:
        return grade.undecide("tokens_against_requests")
    by_request = float(each.mean()) * len(ended) / data.hold.length
    one_round = max(
        (numbers.users or numbers.in_flight or 1.0) / len(ended), (numbers.e2e_p95_s or 0.0) / data.hold.length
    )
    apart = numbers.output_tok_s / by_request - 1
    if abs(apart) > max(limits.tokens_disagree, one_round):
        reason = f"tokens/s by arrival ({numbers.output_tok_s:.0f}) and requests/s x mean tokens ({by_request:.0f})"
        grade = grade.refuse(f"{reason} differ by {abs(apart):.0%}")
    return grade


def grade_little(grade: Grade, ratio: float, limits: Thresholds, how: str = "") -> Grade:
    """The grade after Little's law; `ratio` is 1 when the books balance."""
    sentence = f"Little's law is off: requests were open {ratio:.2f} times what is counted in flight{how}"
    if not limits.little_low <= ratio <= limits.little_high:
        return grade.refuse(sentence)
    if not limits.little_low_mark <= ratio <= limits.little_high_mark:
        return grade.mark("little", sentence)
    return grade


def check_length(grade: Grade, numbers: Numbers, limits: Thresholds) -> Grade:
    """Short holds, few rounds, few requests for a percentile, errors that n requests cannot resolve."""
    hold, e2e = numbers.hold_s, numbers.e2e_mean_s or 0.0
    if hold is not None and hold < max(limits.short_hold_s, limits.short_hold_e2e * e2e):
        wanted, rounds = limits.short_hold_s, limits.short_hold_e2e * e2e
        rule = f"{wanted:g} s" if rounds <= wanted else f"{limits.short_hold_e2e:g} mean E2E of {e2e:.3g} s"
        grade = grade.mark("short", f"the hold of {hold:.3g} s is short ({rule} are wanted)")
    if numbers.output_ratio is not None and numbers.output_ratio < limits.output_ratio:
        reason = f"answers ended early: {numbers.output_ratio:.0%} of the tokens asked for"
        grade = grade.mark("short_answers", reason)
    if numbers.ok is None:
        return grade
    if numbers.users and numbers.ok / numbers.users < limits.few_rounds:
        rounds = numbers.ok / numbers.users
        grade = grade.mark("few_rounds", f"few rounds: {rounds:.1f} successes per user")
    for percent, needed in ((95, limits.p95_requests), (99, limits.p99_requests)):
        if numbers.ok < needed:
            grade = grade.mark(f"few_for_p{percent}", f"p{percent} of {numbers.ok:.0f} requests ({needed:.0f} wanted)")
    return grade


def check_queue(grade: Grade, queue: Queue | None) -> Grade:
    """Mark a level of an open loop whose queue grew: its latencies depend on how long it was held."""
    return grade.mark("queue_grows", f"the queue grew: {queue.sentence}") if queue and queue.grows else grade


def check_token_source(grade: Grade, data: HoldData) -> Grade:
    """Mark numbers of tokens that are numbers of events."""
    if not data.events_for_tokens:
        return grade
    return grade.mark(TOKENS_AS_EVENTS, f"{NOT_COUNTED}: throughput is events/s, TPOT the time per event")


def check_errors(grade: Grade, failed: float | None, judged: float | None, limits: Thresholds) -> Grade:
    """Mark a failure rate whose interval holds the limit."""
    if failed is None or not judged:
        return grade
    low, high = wilson(failed, judged)
    if low <= limits.error_limit < high:
        needed = requests_needed(failed / judged, limits.error_limit)
        more = f", needs n >= {needed:.0f}" if needed is not None else ""
        reason = f"{failed:.0f} failures in {judged:.0f} requests do not resolve {limits.error_limit:.0%}{more}"
        grade = grade.mark("errors_not_resolved", reason)
    return grade


def check_steadiness(
    grade: Grade, numbers: Numbers, requests: pd.DataFrame, data: HoldData, limits: Thresholds
) -> Grade:
    """Drift of tokens/s or E2E, users marching in waves."""
    hold, ok = data.hold, data.ok
    tokens = windows.series(data.seconds, hold, "output_tokens_ok", "output_tokens_cut")
    moves = drift(np.arange(tokens.size, dtype=np.float64), tokens)
    timed = ok[ok["e2e_s"].notna()]
    slows = drift(timed["ended_at"].to_numpy(dtype=np.float64), timed["e2e_s"].to_numpy(dtype=np.float64))
    if moves is None and slows is None:
        grade = grade.undecide("drift")
    for name, change in (("tokens/s", moves), ("E2E", slows)):
        if change is not None and abs(change) >= limits.drift:
            grade = grade.mark("drifting", f"{name} moved by {change:+.0%} during the hold")
    starts = windows.numbers(requests, "started_at")
    bunched = waves(starts, hold.begin, hold.end, numbers.e2e_mean_s or 0.0, numbers.users or 0.0)
    if bunched is not None:
        fano, again = bunched
        signs = [f"starts bunch {fano:.1f} times as much as random ones"] if fano > limits.wave_fano else []
        if again is not None and again > limits.wave_autocorrelation:
            signs.append(f"starts repeat with the length of an answer (autocorrelation {again:.2f})")
        if signs:
            grade = grade.mark("in_waves", f"users march in waves: {', '.join(signs)}")
    return grade


def timeout_of(data: HoldData, timeouts: dict[str, float | None], limits: Thresholds) -> Evidence | None:
    """The client limit that p99 of the requests run into, told from chance by a Wilson bound of the 1 % beyond it."""
    ok, failed = data.ok, data.server_failed
    for name, column, failure in TIMEOUTS:
        limit = timeouts.get(f"{name}_s")
        if not limit:
            continue
        near = windows.numbers(ok, column) >= limits.timeout_share * limit
        hit = int((failed["failure_class"] == failure).sum())
        n = len(ok) + len(failed)
        if wilson(int(near.sum()) + hit, n)[0] > 0.01:
            return Evidence("timeout", f"p99 ran into the {name.replace('_', ' ')} limit of {limit:g} s")
    return None
