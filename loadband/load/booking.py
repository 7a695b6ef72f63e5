"""From an exchange to its record.

Knows: the columns of `requests.csv` and where each comes from. Must not know: sockets, Locust, files.
"""

import functools
from dataclasses import dataclass

from loadband.load.degenerate import is_degenerate
from loadband.load.exchange import Exchange
from loadband.load.ledger import Open
from loadband.load.retries import Retries
from loadband.load.session import Session, StepMark
from loadband.record import BUFFERED_EVENTS, Record, Status, TokenSource
from loadband.rundir import one_line

BACKEND_HEADERS = (
    "x-backend", "x-backend-id", "x-served-by", "x-upstream", "x-upstream-addr", "x-pod-name", "x-worker-id",
    "x-instance-id",
)  # fmt: skip
"""By which a router or gateway tells who answered; the first that is there."""

FAR_MORE = 100
"""So many times the asked length, and the events: several choices and hidden reasoning stay well below."""

SHORT = 100
"""What is no longer than so many characters may come again."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user asked, and in which place of the run."""

    id: str
    scenario: str
    kind: str
    user: int
    step: StepMark
    tokens_asked: int | None
    max_tokens: int
    think_s: float | None
    in_flight: int
    """Requests of this process in flight when it began, itself among them."""
    conversation: int | None = None
    turn: int | None = None
    adapter: str | None = None
    planned: float | None = None
    """When the schedule of an open loop wanted it, Unix seconds on the master's clock."""
    waited: bool = False
    """The process had no place free at that moment."""
    attempt: int = 1
    """Which attempt of its request this is."""

    def opened(self, started_at: float) -> Open:
        """What the master must know of the request while it is in flight."""
        return Open(
            self.id, self.scenario, self.kind, self.step.number, self.step.repeat, self.user, self.conversation,
            self.turn, started_at,
        )  # fmt: skip


def wait_before_retry(exchange: Exchange, asked: Asked, session: Session) -> float | None:
    """Seconds until a request that failed is asked again; None when it is not, or its user will have left by then."""
    if not session.work.retries or exchange.failure is None or exchange.tokens.events:
        return None
    seed = f"{session.work.seed}/{asked.user}/{asked.id}"
    told, when = exchange.answer.header("retry-after"), session.wall()
    wait_s = Retries(session.work.retries).wait_s(asked.attempt, exchange.failure.failure_class, told, when, seed)
    return None if wait_s is None or exchange.end + wait_s >= exchange.leave_at else wait_s


def record_of(exchange: Exchange, asked: Asked, session: Session, *, retried: bool = False) -> Record:
    """The record of an exchange that ended; `retried`: its user asks again."""
    answer, timing, failure = exchange.answer, exchange.tokens.timing(), exchange.failure
    tokens = counted(exchange, asked.max_tokens)
    source = TokenSource.USAGE
    if tokens is None:
        tokens, source = timing.events or None, TokenSource.EVENTS
    hidden = hidden_tokens(exchange)
    shown = None if tokens is None else tokens - hidden
    at_once = timing.ttft_s is not None and timing.ttft_s == timing.e2e_s and (shown or 0) >= BUFFERED_EVENTS
    buffered = timing.buffered or at_once
    return Record(
        id=asked.id,
        worker=session.worker,
        scenario=asked.scenario,
        kind=asked.kind,
        step=asked.step.number,
        step_end=session.step.number,
        repeat=asked.step.repeat,
        user=asked.user,
        conversation=asked.conversation,
        turn=asked.turn,
        started_at=exchange.start + session.wall_offset,
        status=exchange.status,
        failure_class=failure.failure_class if failure else None,
        http_status=answer.http_status,
        message=_words(failure.message, session) if failure else None,
        connect_s=exchange.connect_s,
        sent_s=exchange.sent_s,
        first_byte_s=None if answer.first_byte is None else answer.first_byte - exchange.start,
        ttft_s=timing.ttft_s,
        ttfa_s=timing.ttfa_s,
        tpot_s=None if buffered else exchange.tokens.tpot(shown),
        e2e_s=timing.e2e_s,
        felt_s=None if timing.e2e_s is None else timing.e2e_s + (exchange.start - exchange.first_start),
        itl_p50_s=None if buffered else timing.itl_p50_s,
        itl_p99_s=None if buffered else timing.itl_p99_s,
        itl_max_s=None if buffered else timing.itl_max_s,
        events=timing.events,
        output_tokens=tokens,
        prompt_tokens=answer.usage.prompt_tokens,
        reasoning_tokens=answer.usage.reasoning_tokens,
        cached_tokens=answer.usage.cached_tokens,
        tool_calls=answer.tool_calls or None,
        token_source=source if tokens is not None else None,
        finish_reason=_words(answer.finish_reason, session),
        schedule_lag_s=None if asked.planned is None else exchange.start + session.wall_offset - asked.planned,
        think_s=asked.think_s,
        worker_in_flight=asked.in_flight,
        prompt_tokens_asked=asked.tokens_asked,
        max_tokens=asked.max_tokens,
        model_answered=_words(answer.model, session),
        adapter=asked.adapter,
        backend=_words(next(filter(None, map(answer.header, BACKEND_HEADERS)), None), session),
        attempts=asked.attempt,
        flags=_flags(exchange, asked, bursty=timing.bursty, buffered=buffered, hidden=hidden > 0, retried=retried)
        or None,
        duration_s=exchange.end - exchange.start,
    )


def counted(exchange: Exchange, max_tokens: int) -> int | None:
    """Output tokens as the server counts them; None also of a count that cannot be.

    None at all of an answer that said something is none, and so is far more than was asked for and came.
    """
    answer, events = exchange.answer, exchange.tokens.events
    tokens = answer.usage.output_tokens
    if tokens is None or tokens > FAR_MORE * max(max_tokens, events):
        return None
    return tokens or (None if events or answer.text or answer.thoughts else 0)


def text_to_count(exchange: Exchange, session: Session, max_tokens: int) -> str | None:
    """The whole text of an answer whose tokens are to be counted after the run, as the server did not; None of others.

    The arguments of tool calls are no text that is kept: with them, events stay what stands for tokens.
    """
    answer = exchange.answer
    if not session.work.counts_texts or answer.tool_calls or counted(exchange, max_tokens) is not None:
        return None
    text = "".join([*answer.thoughts, *answer.text])
    if session.key:
        text = text.replace(session.key, "***")
    return text.encode(errors="replace").decode() or None


def _words(told: str | None, session: Session) -> str | None:
    """What a server told, fit for a report: short, without the key, and without half a surrogate pair."""
    if told is None:
        return None
    return (_fit_again if len(told) <= SHORT else _fit)(told, session.key or "")


def _fit(told: str, key: str) -> str:
    return one_line(told, [key]).encode(errors="replace").decode()


_fit_again = functools.lru_cache(maxsize=256)(_fit)
"""Finish reasons and models come with every answer."""


def hidden_tokens(exchange: Exchange) -> int:
    """Tokens of reasoning that the server counts and never showed: they were made before the first event.

    Where reasoning stands in the text itself, its events are there: there are more than shown tokens.
    """
    usage, events = exchange.answer.usage, exchange.tokens.events
    hidden, output = usage.reasoning_tokens or 0, usage.output_tokens or 0
    if exchange.answer.thoughts or not events or not 0 < hidden <= output or events > output - hidden + 1:
        return 0
    return hidden


def _flags(exchange: Exchange, asked: Asked, *, bursty: bool, buffered: bool, hidden: bool, retried: bool) -> str:
    ended, answer = exchange.status == Status.OK, exchange.answer
    flags = {
        "warmup": asked.step.warmup,
        "waited": asked.waited,
        "bursty": bursty,
        "buffered": buffered,
        "hidden_reasoning": hidden,
        "no_done": ended and answer.no_done,
        "not_a_stream": ended and not answer.is_stream,
        "stale_connection": exchange.stale,
        "retried": retried,
        "degenerate": ended
        and is_degenerate(answer.text, answer.finish_reason, said=bool(exchange.tokens.events or answer.text)),
    }
    return ";".join(flag for flag, is_set in flags.items() if is_set)
