"""One level as the verdict sees it: its numbers, what they are worth, and how it keeps the SLO.

Knows: the columns of `step_table.csv`, grades (D0). Must not know: whether a run or a table stands behind it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from loadband.analysis.breakdown import ScenarioPart, TurnPart
from loadband.analysis.monotone import Floats
from loadband.analysis.queueing import Queue
from loadband.analysis.soak import Drift
from loadband.analysis.workload import Workload
from loadband.slo import Limit

LOG_BOUND = 20.0
"""Stands for the logarithm of 0 (below) and of a miss (above)."""


def log_value(value: float) -> float:
    """A measured value as a logarithm that stays finite: 0 is as good as it gets, infinite is a miss."""
    return -LOG_BOUND if value <= 0 else LOG_BOUND if math.isinf(value) else math.log(value)


def people(count: float) -> str:
    """Users with their word: `1 user`, `8 users`."""
    return "1 user" if count == 1 else f"{count:g} users"


@dataclass(frozen=True, slots=True)
class Numbers:
    """What was measured at a level. Field order is the column order of `step_table.csv`; unknown is None.

    Of requests that ended inside the hold: `requests` (all), `ok`, `failed`, `cut`, latencies (successes only) and
    `req_s` (ok + server-side failures, so that `req_s * (1 - error_rate)` is successes per second). Tokens are by
    the second in which they arrived, of ok and cut requests. `error_rate` = server-side failures / (ok + server-side
    failures). `tok_s_user` = 1 / mean TPOT, a harmonic mean of the users' speeds. `output_ratio` = mean of output
    tokens / tokens asked for. `output_tok_s_cv` = standard deviation / mean of tokens/s in bins of 5 s. `gain_pct` =
    tokens/s against the level below, in %. `e2e_planned` is E2E + schedule lag: from the moment that an open loop's
    schedule wanted the request. `users` are those asked for; `in_flight` is the mean number of open
    requests. `cached_share` = cached / all prompt tokens. `prompt_ratio` = prompt tokens counted, without the
    template / asked for: the median, and the one farthest from 1. `conversations` had a turn that ended in the hold;
    `conversations_failed` were ended by one that failed.
    """

    step: int | None = None
    repeat: int = 1
    users: float | None = None
    offered_req_s: float | None = None
    in_flight: float | None = None
    hold_s: float | None = None
    requests: float | None = None
    ok: float | None = None
    failed: float | None = None
    cut: float | None = None
    error_rate: float | None = None
    req_s: float | None = None
    goodput_req_s: float | None = None
    output_tok_s: float | None = None
    prompt_tok_s: float | None = None
    total_tok_s: float | None = None
    tok_s_user: float | None = None
    output_tok_s_cv: float | None = None
    gain_pct: float | None = None
    ttft_mean_s: float | None = None
    ttft_p50_s: float | None = None
    ttft_p90_s: float | None = None
    ttft_p95_s: float | None = None
    ttft_p99_s: float | None = None
    tpot_mean_s: float | None = None
    tpot_p50_s: float | None = None
    tpot_p95_s: float | None = None
    tpot_p99_s: float | None = None
    itl_p50_s: float | None = None
    itl_p99_s: float | None = None
    e2e_mean_s: float | None = None
    e2e_p50_s: float | None = None
    e2e_p95_s: float | None = None
    e2e_p99_s: float | None = None
    output_ratio: float | None = None
    schedule_lag_p99_s: float | None = None
    abandoned: float | None = None
    e2e_planned_mean_s: float | None = None
    e2e_planned_p95_s: float | None = None
    e2e_planned_max_s: float | None = None
    cached_share: float | None = None
    prompt_ratio_p50: float | None = None
    prompt_ratio_worst: float | None = None
    conversations: float | None = None
    conversations_failed: float | None = None

    @property
    def served_req_s(self) -> float | None:
        """Successful requests per second."""
        return None if self.req_s is None else self.req_s * (1 - (self.error_rate or 0.0))

    def get(self, name: str) -> float | None:
        """A number by its column name; None also of a name that is no column."""
        value = getattr(self, name, None)
        return None if value is None else float(value)


NUMBER_COLUMNS: tuple[str, ...] = tuple(each.name for each in fields(Numbers))
_LATER, _LAST = NUMBER_COLUMNS.index("abandoned"), NUMBER_COLUMNS.index("cached_share")
STEP_TABLE_COLUMNS: tuple[str, ...] = (
    *NUMBER_COLUMNS[:_LATER], "valid", "marks", "reasons", "remark", *NUMBER_COLUMNS[_LATER:_LAST],
    "evidence_of_failure", "failures", *NUMBER_COLUMNS[_LAST:], "cache", "finish_reasons", "asked_shares",
    "completed_shares",
)  # fmt: skip
"""New columns go at the end."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a level speaks of a failing server, though its numbers may be good for nothing."""

    mode: str
    """`outage`, `timeout`, `errors` where nothing succeeded, `collapse` where nothing came."""
    sentence: str
    healed: bool = False
    """Success came back within the level."""

    def __str__(self) -> str:
        """As `step_table.csv` has it, and reads it back."""
        return f"{self.mode}{' (healed)' if self.healed else ''}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Grade:
    """What a level is worth (D0)."""

    valid: bool = True
    """Used for the curve."""
    client_limited: bool = False
    """The load generator was the limit: used for nothing."""
    marks: tuple[str, ...] = ()
    """Words for what lowers the confidence; the level is used."""
    faults: tuple[str, ...] = ()
    """Why the level is not valid, one sentence each."""
    remarks: tuple[str, ...] = ()
    """What each mark means here, one sentence each."""
    not_checked: tuple[str, ...] = ()
    """Checks that this kind of input cannot feed."""
    undecided: tuple[str, ...] = ()
    """Checks that a run of our own should have fed, and did not."""
    evidence: Evidence | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """All sentences, faults first."""
        return (*self.faults, *self.remarks)

    def refuse(self, reason: str, *, client_limited: bool = False, word: str | None = None) -> "Grade":
        """This grade, not valid; `word` names a fault that others look for."""
        return replace(
            self,
            valid=False,
            client_limited=self.client_limited or client_limited,
            faults=(*self.faults, reason),
            marks=(*self.marks, word) if word else self.marks,
        )

    def mark(self, word: str, reason: str) -> "Grade":
        """This grade with a mark; one that it has already gets a further reason."""
        marks = self.marks if word in self.marks else (*self.marks, word)
        return replace(self, marks=marks, remarks=(*self.remarks, reason))

    def witness(self, evidence: Evidence) -> "Grade":
        """This grade as evidence of a failing server; a client that was itself the limit proves nothing."""
        return self if self.client_limited else replace(self, evidence=evidence)

    def not_check(self, word: str) -> "Grade":
        """This grade with a check that cannot be made."""
        return replace(self, not_checked=(*self.not_checked, word))

    def undecide(self, word: str) -> "Grade":
        """This grade with a check that should have been possible."""
        return replace(self, undecided=(*self.undecided, word))


@dataclass(frozen=True, slots=True)
class Measured:
    """The quantity of one SLO limit at one level."""

    limit: Limit
    value: float | None
    """In the limit's unit; infinite when so many failed that the percentile is a miss; None when not measured."""
    n: float | None = None
    """Requests behind it."""
    misses: float | None = None
    """Of them, failed or beyond the limit; None when no single request can miss (means, rates, tables)."""
    judgeable: bool = True
    """False when the level's users marched in waves and this is a first-token time."""
    absent: bool = False
    """No request of the limit's scenario ended in the hold."""


@dataclass(frozen=True, slots=True)
class HoldNoise:
    """How the numbers of one hold scatter: replicates minus measured, in logarithms (0.01 is 1 %), seeded."""

    x: Mapping[str, Floats]
    """By column of throughput."""
    e2e: Floats
    values: tuple[Floats, ...]
    """Of each limit of the SLO, in its order."""
    rounds: float
    """Length of the hold in mean E2E."""


@dataclass(frozen=True, slots=True)
class Level:
    """One holding of a level."""

    numbers: Numbers
    grade: Grade = Grade()
    server_failed: float | None = None
    """Server-side failures among the requests that ended inside the hold; the client's own never count."""
    throttled: float | None = None
    """Of them, refused by an admission limit (429, 503, 529)."""
    think_s: float | None = None
    mix: Mapping[str, float] = field(default_factory=dict)
    """Scenario -> share of the requests that ended inside the hold."""
    draws: float | None = None
    """Independent choices of a scenario behind the mix; None when each request was one."""
    scenarios: tuple[ScenarioPart, ...] = ()
    """Of a run with several; empty otherwise."""
    turns: tuple[TurnPart, ...] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failure class -> requests, the client's own among them."""
    workload: Workload = field(default_factory=Workload)
    itl_mean_s: float | None = None
    remark: str = ""
    """Of the catalogue in `gains`: what the level brings over the one below."""
    build: str | None = None
    queue: Queue | None = None
    """Of an open loop."""
    drifts: tuple[Drift, ...] = ()
    """Of a hold that was long enough to tell."""
    measured: tuple[Measured, ...] = ()
    noise: HoldNoise | None = field(default=None, compare=False, repr=False)
    """None of a table, and of a hold too short to be cut into pieces."""

    @property
    def users(self) -> float:
        """Users asked for; in an open loop the offered requests per second stand in their place on every axis."""
        return self.numbers.users or self.numbers.offered_req_s or 0.0

    @property
    def name(self) -> str:
        """`8 users`, or `2 requests/s`."""
        return people(self.users) if self.numbers.users else f"{self.users:g} requests/s"

    @property
    def judged(self) -> float | None:
        """Requests of which it is known whether the server served them: ok + server-side failures."""
        if self.numbers.ok is None or self.server_failed is None:
            return None
        return self.numbers.ok + self.server_failed

    def regraded(self, grade: Grade) -> "Level":
        """This level with another grade."""
        return replace(self, grade=grade)

    def renumbered(self, **numbers: Any) -> "Level":
        """This level with some numbers replaced."""
        return replace(self, numbers=replace(self.numbers, **numbers))
