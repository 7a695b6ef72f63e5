"""Prompts of the asked number of tokens, unlike each other, the same again from one seed.

Knows: how a prompt is put together, what makes it one of a kind. Must not know: servers, requests, Locust.

Text = f(seed, user number, request number) of one token table, so it does not depend on the number of workers. A nonce
= f(run id, repeat, user, request) comes first, so that no prefix cache flatters the server, also not in a second run
with the same seed; fixed, it is f(seed, user, request), and every run and pass asks the same bytes. A shared prefix
stands before it, and is not part of the drawn length.
"""

import functools
import hashlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadband.load import passage
from loadband.load.pools import DOCUMENT, JOINTS, QUESTION, SHORT_KINDS
from loadband.load.token_table import TokenTable, usual_table

MARK = "#"
"""A nonce begins with it: one token in every vocabulary."""

NONCE_WORDS = 5
"""Each one of 256, 40 bits in all: among a hundred thousand prompts two nonces are alike in one run of two hundred."""

NONCE_TOKENS = NONCE_WORDS + 1
"""What a nonce costs in most vocabularies."""


def no_rest() -> None:
    """Work on without a pause."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and what was asked of it."""

    kind: str
    text: str
    tokens_asked: int | None
    """None where no length was asked for."""


@dataclass(frozen=True, slots=True)
class Nonce:
    """What a prompt begins with, and no other; and the tokens that it costs."""

    text: str
    tokens: float


class PromptBook:
    """Writes the prompts of one run."""

    def __init__(
        self,
        seed: int,
        run_id: str,
        table: TokenTable | None = None,
        *,
        nonce_fixed: bool = False,
        shared_prefix: int = 0,
        rest: Callable[[], None] = no_rest,
    ) -> None:
        """`shared_prefix`: tokens that every prompt begins with; `rest` is called now and then while one is written."""
        self._seed = seed
        self._run_id = run_id
        self._table = table or usual_table()
        self._fixed = nonce_fixed
        self._prefix_tokens = shared_prefix
        self._rest = rest

    def source(self, user: int, request: int) -> random.Random:
        """All random draws of one request come from here."""
        return random.Random(f"{self._seed}/{user}/{request}")

    def prompt(self, source: random.Random, tokens: int, nonce: Nonce, kinds: Sequence[str] = SHORT_KINDS) -> Prompt:
        """A prompt of `tokens` tokens, of any of these kinds."""
        kind = source.choice(kinds)
        body, _ = passage.write(self._table, kind, tokens - nonce.tokens, source, self._rest)
        return Prompt(kind, f"{self.prefix}{nonce.text}{body}", tokens + self._prefix_tokens)

    def document(self, source: random.Random, tokens: int, nonce: Nonce) -> Prompt:
        """A long text and a question about it, together of `tokens` tokens."""
        question = source.choice(self._table.pieces(QUESTION))
        left = tokens - nonce.tokens - question.cost
        body, _ = passage.write(self._table, DOCUMENT, left, source, self._rest)
        text = f"{self.prefix}{nonce.text}{body}{JOINTS[QUESTION]}{question.text}"
        return Prompt(DOCUMENT, text, tokens + self._prefix_tokens)

    def nonce(self, repeat: int, user: int, request: int) -> Nonce:
        """A mark that no other request of this or of another run begins with; fixed: no other of this seed."""
        run = f"seed {self._seed}" if self._fixed else f"{self._run_id}/{repeat}"
        digest = hashlib.blake2b(f"{run}/{user}/{request}".encode(), digest_size=NONCE_WORDS).digest()
        words = [self._table.words[byte % len(self._table.words)] for byte in digest]
        return Nonce(MARK + "".join(word for word, _ in words), 1 + sum(cost for _, cost in words))

    def estimate(self, text: str) -> int:
        """About how many tokens any text has, by its characters."""
        chinese = sum(character >= "\u3000" for character in text)
        return math.ceil(chinese * self._table.rate("zh") + (len(text) - chinese) * self._table.rate("chat"))

    @functools.cached_property
    def prefix(self) -> str:
        """What every prompt of every run with this seed begins with, the blank line behind it too; mostly nothing."""
        if not self._prefix_tokens:
            return ""
        source = random.Random(f"{self._seed}/prefix")
        text, _ = passage.write(self._table, DOCUMENT, self._prefix_tokens, source, self._rest)
        return text.lstrip() + JOINTS[DOCUMENT]
