"""What the target itself tells of tokens: by its tokenizer, and by the prompt tokens of small answers.

Knows: the shapes of `/tokenize`, how to ask many small prompts at once. Must not know: what the counts are for.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gevent.pool import Pool

from loadband.load.connection import Address, Connection
from loadband.load.dialects.dialect import Dialect
from loadband.load.exchange import Exchange, Timeouts
from loadband.load.request import request_head, whole_request
from loadband.load.says import Sampling
from loadband.load.side_request import post
from loadband.load.token_ids import Encode
from loadband.load.told import asked_patiently

TOKENIZE = "/tokenize"
TOKENIZE_WITHIN_S = 20.0

TEXT_FIELDS = ("prompt", "content", "inputs")
"""What vLLM and SGLang, llama.cpp, and TGI call the text."""

AT_ONCE = 8
"""Small prompts in flight together."""

TRY_TEXT = "two words"


@dataclass(slots=True)
class TokenServer:
    """One target, asked for counts. `requests`, `prompt_tokens`, `output_tokens`: what that cost it."""

    address: Address
    key: str | None
    timeouts: Timeouts
    dialect: Dialect
    sampling: Sampling
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0

    def tokenizer(self) -> Encode | None:
        """The target's own tokenizer, where it has one."""
        for field in TEXT_FIELDS:
            encode = self._encoder(field)
            if encode(TRY_TEXT):
                return encode
        return None

    def _encoder(self, field: str) -> Callable[[str], Sequence[int]]:
        def encode(text: str) -> Sequence[int]:
            body = {"model": self.sampling.model, field: text, "add_special_tokens": False, "add_special": False}
            status, told = post(self.address, TOKENIZE, self.key, body, TOKENIZE_WITHIN_S)
            return _ids(told) if status == 200 else ()

        return encode

    def usage(self, texts: Sequence[str]) -> list[int | None]:
        """Prompt tokens that the server tells of each text, the template's among them; asked again once where not."""
        pool = Pool(AT_ONCE)
        told: list[int | None] = pool.map(self._prompt_tokens, texts)
        return [self._prompt_tokens(text) if count is None else count for text, count in zip(texts, told, strict=True)]

    def _prompt_tokens(self, text: str) -> int | None:
        connection = Connection(self.address, self.timeouts.connect_s)
        messages = [{"role": "user", "content": text}]
        made = functools.partial(Exchange, connection, self.dialect, self.timeouts, echo=self.dialect.echo(messages))
        head = request_head(self.dialect.path(self.sampling.model), self.address, self.key)
        try:
            attempts = asked_patiently(made, whole_request(head, self.dialect.body(self.sampling, messages, 1)))
        finally:
            connection.close()
        usage = attempts[-1].answer.usage
        self.requests += len(attempts)
        self.prompt_tokens += usage.prompt_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        return usage.prompt_tokens


def _ids(told: object) -> list[int]:
    """Token numbers in any of the shapes: `{"tokens": [1, 2]}`, also with `{"id": 1}` each, or such a list alone."""
    tokens = told.get("tokens") if isinstance(told, dict) else told
    if not isinstance(tokens, list):
        return []
    ids = [token.get("id") if isinstance(token, dict) else token for token in tokens]
    return [token for token in ids if isinstance(token, int)] if all(isinstance(i, int) for i in ids) else []
