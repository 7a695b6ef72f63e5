"""One user's end of the wire, for tests: a connection to an address and requests over it.

Knows: how the load half asks. Must not know: Locust, any test.
"""

from loadband.load.connection import Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.request import request_head, whole_request
from loadband.load.says import Sampling

DIALECT = dialect_of("openai-chat")

PATIENT = Timeouts(connect_s=60, first_token_s=120, idle_s=60, total_s=180)
"""For a machine that may be doing other work: the last of many waits for all others."""


class Asker:
    """Sends requests one after the other over one kept connection."""

    def __init__(self, url: str, timeouts: Timeouts | None = None) -> None:
        self.address = parse_address(url)
        self.timeouts = timeouts or Timeouts(connect_s=5, first_token_s=5, idle_s=5, total_s=20)
        self.connection = Connection(self.address, self.timeouts.connect_s)
        self._head = request_head(DIALECT.path(""), self.address, None)

    def exchange(self) -> Exchange:
        """The next request, not yet sent."""
        return Exchange(self.connection, DIALECT, self.timeouts)

    def request(self, words: str = "hello", max_tokens: int = 16, model: str = "oracle") -> bytes:
        """The bytes of a request."""
        body = DIALECT.body(Sampling(model, ignore_eos=True), [{"role": "user", "content": words}], max_tokens)
        return whole_request(self._head, body)

    def ask(self, words: str = "hello", max_tokens: int = 16) -> Exchange:
        """Send one request and read its answer."""
        exchange = self.exchange()
        exchange.run(self.request(words, max_tokens))
        return exchange
