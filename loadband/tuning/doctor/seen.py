"""What was asked and seen, in plain values: all that passes from the asking modules to the judging ones.

Knows: their units. Must not know: sockets, what is good.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Reached:
    """One address of the target and how it answered; `connect_s` None: it did not, and `fault` says why."""

    address: str
    connect_s: float | None
    fault: str = ""

    @property
    def family(self) -> str:
        """`IPv6` or `IPv4`."""
        return "IPv6" if ":" in self.address else "IPv4"


@dataclass(frozen=True, slots=True)
class Names:
    """What a name resolved to, in the order in which it is tried."""

    host: str
    is_name: bool
    """A name, not an address."""
    lookup_s: float | None
    addresses: tuple[Reached, ...]
    fault: str = ""
    """Why the name is none."""


@dataclass(frozen=True, slots=True)
class Secured:
    """A TLS handshake."""

    handshake_s: float | None
    version: str = ""
    days_left: float | None = None
    """Until the certificate ends."""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """TCP connects and smallest HTTP round trips, in seconds."""

    connects: tuple[float, ...] = ()
    trips: tuple[float, ...] = ()

    @property
    def floor_s(self) -> float | None:
        """The shortest HTTP round trip: no answer can come sooner, whatever the model."""
        return min(self.trips, default=None)

    @property
    def values(self) -> dict[str, float | None]:
        """Minimum and median of both."""
        return {
            "connect_min_s": min(self.connects, default=None), "connect_median_s": middle(self.connects),
            "round_trip_min_s": min(self.trips, default=None), "round_trip_median_s": middle(self.trips),
        }  # fmt: skip


def middle(times: Sequence[float]) -> float | None:
    """The median; None of nothing."""
    return median(times) if times else None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the system lets this machine have; None: not known."""

    soft_descriptors: int | None
    hard_descriptors: int | None
    ports: int | None


@dataclass(frozen=True, slots=True)
class Idle:
    """What is known of how long the server keeps a connection."""

    closes_after_answer: bool | None = None
    announced_s: float | None = None
    """`Keep-Alive: timeout=...`"""
    outlived_s: float | None = None
    """It was idle for so long and still open."""
    died_within_s: float | None = None
    """It was idle for so long and then closed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer in plain values; None: not known."""

    asked_tokens: int
    """`max_tokens` of the request."""
    asked_ignore_eos: bool = True
    failure_class: str | None = None
    message: str = ""
    status: int | None = None
    events: int = 0
    reads: int = 0
    """Reads of the socket that brought generated events."""
    ttft_s: float | None = None
    """First token - request, connect apart."""
    spread_s: float = 0.0
    """Last generated event - first."""
    client_ticks: int | None = None
    """How often this client's event loop came round from the request to the last event, trying once a millisecond."""
    output_tokens: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    model: str | None = None

    @property
    def cached_share(self) -> float | None:
        """Share of the prompt that came from the server's prefix cache."""
        return None if self.cached_tokens is None or not self.prompt_tokens else self.cached_tokens / self.prompt_tokens


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt of a known length, and what the server counted of it."""

    asked_tokens: int
    """Tokens of the text, as the run would ask for them."""
    overhead_tokens: int | None
    """What the server counts beside the text: its chat template."""
    seen: Seen


@dataclass(frozen=True, slots=True)
class Pair:
    """The same prompt twice."""

    first: Seen
    second: Seen
