"""Hours of load in seconds: virtual users before the engine, on a virtual clock.

Knows: closed loop (users who wait for their answer, pause, ask again), open loop (arrivals on a schedule), the sums.
Must not know: sockets, real time, what an operating band is.

A user notices the end of an answer `REACTION_S` later, as over a real socket: the engine has begun its next step by
then, so a request with no pause waits for that step first. Latencies are those of requests that ended in the measured
time; tokens are counted when they come; in flight is the time average. When the engine dies the run ends there.
"""

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import fmean

from loadband.sim.engine import FINISHED, Engine, EngineDiedError, QueueFullError, Sequence
from loadband.sim.profile import Profile

REACTION_S = 0.001
BACK_OFF_S = 1.0
"""Until a refused user asks again."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the users ask. Ranges are uniform, both ends included."""

    prompt_tokens: tuple[int, int] = (50, 200)
    max_tokens: tuple[int, int] = (512, 512)
    ignore_eos: bool = False
    think_s: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen. Means are None where nothing was."""

    asked: float
    """Users, or requests per second."""
    seconds: float
    """Measured, after the settling."""
    in_flight: float
    requests: int
    refused: int
    output_tok_s: float
    prompt_tok_s: float
    req_s: float
    ttft_mean_s: float | None
    ttft_p95_s: float | None
    e2e_mean_s: float | None
    died_at_s: float | None
    """Seconds into the run at which the engine died."""

    @property
    def power(self) -> float:
        """Throughput squared by mean response time (Kleinrock 1979, with weight 2 on throughput); 0 without answers."""
        return self.output_tok_s**2 / self.e2e_mean_s if self.e2e_mean_s else 0.0


@dataclass(slots=True)
class _Tally:
    """Sums over the measured time."""

    begin: float
    tokens: int = 0
    prompt_tokens: int = 0
    refused: int = 0
    busy: float = 0.0
    ttfts: list[float] = field(default_factory=list)
    e2es: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """One request of a virtual user."""

    user: int
    asked_at: float
    sequence: Sequence
    stamps: list[float] = field(default_factory=list)
    """When each of its tokens came."""


class VirtualRun:
    """One load on one engine."""

    def __init__(
        self, profile: Profile, load: Load, seed: int, watch: Callable[[Asked], None] | None = None
    ) -> None:  # fmt: skip
        """`watch` is shown every request once its answer is whole."""
        self._watch = watch
        self.engine = Engine(profile, seed)
        self._load = load
        self._random = random.Random(f"{seed} users")
        self._calls: list[tuple[float, int]] = []
        self.open: dict[int, Asked] = {}
        """What is in flight, by the number of its sequence."""
        self._rate: float | None = None
        self.now = 0.0

    def closed(self, users: int, settle_s: float, measured_s: float) -> Outcome:
        """`users` who ask one question at a time; they begin spread over the first second."""
        for user in range(users):
            heapq.heappush(self._calls, (self._random.random(), user))
        return self._run(users, settle_s, measured_s)

    def joining(self, joins: Iterable[tuple[float, int]], end_s: float) -> Outcome:
        """Users who come one after the other, each at its time, and stay: `(seconds, user)`."""
        self._calls = sorted(joins)
        return self._run(len(self._calls), 0.0, end_s)

    def arriving(self, req_s: float, settle_s: float, measured_s: float) -> Outcome:
        """Poisson arrivals."""
        self._rate = req_s
        heapq.heappush(self._calls, (self._random.expovariate(req_s), 0))
        return self._run(req_s, settle_s, measured_s)

    def _run(self, asked: float, settle_s: float, measured_s: float) -> Outcome:
        tally, end, died = _Tally(settle_s), settle_s + measured_s, None
        try:
            while True:
                ends_at = self.engine.ends_at
                call = self._calls[0][0] if self._calls else float("inf")
                due = call if ends_at is None else min(call, ends_at)
                if due > end:
                    self._pass(tally, end)
                    break
                self._pass(tally, due)
                if ends_at is not None and ends_at <= call:
                    self._take(tally)
                else:
                    self._ask(tally, heapq.heappop(self._calls)[1])
                if self.engine.ends_at is None:
                    self.engine.begin(self.now)
        except EngineDiedError:
            died = self.now
        return self._outcome(tally, asked, died)

    def _pass(self, tally: _Tally, until: float) -> None:
        tally.busy += max(0.0, until - max(self.now, tally.begin)) * len(self.open)
        self.now = until

    def _ask(self, tally: _Tally, user: int) -> None:
        load, draw = self._load, self._random
        if self._rate is not None:
            heapq.heappush(self._calls, (self.now + draw.expovariate(self._rate), user + 1))
        try:
            sequence = self.engine.submit(
                draw.randint(*load.prompt_tokens), draw.randint(*load.max_tokens), ignore_eos=load.ignore_eos
            )
        except QueueFullError:
            tally.refused += self.now >= tally.begin
            if self._rate is None:
                heapq.heappush(self._calls, (self.now + BACK_OFF_S, user))
            return
        self.open[sequence.number] = Asked(user, self.now, sequence)

    def _take(self, tally: _Tally) -> None:
        counted = self.now >= tally.begin
        for sequence in self.engine.end():
            asked = self.open[sequence.number]
            tally.tokens += counted
            asked.stamps.append(self.now)
            if sequence.generated == 1:
                tally.prompt_tokens += sequence.prompt_tokens if counted else 0
            if sequence.state == FINISHED:
                self._finish(tally, asked, counted)

    def _finish(self, tally: _Tally, asked: Asked, counted: bool) -> None:
        del self.open[asked.sequence.number]
        if self._watch is not None:
            self._watch(asked)
        if counted:
            tally.ttfts.append(asked.stamps[0] - asked.asked_at)
            tally.e2es.append(self.now - asked.asked_at)
        if self._rate is None:
            pause = REACTION_S + self._random.uniform(*self._load.think_s)
            heapq.heappush(self._calls, (self.now + pause, asked.user))

    def _outcome(self, tally: _Tally, asked: float, died: float | None) -> Outcome:
        seconds = max(0.0, self.now - tally.begin)
        per = seconds or float("inf")
        ttfts = sorted(tally.ttfts)
        return Outcome(
            asked=asked, seconds=seconds, in_flight=tally.busy / per, requests=len(ttfts), refused=tally.refused,
            output_tok_s=tally.tokens / per, prompt_tok_s=tally.prompt_tokens / per, req_s=len(ttfts) / per,
            ttft_mean_s=fmean(ttfts) if ttfts else None,
            ttft_p95_s=ttfts[int(0.95 * len(ttfts))] if ttfts else None,
            e2e_mean_s=fmean(tally.e2es) if ttfts else None, died_at_s=died,
        )  # fmt: skip


def closed_loop(
    profile: Profile, users: int, load: Load, *, settle_s: float = 60.0, measured_s: float = 600.0, seed: int = 1
) -> Outcome:
    """What `users` see."""
    return VirtualRun(profile, load, seed).closed(users, settle_s, measured_s)


def open_loop(
    profile: Profile, req_s: float, load: Load, *, settle_s: float = 60.0, measured_s: float = 600.0, seed: int = 1
) -> Outcome:
    """What requests see that arrive at `req_s` per second, whatever the server does."""
    return VirtualRun(profile, load, seed).arriving(req_s, settle_s, measured_s)
