"""Asks the model for answers: one long enough to see whether it streams, the longest prompt of the plan, one twice.

Knows: which requests tell what, and how little is enough. Must not know: what their answers mean.

Everything is asked by the probe, over its connection and into its counts. Nothing here asks for more than a run of
the plan would, for there are servers that die of a prompt that is too long.
"""

import time
from dataclasses import replace

import gevent

from loadband.load.exchange import Exchange
from loadband.load.passage import write
from loadband.load.probe import ANSWER_TOKENS, Probe
from loadband.load.prompts import NONCE_TOKENS, PromptBook, no_rest
from loadband.load.token_clock import TokenClock
from loadband.load.token_table import usual_table
from loadband.tuning.doctor.needs import Needs
from loadband.tuning.doctor.seen import Pair, Prompted, Seen

LOOK_S = 1.0
"""About how long the answer that shows whether it streams may take."""

LOOK_TOKENS = (32, 256)
"""Fewest and most tokens of that answer."""

KIND = "chat"
"""Of text that all vocabularies know."""

TERSE = "Answer with the single word yes and nothing else."
"""A model that may end, soon does."""

TALKATIVE = "Count from one to five hundred in words, one number on each line."

TWICE_TOKENS = 1500
"""Of the prompt that is asked twice: long enough to be slow to read, short enough for most contexts."""

TWICE = 3
"""So many pairs: one alone may meet a busy moment."""

SHORT_TOKENS = 4
TICK_S = 0.001
TASTE_S = 0.05
"""How often a long answer is looked at for its first token."""


def seen_of(exchange: Exchange, asked_tokens: int, *, ignore_eos: bool = True) -> Seen:
    """The values of an exchange that ended."""
    answer, tokens = exchange.answer, exchange.tokens
    asked = exchange.start + (exchange.connect_s or 0.0)
    return Seen(
        asked_tokens=asked_tokens,
        asked_ignore_eos=ignore_eos,
        failure_class=None if exchange.failure is None else str(exchange.failure.failure_class),
        message="" if exchange.failure is None else exchange.failure.message,
        status=answer.http_status,
        events=tokens.events,
        reads=_reads(tokens),
        ttft_s=None if tokens.first is None else tokens.first - asked,
        spread_s=0.0 if tokens.first is None or tokens.last is None else tokens.last - tokens.first,
        output_tokens=answer.usage.output_tokens,
        prompt_tokens=answer.usage.prompt_tokens,
        cached_tokens=answer.usage.cached_tokens,
        finish_reason=answer.finish_reason,
        model=answer.model,
    )


def _reads(tokens: TokenClock) -> int:
    return len(tokens.gaps) + 1 if tokens.events else 0


def look_tokens(small: list[Seen]) -> int:
    """Tokens of an answer that takes about `LOOK_S`, by the fastest of the probe's small ones (others may be cold)."""
    costs = [(s.ttft_s + s.spread_s) / (s.output_tokens or s.events) for s in small if s.ttft_s is not None]
    fewest, most = LOOK_TOKENS
    return max(fewest, min(most, round(LOOK_S / max(min(costs, default=LOOK_S), LOOK_S / most))))


def _tick(stamps: list[float]) -> None:
    while True:
        gevent.sleep(TICK_S)
        stamps.append(time.perf_counter())


class Questions:
    """Asks a target that the probe has found fit."""

    def __init__(self, probe: Probe, needs: Needs) -> None:
        self._probe = probe
        self._needs = needs
        table = probe.found.lengths.table
        self._table = table if KIND in table.kinds else usual_table()
        self._book = PromptBook(1, "doctor", self._table)
        found = probe.found
        self.small = [seen_of(each, ANSWER_TOKENS, ignore_eos=found.ignore_eos) for each in found.exchanges]
        """What the probe asked already."""

    def terse(self) -> Seen:
        """An answer that wants to be short, of as many tokens as the look needs, asked as the run will ask."""
        fewest = LOOK_TOKENS[0]
        return self._watched(TERSE, min(look_tokens(self.small), max(self._needs.longest_answer, fewest)))

    def terse_freely(self, tokens: int) -> Seen:
        """The same, free to end."""
        exchange = self._probe.ask_again(f"{self._probe.nonce()} {TERSE}", tokens, ignore_eos=False)
        return seen_of(exchange, tokens, ignore_eos=False)

    def talkative(self, tokens: int) -> Seen:
        """An answer that wants to be long."""
        return self._watched(TALKATIVE, tokens)

    def longest_prompt(self) -> Prompted:
        """A prompt as long as the plan's longest."""
        return self._prompted(self._needs.longest_prompt)

    def shortest_prompt(self) -> Prompted:
        """A prompt as short as the plan's shortest."""
        return self._prompted(self._needs.shortest_prompt)

    def _prompted(self, tokens: int) -> Prompted:
        bare = next((e.answer.usage.prompt_tokens for e in self._probe.found.exchanges if e.failure is None), None)
        seen = self._ask(f"{self._probe.nonce()} {self._text(tokens - NONCE_TOKENS, tokens)}", SHORT_TOKENS)
        return Prompted(tokens, None if bare is None else max(0, bare - NONCE_TOKENS), seen)

    def largest_request(self) -> Seen:
        """The plan's longest prompt with its longest answer; hung up at the first token."""
        tokens = self._needs.longest_prompt
        content = f"{self._probe.nonce()} {self._text(tokens - NONCE_TOKENS, -tokens)}"
        return self._until_first_token(content, self._needs.longest_answer)

    def _text(self, tokens: int, number: int) -> str:
        """A passage of about so many tokens, by what the probe measured of them; another for another number."""
        return write(self._table, KIND, tokens, self._book.source(0, number), no_rest)[0].strip()

    def pairs(self, context_limit: int | None) -> list[Pair]:
        """A long prompt twice, several times."""
        tokens = min(TWICE_TOKENS, max(self._needs.longest_prompt, (context_limit or 0) // 3))
        pairs: list[Pair] = []
        while len(pairs) < TWICE and (not pairs or pairs[-1].second.failure_class is None):
            content = f"{self._probe.nonce()} {self._text(tokens, len(pairs))}"
            pairs.append(Pair(self._ask(content, SHORT_TOKENS), self._ask(content, SHORT_TOKENS)))
        return pairs

    def _watched(self, text: str, tokens: int) -> Seen:
        """An answer, and how often this client's event loop came round meanwhile."""
        stamps: list[float] = []
        ticker = gevent.spawn(_tick, stamps)
        try:
            seen = self._ask(f"{self._probe.nonce()} {text}", tokens)
        finally:
            ticker.kill()
        last = self._probe.found.exchanges[-1].tokens.last
        return replace(seen, client_ticks=sum(last is None or stamp <= last for stamp in stamps))

    def _ask(self, content: str, tokens: int) -> Seen:
        exchange = self._probe.ask_again(content, tokens)
        return seen_of(exchange, tokens, ignore_eos=self._probe.found.ignore_eos)

    def _until_first_token(self, content: str, tokens: int) -> Seen:
        asking = gevent.spawn(self._probe.ask_again, content, tokens)
        before = len(self._probe.found.exchanges)
        gevent.sleep(0)
        while not asking.ready() and not self._tasted(before):
            gevent.sleep(TASTE_S)
        asking.kill()
        return seen_of(self._probe.found.exchanges[-1], tokens)

    def _tasted(self, before: int) -> bool:
        exchanges = self._probe.found.exchanges
        return len(exchanges) > before and exchanges[-1].tokens.first is not None


def closes_after_answers(exchanges: list[Exchange]) -> bool | None:
    """Whether the server ends the connection after each streamed answer; None from fewer than two answers."""
    later = [e for e in exchanges[1:] if e.failure is None]
    return all(e.connect_s is not None for e in later) if later else None
