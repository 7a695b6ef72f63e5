"""What the users of one process share during one test.

Knows: target, sampling, prompts, time-outs, the step in force, the gate, this process's place among the workers.
Must not know: Locust's runners, files, how a level is chosen.
"""

import itertools
import os
import random
import time
from dataclasses import dataclass
from typing import Any

import gevent
from gevent.event import Event

from loadband.load.connection import Address, Connection, parse_address
from loadband.load.dataset import Dataset
from loadband.load.dialects import dialect_of
from loadband.load.distribution import Distribution, parse_distribution, parse_token_count
from loadband.load.exchange import Timeouts
from loadband.load.leaving import Leaving, parse_abandon
from loadband.load.ledger import Ledger
from loadband.load.prompts import PromptBook
from loadband.load.request import request_head
from loadband.load.says import Sampling


@dataclass(frozen=True, slots=True)
class Work:
    """What the users do, as asked by the options and completed by the probe; travels from the master to workers."""

    host: str
    model: str
    run_id: str
    seed: int
    prompt_tokens: str
    max_tokens: str
    think_time: str
    temperature: float
    ignore_eos: bool
    tokens_per_character: dict[str, float]
    timeouts: dict[str, float]
    long_context_tokens: str
    turns: str
    api: str
    path: str | None
    stream: bool
    include_usage: bool
    mix: dict[str, float]
    """Scenario -> its share of the conversations."""
    context_limit: int | None
    """Tokens that a prompt and its answer may have together, where the server tells."""
    arrival: str
    """How requests arrive in an open loop."""
    dataset: str | None
    """Digest of the recorded requests that were sent before; None: there are none."""
    abandon: str | None
    """How many users hang up, and when; None: all stay."""
    workers: int
    key_variable: str | None
    """Environment variable of the key that goes to this host; None: no key may."""


@dataclass(frozen=True, slots=True)
class StepMark:
    """The step in force; users `first` up to `target` begin spread over `spread_s` seconds."""

    number: int = 0
    repeat: int = 1
    first: int = 0
    target: int = 0
    spread_s: float = 0.0
    warmup: bool = False
    level: int = 0
    """Place in the plan, from 1; 0 before the first level."""
    rate: float | None = None
    """Requests per second of an open loop, over all processes."""
    starts_at: float = 0.0
    """When the schedule of that rate begins, Unix seconds on the master's clock."""


class Session:
    """One test in one process."""

    def __init__(self, work: Work, worker: str, index: int, wall_offset: float) -> None:
        self.work = work
        self.worker = worker
        self.key = os.environ.get(work.key_variable) if work.key_variable else None
        self.wall_offset = wall_offset
        self.dialect = dialect_of(work.api, stream=work.stream, path=work.path)
        self.sampling = Sampling(
            work.model, work.temperature, ignore_eos=work.ignore_eos, include_usage=work.include_usage
        )
        self.timeouts = Timeouts(**work.timeouts)
        self.book = PromptBook(work.seed, work.run_id, work.tokens_per_character)
        self.prompt_tokens: Distribution = parse_token_count(work.prompt_tokens)
        self.max_tokens: Distribution = parse_token_count(work.max_tokens)
        self.long_context_tokens: Distribution = parse_token_count(work.long_context_tokens)
        self.turns: Distribution = parse_token_count(work.turns)
        self.think_time: Distribution = parse_distribution(work.think_time)
        self.leaving = parse_abandon(work.abandon) if work.abandon else Leaving()
        self.ledger = Ledger(self.wall)
        self.dataset = Dataset()
        """The recorded requests."""
        self.step = StepMark()
        self.gate = Event()
        """Users pass it before each request; closed while the run is drained."""
        self.gate.set()
        self.gate_epoch = 0
        self._index = index
        self._users = itertools.count()
        self._requests = itertools.count(1)
        self._address: Address = parse_address(work.host)
        self.head = request_head(self.dialect.path(work.model), self._address, self.key)

    def wall(self) -> float:
        """Unix seconds on the master's clock."""
        return time.perf_counter() + self.wall_offset

    def enter(self, step: StepMark) -> None:
        """A step is in force from now on; with a new pass the users are numbered anew."""
        if step.repeat != self.step.repeat:
            self._users = itertools.count()
        self.step = step

    def connection(self) -> Connection:
        """A new connection for one user."""
        return Connection(self._address, self.timeouts.connect_s)

    def next_user(self) -> int:
        """Number of the next user over all workers: the k-th of worker w of W is k * W + w."""
        return next(self._users) * self.work.workers + self._index

    def next_request_id(self) -> str:
        """`<worker>-<n>`, unique in the run."""
        return f"{self.worker}-{next(self._requests)}"

    def wait_for_turn(self, user: int) -> None:
        """Let a level's new users begin one after the other: users with equal answers would march in step."""
        step = self.step
        if step.spread_s > 0 and step.first <= user < step.target:
            gevent.sleep(step.spread_s * (user - step.first) / (step.target - step.first))

    def pause(self, source: random.Random) -> float:
        """Think, and say how many seconds it really took."""
        before = time.perf_counter()
        gevent.sleep(self.think_time.draw(source))
        return time.perf_counter() - before

    def take_report(self) -> dict[str, Any]:
        """What the master needs to know of this process."""
        return {**self.ledger.take(), "worker": self.worker, "gate_epoch": self.gate_epoch}
