"""One user's end of the wire, for tests: a connection to an address, requests over it, and their records.

Knows: how the load half asks and books. Must not know: Locust, any test.
"""

from loadband.load.booking import Asked, record_of
from loadband.load.connection import Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.request import request_head, whole_request
from loadband.load.says import Sampling
from loadband.load.session import StepMark
from loadband.record import Record
from tests.load.records import session_of

PATIENT = Timeouts(connect_s=60, first_token_s=120, idle_s=60, total_s=180)
"""For a machine that may be doing other work: the last of many waits for all others."""


class Asker:
    """Sends requests one after the other over one kept connection."""

    def __init__(
        self, url: str, timeouts: Timeouts | None = None, api: str = "openai-chat", *, stream: bool = True
    ) -> None:
        self.address = parse_address(url)
        self.timeouts = timeouts or Timeouts(connect_s=5, first_token_s=5, idle_s=5, total_s=20)
        self.connection = Connection(self.address, self.timeouts.connect_s)
        self.dialect = dialect_of(api, stream=stream)
        self.reason_due = False
        self._head = request_head(self.dialect.path("m"), self.address, None)

    def exchange(self, words: str = "hello") -> Exchange:
        """The next request, not yet sent."""
        echo = self.dialect.echo(self._messages(words))
        return Exchange(self.connection, self.dialect, self.timeouts, echo=echo, reason_due=self.reason_due)

    def request(self, words: str = "hello", max_tokens: int = 16, model: str = "oracle") -> bytes:
        """The bytes of a request."""
        body = self.dialect.body(Sampling(model, ignore_eos=True), self._messages(words), max_tokens)
        return whole_request(self._head, body)

    def ask(self, words: str = "hello", max_tokens: int = 16) -> Exchange:
        """Send one request and read its answer."""
        exchange = self.exchange(words)
        exchange.run(self.request(words, max_tokens))
        self.reason_due = self.reason_due or exchange.answer.finish_reason is not None
        return exchange

    @staticmethod
    def _messages(words: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": words}]


def booked(exchange: Exchange, max_tokens: int = 16) -> Record:
    """The record of an exchange that ended."""
    asked = Asked(
        id="w0-1", scenario="interactive", kind="chat", user=0, step=StepMark(), tokens_asked=None,
        max_tokens=max_tokens, think_s=None, in_flight=1,
    )  # fmt: skip
    return record_of(exchange, asked, session_of())
