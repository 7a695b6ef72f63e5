"""The words of the project, and the record of one request: the only currency between its parts.

Knows: what is measured of a request, under which name, in which unit, by which formula.
Must not know: sockets, Locust, files, or how a number is drawn.

Stamps are monotonic seconds taken when a read returns, before anything of it is parsed. A *read* is one return
of the socket; an *event* is one server-sent event; a *generated event* is an event with a non-empty piece of
text, reasoning or tool call. Unknown is `None` (an empty cell), never 0.

====================  ==========================================================================================
request start         the moment the user asks, before a connection is taken
TTFT                  stamp of the first generated event - request start
TTFA                  the same for visible answer text only
ITL                   gaps between reads that brought generated events; *inter-chunk* latency when
                      tokens / events > 1.05, *inter-read* when more than 10 % of the reads brought several events
TPOT                  (last generated event - first) / (output tokens - 1), without tokens of reasoning that was
                      hidden; absent below 2 tokens, where all came at one moment, and of buffered answers
E2E                   last generated event - request start
felt                  last generated event - start of the first attempt (differs from E2E only with retries)
duration              end of the request, whatever its end (end of body, failure, cut) - request start
output tokens         the server's last `usage`; else a tokenizer's count of the whole text (*estimated*);
                      else the number of generated events (*events*)
throughput            output tokens per second by the second in which they arrived, of ok and cut requests
schedule lag          actual - planned start (open loop)
level, step, repeat   a number of users; one holding of a level, numbered over the run; the how-many-eth climb
users, in flight      Locust users; requests really open
goodput               good requests per second: succeeded, and every own value within the SLO's limits
status                ok, failed (with a class), cut (still running at the end of the run), abandoned (the user hung
                      up, as asked), lost (on a worker that died); started = their sum
====================  ==========================================================================================
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a request ended. `started` is always the sum of the five."""

    OK = "ok"
    FAILED = "failed"
    CUT = "cut"
    ABANDONED = "abandoned"
    LOST = "lost"


class FailureClass(StrEnum):
    """Why a request failed. An HTTP status of its own reads `http_<code>`, see `http_class`."""

    CONNECT = "connect"
    TLS = "tls"
    THROTTLED = "throttled"
    CONTEXT_LENGTH = "context_length"
    STREAM_ERROR = "stream_error"
    TRUNCATED = "truncated"
    RESET = "reset"
    EMPTY = "empty"
    NOT_A_STREAM = "not_a_stream"
    PROTOCOL = "protocol"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_FIRST_TOKEN = "timeout_first_token"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_TOTAL = "timeout_total"
    CLIENT = "client"
    """The client ran out of descriptors or ports: never booked on the server."""


THROTTLING_CODES = frozenset({429, 503, 529})


def http_class(code: int) -> str:
    """Failure class of an HTTP status, also of one told inside a 200: 429, 503 and 529 are `throttled`."""
    return FailureClass.THROTTLED if code in THROTTLING_CODES else f"http_{code}"


class TokenSource(StrEnum):
    """Where a request's output tokens were counted."""

    USAGE = "usage"
    ESTIMATED = "estimated"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Record:
    """One request. Field order is the column order of `requests.csv`; new fields go at the end.

    `id` is `<worker>-<n>`; `started_at` is Unix seconds on the master's clock; names ending in `_s` are seconds
    since request start or lengths of time in seconds; `step` and `step_end` are the steps in force at the start
    and at the end (0: before the first level); `attempts` says which attempt of its request this is, from 1;
    `flags` is a `;` list
    (`warmup waited bursty buffered not_a_stream no_done stale_connection retried degenerate hidden_reasoning
    ...`; `waited`: an arrival
    of an open loop found no place free in its process; `retried`: it failed, and its user asked again; `buffered`:
    held back on its way or not streamed, so without TPOT and ITL; `degenerate`: no text, a character that is none,
    or one token over and over; `hidden_reasoning`: the server counts reasoning that it never showed, and TPOT is of
    the tokens shown). `backend` is who answered behind a router, where a header of the answer tells.
    """

    id: str
    worker: str
    scenario: str
    kind: str | None
    step: int | None
    step_end: int | None
    repeat: int | None
    user: int | None
    conversation: int | None
    turn: int | None
    started_at: float
    status: str
    failure_class: str | None = None
    http_status: int | None = None
    message: str | None = None
    connect_s: float | None = None
    sent_s: float | None = None
    first_byte_s: float | None = None
    ttft_s: float | None = None
    ttfa_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    felt_s: float | None = None
    itl_p50_s: float | None = None
    itl_p99_s: float | None = None
    itl_max_s: float | None = None
    events: int | None = None
    output_tokens: int | None = None
    prompt_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    tool_calls: int | None = None
    token_source: str | None = None
    finish_reason: str | None = None
    schedule_lag_s: float | None = None
    think_s: float | None = None
    worker_in_flight: int | None = None
    prompt_tokens_asked: int | None = None
    max_tokens: int | None = None
    model_answered: str | None = None
    adapter: str | None = None
    backend: str | None = None
    attempts: int | None = None
    flags: str | None = None
    duration_s: float | None = None

    def values(self) -> list[Any]:
        """The fields in column order, as plain values that any serialiser takes."""
        return list(_VALUES(self))

    @classmethod
    def of(cls, values: list[Any]) -> "Record":
        """The inverse of `values`."""
        return cls(*values)


BUFFERED_EVENTS = 8
"""Of fewer events nothing is said of whether they were held back; so many a read, over all reads, were. So were as
many tokens in one event."""


def spread(tokens: int, seconds: Mapping[int, int]) -> dict[int, int]:
    """Unix second -> tokens, whole and with the exact sum: dealt over `seconds`, a request's events by second."""
    dealt: dict[int, int] = {}
    events, seen, given = sum(seconds.values()), 0, 0
    for second in sorted(seconds):
        seen += seconds[second]
        due = (tokens * seen * 2 + events) // (2 * events)
        if due > given:
            dealt[second] = due - given
        given = due
    return dealt


RECORD_COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Record))

_VALUES = operator.attrgetter(*RECORD_COLUMNS)
