"""What the users of one process share during one test.

Knows: target, sampling, prompts, time-outs, the step in force, the gate, this process's place among the workers.
Must not know: Locust's runners, files, how a level is chosen.
"""

import itertools
import os
import time
from dataclasses import dataclass
from typing import Any

from gevent.event import Event

from loadband.load.connection import Address, Connection, parse_address
from loadband.load.dataset import Dataset
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Timeouts
from loadband.load.leaving import Leaving, parse_abandon
from loadband.load.ledger import Ledger
from loadband.load.pools import SHORT_KINDS
from loadband.load.prompts import PromptBook
from loadband.load.read_thread import read_thread
from loadband.load.request import request_head
from loadband.load.rest import Rest
from loadband.load.says import Sampling
from loadband.load.scenario_options import ScenarioOptions, Settings, options_of
from loadband.load.token_table import TokenTable


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
    token_table: dict[str, Any]
    """What the texts of the pools cost on the target, as on the wire; empty: what is usual."""
    timeouts: dict[str, float]
    retries: int
    """How often a request that failed is asked again at most."""
    long_context_tokens: str
    turns: str
    api: str
    path: str | None
    stream: bool
    include_usage: bool
    counts_texts: bool
    """Texts of answers that the server does not count are kept, for a tokenizer to count them after the run."""
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
    nonce: str
    """`run` or `fixed`."""
    shared_prefix: int
    """Tokens that every prompt begins with."""
    extra_body: str
    """JSON that is merged into every request."""
    settings: Settings
    """What one scenario asks for otherwise than all."""
    adapters: list[str]
    """Names of LoRA adapters that conversations are spread over; empty: the model itself."""
    session_header: str | None
    """A header that names the conversation, for routers that keep it on one server."""
    key_variable: str | None
    """Environment variable of the key that goes to this host; None: no key may."""
    first_request: int = 1
    """Number of each process's first request: in a run that is gone on with no id comes twice."""


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
        self.timeouts = Timeouts(**work.timeouts)
        self.book = PromptBook(
            work.seed,
            work.run_id,
            TokenTable(**work.token_table) if work.token_table else None,
            nonce_fixed=work.nonce == "fixed",
            shared_prefix=work.shared_prefix,
            rest=Rest(),
        )
        self._options: dict[str, ScenarioOptions] = {}
        self._samplings: dict[tuple[str, str | None], Sampling] = {}
        self.leaving = parse_abandon(work.abandon) if work.abandon else Leaving()
        self.ledger = Ledger(self.wall)
        self.reason_due = False
        """The server has given a finish reason: an answer without one was broken off."""
        self.dataset = Dataset()
        """The recorded requests."""
        self.step = StepMark()
        self.gate = Event()
        """Users pass it before each request; closed while the run is drained."""
        self.gate.set()
        self.gate_epoch = 0
        self._index = index
        self._users = itertools.count()
        self._requests = itertools.count(work.first_request)
        self._address: Address = parse_address(work.host)
        self.read_in_loop = read_thread() is None
        """The event loop reads its connections; else a thread of its own does."""
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

    def options(self, scenario: str) -> ScenarioOptions:
        """What a scenario asks for. Raises UsageError."""
        if scenario not in self._options:
            self._options[scenario] = scenario_options(self.work, scenario)
        return self._options[scenario]

    def sampling(self, scenario: str, adapter: str | None) -> Sampling:
        """What every request of a scenario asks for."""
        if (found := self._samplings.get((scenario, adapter))) is not None:
            return found
        asked = self.options(scenario)
        model = adapter or self.work.model
        sampling = self._samplings[scenario, adapter] = Sampling(
            model,
            asked.temperature,
            ignore_eos=self.work.ignore_eos,
            extra_body=asked.extra_body,
            include_usage=self.work.include_usage,
        )
        return sampling

    def adapter(self, user: int, conversation: int) -> str | None:
        """The adapter of a conversation: each in turn, whatever the number of workers."""
        names = self.work.adapters
        return names[(user + conversation) % len(names)] if names else None

    def conversation_head(self, user: int, conversation: int, model: str) -> bytes:
        """The head of a request, with the session header where one is asked for."""
        if self.work.session_header is None and model == self.work.model:
            return self.head
        more = {}
        if self.work.session_header is not None:
            more = {self.work.session_header: f"{self.work.run_id}-{self.step.repeat}-{user}-{conversation}"}
        return request_head(self.dialect.path(model), self._address, self.key, more)

    def next_user(self) -> int:
        """Number of the next user over all workers: the k-th of worker w of W is k * W + w."""
        return next(self._users) * self.work.workers + self._index

    def next_request_id(self) -> str:
        """`<worker>-<n>`, unique in the run."""
        return f"{self.worker}-{next(self._requests)}"

    def turn_s(self, user: int) -> float:
        """Seconds until a level's new user begins: users with equal answers would march in step."""
        step = self.step
        if step.spread_s > 0 and step.first <= user < step.target:
            return step.spread_s * (user - step.first) / (step.target - step.first)
        return 0.0

    def take_report(self) -> dict[str, Any]:
        """What the master needs to know of this process."""
        return {**self.ledger.take(), "worker": self.worker, "gate_epoch": self.gate_epoch}


def scenario_options(work: Work, scenario: str) -> ScenarioOptions:
    """What a scenario asks for, by the options and its own settings. Raises UsageError."""
    long = scenario == "long_context"
    asked = {
        "prompt_tokens": work.long_context_tokens if long else work.prompt_tokens,
        "max_tokens": work.max_tokens,
        "turns": work.turns,
        "think_time": work.think_time,
        "kinds": ",".join(SHORT_KINDS),
        "temperature": str(work.temperature),
        "extra_body": work.extra_body,
    }
    return options_of(asked, work.settings.get(scenario, {}))
