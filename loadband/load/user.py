"""A Locust user that talks to a model: asks, books the answer, thinks.

Knows: Locust's user life (start, task, kill) and its statistics. Must not know: HTTP, files, how levels are chosen.

Exactly one Locust request event a request (E2E; failures without a time). TTFT and TPOT are rows of their own,
logged beside `Aggregated` and never into it. A request of a user that is stopped in mid-answer is booked as cut,
and fires no event.
"""

import itertools
import random
import time
from typing import Any, ClassVar, NamedTuple

import gevent
from locust import User, task
from locust.env import Environment

from loadband.load.booking import Asked, record_of, text_to_count, wait_before_retry
from loadband.load.connection import Connection
from loadband.load.exchange import Exchange
from loadband.load.prompts import Nonce, Prompt
from loadband.load.request import whole_request
from loadband.load.scenario_options import FOR_ALL, ScenarioOptions
from loadband.load.session import Session, StepMark
from loadband.load.turns import turns
from loadband.record import FailureClass, Record, Status

BACK_OFF_S = 0.5
"""Pause after a request that found no server: users must not hammer a dead port."""

QUICK_FAILURE_S = 0.25
"""A user whose requests fail at once makes no more than four attempts a second; a refusal costs the server little."""

NO_SERVER = frozenset({FailureClass.CONNECT, FailureClass.TIMEOUT_CONNECT, FailureClass.TLS, FailureClass.CLIENT})

DISTINCT_SENTENCES = 50
"""Beyond this many different sentences Locust's failure table shows the class alone: its memory is bounded."""

_sentences: set[str] = set()


class RequestFailedError(Exception):
    """What Locust's failure table shows of a failed request."""


def session_of(environment: Environment) -> Session:
    """The session of the running test. A test that the master refused has none: its users wait until it is stopped."""
    while getattr(environment, "loadband_session", None) is None:
        gevent.sleep(0.1)
    session: Session = environment.loadband_session  # type: ignore[attr-defined]
    return session


class Reply(NamedTuple):
    """What came back: the record, and the visible answer."""

    record: Record
    text: str

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.record.status == Status.OK

    @property
    def tokens(self) -> int | None:
        """Tokens of prompt and answer together, where the server counts them."""
        prompt, output = self.record.prompt_tokens, self.record.output_tokens
        return None if prompt is None or output is None else prompt + output


class Arrival(NamedTuple):
    """A place in the schedule of an open loop."""

    step: StepMark
    planned: float
    """Unix seconds on the master's clock."""
    waited: bool
    """The process had no place free when it came."""


class ModelUser(User):
    """Base of the scenarios: one connection, one user number, requests one after the other."""

    abstract = True
    scenario: ClassVar[str]
    """Name of the scenario in every file and report."""

    connection: Connection | None = None
    arrival: Arrival | None = None
    """Set in an open loop, where each arrival is a user of its own who asks once."""
    thought: float | None = None
    adapter: str | None = None
    takes: ClassVar[frozenset[str]] = FOR_ALL
    """Keys of `--set` that mean something to the scenario."""
    _since: float | None = None
    """Monotonic second at which the pause began; None before the first answer."""
    _due: float = 0.0
    """Monotonic second at which the next request is due: what it needs is made ready before."""

    @property
    def step(self) -> StepMark:
        """The step that what is asked now belongs to."""
        return self.session.step if self.arrival is None else self.arrival.step

    def on_start(self) -> None:
        """Take a number and wait for this user's turn in the level's start."""
        self.session = session_of(self.environment)
        self.number = self.session.next_user()
        self.connection = self.session.connection()
        self.conversations = 0
        self._due = time.perf_counter() + self.session.turn_s(self.number)

    def on_stop(self) -> None:
        """Close the kept connection."""
        if self.connection is not None:
            self.connection.close()

    @task
    def next_conversation(self) -> None:
        """Locust asks for the next piece of work."""
        if self.session.read_in_loop:
            turns().take()
        self.conversations += 1
        self.converse(self.session.book.source(self.number, self.conversations))

    def converse(self, source: random.Random) -> None:
        """One conversation of the scenario, with the pauses after its turns. All random draws come from `source`."""
        raise NotImplementedError

    @property
    def options(self) -> ScenarioOptions:
        """What this scenario asks for."""
        return self.session.options(self.scenario)

    def nonce(self) -> Nonce:
        """The mark that this conversation's first prompt begins with, and no other."""
        return self.session.book.nonce(self.step.repeat, self.number, self.conversations)

    def ask(self, messages: list[dict[str, str]], prompt: Prompt, max_tokens: int, turn: int | None = None) -> Reply:
        """Send one request and read its answer to the end; however it ends, it is booked. `turn` counts from 1.

        With `--retries` each attempt is a request of its own; what is returned is the last one.

        The request is made ready first; then comes what is left of the pause, and only then the request's start.
        """
        session = self.session
        self.adapter = session.adapter(self.number, self.conversations)
        sampling = session.sampling(self.scenario, self.adapter)
        head = session.conversation_head(self.number, self.conversations, sampling.model)
        request = whole_request(head, session.dialect.body(sampling, messages, max_tokens))
        self._await_moment()
        leave_s = session.leaving.patience_s(session.work.seed, self.number, self.conversations, turn or 1)
        first: float | None = None
        for attempt in itertools.count(1):
            session.gate.wait()
            exchange = Exchange(
                self._connected(), session.dialect, session.timeouts, session.wall_offset, first=first,
                leave_s=leave_s, echo=session.dialect.echo(messages), reason_due=session.reason_due,
            )  # fmt: skip
            first = exchange.first_start
            asked = Asked(
                id=session.next_request_id(),
                scenario=self.scenario,
                kind=prompt.kind,
                user=self.number,
                step=self.step,
                tokens_asked=prompt.tokens_asked,
                max_tokens=max_tokens,
                think_s=self.thought if attempt == 1 else None,
                in_flight=session.ledger.in_flight + 1,
                conversation=None if turn is None else self.conversations,
                turn=turn,
                adapter=self.adapter,
                planned=self.arrival.planned if self.arrival and attempt == 1 else None,
                waited=self.arrival.waited if self.arrival and attempt == 1 else False,
                attempt=attempt,
            )
            record, wait_s = self._send(exchange, request, asked)
            if wait_s is None:
                break
            gevent.sleep(wait_s)
        self._back_off(record)
        return Reply(record, "".join(exchange.answer.text))

    def _send(self, exchange: Exchange, request: bytes, asked: Asked) -> tuple[Record, float | None]:
        """One attempt, booked however it ends; seconds until the next one, None where there is none."""
        session, wait_s = self.session, None
        session.ledger.begin(asked.opened(exchange.start + session.wall_offset))
        try:
            exchange.run(request)
            wait_s = wait_before_retry(exchange, asked, session)
        finally:
            session.reason_due = session.reason_due or exchange.answer.finish_reason is not None
            record = record_of(exchange, asked, session, retried=wait_s is not None)
            session.ledger.end(record, exchange.tokens, text_to_count(exchange, session, asked.max_tokens))
            self._tell_locust(record, exchange.answer.size)
        return record, wait_s

    def _await_moment(self) -> None:
        """Be ready a little early, and begin when the schedule says, or when the pause is over; say how long it was."""
        if self.arrival is not None:
            while (left := self.arrival.planned - self.session.wall()) > 0:
                gevent.sleep(left)
            return
        if (left := self._due - time.perf_counter()) > 0:
            gevent.sleep(left)
        self.thought = None if self._since is None else time.perf_counter() - self._since

    def _back_off(self, record: Record) -> None:
        """After a failure that came at once, keep from asking again at once. Arrivals come when they come."""
        if self.arrival is not None:
            return
        if record.failure_class in NO_SERVER:
            gevent.sleep(BACK_OFF_S)
        elif record.status == Status.FAILED and (record.duration_s or 0.0) < QUICK_FAILURE_S:
            gevent.sleep(QUICK_FAILURE_S - (record.duration_s or 0.0))

    def think(self, source: random.Random) -> None:
        """Pause before the next request, which may be made ready meanwhile. Who came to ask once just leaves."""
        if self.arrival is None:
            self._since = time.perf_counter()
            self._due = self._since + self.options.think_time.draw(source)

    def _connected(self) -> Connection:
        if self.connection is None:
            raise RuntimeError("a user asked before it was started")
        return self.connection

    def _tell_locust(self, record: Record, size: int) -> None:
        if record.status in (Status.CUT, Status.ABANDONED):
            return
        ok = record.status == Status.OK
        event: dict[str, Any] = {
            "request_type": "E2E",
            "name": self.scenario,
            "response_time": record.e2e_s * 1000 if ok and record.e2e_s is not None else None,
            "response_length": size,
            "exception": None if ok else RequestFailedError(_shown(record)),
            "context": {},
        }
        self.environment.events.request.fire(**event)
        if not ok:
            return
        for metric, value in (("TTFT", record.ttft_s), ("TPOT", record.tpot_s)):
            if value is not None:
                self.environment.stats.entries[(self.scenario, metric)].log(value * 1000, 0)


def _shown(record: Record) -> str:
    sentence = f"{record.failure_class}: {record.message}"
    if sentence not in _sentences:
        if len(_sentences) >= DISTINCT_SENTENCES:
            return str(record.failure_class)
        _sentences.add(sentence)
    return sentence
