"""What the simulated server measures of its own requests, in vLLM's histograms.

Knows: the stamps of a request's tokens, vLLM's bucket bounds. Must not know: clocks, HTTP, the engine, text formats.

Definitions as vLLM has them, all in seconds. Time to first token: from the request's arrival. Inter-token latency: from
a token to the next, of every request. Time per output token: (last token - first) / (tokens - 1), of a finished request
of two tokens or more. End to end: arrival to last token, of a finished request.
"""

from bisect import bisect_left
from collections import Counter

TTFT_BOUNDS = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
)  # fmt: skip
TOKEN_BOUNDS = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip
REQUEST_BOUNDS = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
)  # fmt: skip


class Buckets:
    """A histogram of fixed upper bounds; a value equal to a bound lies within it."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Of each bucket alone; the last one has no bound."""
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Life:
    """Stamps of one request, in seconds on one clock; the last two None before its first token."""

    __slots__ = ("begun_at", "first_at", "last_at")

    def __init__(self, begun_at: float) -> None:
        self.begun_at = begun_at
        self.first_at: float | None = None
        self.last_at: float | None = None


class Latencies:
    """All requests of one server so far."""

    def __init__(self) -> None:
        self.ttft = Buckets(TTFT_BOUNDS)
        self.itl = Buckets(TOKEN_BOUNDS)
        self.tpot = Buckets(TOKEN_BOUNDS)
        self.e2e = Buckets(REQUEST_BOUNDS)
        self.finished: Counter[str] = Counter()
        """Finished requests by their finish reason."""

    def token(self, life: Life, at: float) -> None:
        """A request gained a token."""
        if life.last_at is None:
            life.first_at = at
            self.ttft.add(at - life.begun_at)
        else:
            self.itl.add(at - life.last_at)
        life.last_at = at

    def finish(self, life: Life, tokens: int, reason: str) -> None:
        """A request gained its last token, told before."""
        if life.first_at is None or life.last_at is None:
            raise RuntimeError("a request finished without a token")
        self.finished[reason] += 1
        self.e2e.add(life.last_at - life.begun_at)
        if tokens > 1:
            self.tpot.add((life.last_at - life.first_at) / (tokens - 1))
