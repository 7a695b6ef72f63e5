"""What the oracle saw and did: the truth a client's figures are held against.

Knows: the record of each request and of the whole server. Must not know: how either came about.

All stamps are seconds of CLOCK_MONOTONIC, which `time.monotonic()` and `time.perf_counter()` read on Linux: they
compare across processes of one machine. A send stamp is taken just before the write: no byte can arrive earlier.
"""

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Request:
    """One request and its answer.

    `sent` holds one stamp a piece: the k-th scripted write, or the k-th event with tokens (head, role, usage and end
    have none). `end` is `queued`, `playing`, `done`, `closed`, `reset` (by us), `hung`, or `aborted`: the client went
    away before the script was over, by FIN or RST (`abort_by`) at `ended_at`. `blocked` counts writes that the
    client's full receive window held up. `wire` is filled only by `log(payload=True)`.
    """

    number: int
    connection: int
    nth_on_connection: int
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    prompt: str
    connected_at: float
    read_at: float
    scripted: bool = True
    granted_at: float | None = None
    head_at: float | None = None
    sent: "array[float]" = field(default_factory=lambda: array("d"))
    ended_at: float | None = None
    end: str = "queued"
    abort_by: str | None = None
    tokens: int = 0
    blocked: int = 0
    wire: bytes = b""

    @property
    def aborted(self) -> bool:
        """Whether the client went away before the script was over."""
        return self.end == "aborted"


@dataclass(frozen=True, slots=True)
class Log:
    """A picture of everything since the last reset."""

    taken_at: float
    connections: int
    open_connections: int
    in_flight: int
    peak_in_flight: int
    peak_progressing: int
    tokens_sent: int
    requests: list[Request]
    """Those that rules could answer, in order of arrival."""
    others: list[Request]
    """The default GETs: models, health, metrics."""

    @property
    def aborts(self) -> list[Request]:
        """Requests whose client went away early."""
        return [request for request in self.requests if request.aborted]

    @property
    def ends(self) -> Mapping[str, int]:
        """How many requests ended how."""
        return Counter(request.end for request in self.requests)

    def of(self, text: str) -> Request:
        """The one request whose X-Request-Id is `text`, or whose last user message has `text` near its beginning."""
        found = [r for r in self.requests if r.headers.get("x-request-id") == text or text in r.prompt]
        if len(found) != 1:
            raise LookupError(f"{len(found)} requests match {text!r}, not one")
        return found[0]

    def mean_in_flight(self, since: float, until: float) -> float:
        """Requests between read and end, averaged over a window."""
        busy = 0.0
        for request in self.requests:
            end = until if request.ended_at is None else min(request.ended_at, until)
            busy += max(0.0, end - max(request.read_at, since))
        return busy / (until - since)
