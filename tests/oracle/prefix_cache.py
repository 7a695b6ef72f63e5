"""A token stream whose first token waits for what is new of the prompt, as with a prefix cache.

Knows: which beginnings of prompts were seen, over all requests of one script. Must not know: sockets, clocks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.oracle.answers import Headers, Write
from tests.oracle.tokens import Tokens, words


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedTokens(Tokens):
    """`ttft_ms` for a prompt that is known, `word_ms` more for each word after its longest known beginning."""

    word_ms: float = 1.0
    seen: set[int] = field(default_factory=set, compare=False)
    """Hashes of all beginnings of all prompts so far."""

    def writes(self, body: Mapping[str, Any], path: str, extra_headers: Headers = ()) -> Iterator[Write]:
        """The answer to this request as timed writes; its prompt is known from now on."""
        said = " ".join(str(message.get("content", "")) for message in body.get("messages") or ())
        beginnings, so_far = [], 0
        for word in words(said):
            so_far = hash((so_far, word))
            beginnings.append(so_far)
        new = sum(beginning not in self.seen for beginning in beginnings)
        self.seen.update(beginnings)
        told = replace(self, ttft_ms=self.ttft_ms + self.word_ms * new)
        return Tokens.writes(told, body, path, extra_headers)
