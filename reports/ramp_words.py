"""What a ramp indicates, in sentences that never sound like levels that were held; its bins as a table.

Knows: the words. Must not know: how a bin was cut, where a sentence is printed.
"""

from loadband.analysis.curve import throughput
from loadband.analysis.ramp import Ramp
from loadband.analysis.ramp_reading import rounded_down
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.people import between, users, whole

HEADERS = ("users", "ok", "errors %", "throughput", "TTFT p50 ms", "TTFT p95 ms", "E2E mean s", "valid")


def ramp_sentences(verdict: Verdict) -> list[str]:
    """The indication first, then how it came about and what would confirm it; nothing without a ramp."""
    ramp = verdict.ramp
    if ramp is None:
        return []
    pace = f"{rounded_down(ramp.spawn_rate):g} users/s"
    if ramp.status != "found":
        return [f"Nothing can be read from the ramp at {pace}: {ramp.reason}."]
    confirm = f" To confirm it: --steps {','.join(f'{each:g}' for each in ramp.advice)}." if ramp.advice else ""
    floor = f" {ramp.reason[0].upper()}{ramp.reason[1:]}." if ramp.reason else ""
    return [
        f"Indication from a ramp, not a measurement of levels: {_best(ramp)}; {_failure(ramp)}.",
        f"Users came at {pace} and rested nowhere on the way.{floor}{confirm}",
    ]


def _best(ramp: Ramp) -> str:
    if ramp.users is None:
        return f"no best number of users ({ramp.point_reason})"
    if ramp.point_status == "not_reached":
        return f"the best is not reached, about {users(ramp.users)} users or more"
    if ramp.point_status == "at_or_below_first":
        return f"the best is at or below about {users(ramp.users)} users, the fewest that could be read"
    if ramp.low is None or ramp.high is None:
        return f"the best is near {users(ramp.users)} users"
    low, high = whole(ramp.low, ramp.high)
    return f"the best is about {between(users(low), users(high))} users, near {users(ramp.users)}"


def _failure(ramp: Ramp) -> str:
    failure = ramp.failure
    if failure.at is None:
        return f"failure {failure.reason}" if failure.status == "not_reached" else f"failure point: {failure.reason}"
    low = f"after {users(failure.after)} and " if failure.after is not None else ""
    doubt = {"unconfirmed": ", unconfirmed", "undecided": ", undecided"}.get(failure.status, "")
    return f"failure {low}by {users(failure.at)} users{doubt}, {failure.mode}: {failure.reason}"


def ramp_rows(ramp: Ramp) -> list[list[str]]:
    """The bins, under `HEADERS`."""
    return [
        [
            cells.number(level.numbers.users),
            cells.number(level.numbers.ok),
            cells.number(None if level.numbers.error_rate is None else level.numbers.error_rate * 100),
            cells.number(throughput(level, ramp.metric), digits=4),
            *(_ms(level.numbers.get(name)) for name in ("ttft_p50_s", "ttft_p95_s")),
            cells.number(level.numbers.e2e_mean_s),
            "yes" if level.grade.valid else "no",
        ]
        for level in ramp.levels
    ]


def _ms(seconds: float | None) -> str:
    return cells.number(None if seconds is None else seconds * 1000)
