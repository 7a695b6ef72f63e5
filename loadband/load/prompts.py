"""Prompts of about the asked number of tokens, unlike each other, the same again from one seed.

Knows: the text pools in `prompts/`, how many tokens a character costs. Must not know: servers, requests, Locust.

Text = f(seed, user number, request number), so it does not depend on the number of workers. A nonce =
f(run id, repeat, user, request) comes first, so that no prefix cache flatters the server, also not in a second
run with the same seed.
"""

import functools
import hashlib
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from loadband.errors import UsageError

POOLS = Path(__file__).resolve().parents[2] / "prompts"

KINDS = {"chat": "en.jsonl", "zh": "zh.jsonl", "code": "code.jsonl"}
"""Kind of prompt -> its pool."""

JOINTS = {"chat": " ", "zh": "", "code": "\n\n"}

USUAL_TOKENS_PER_CHARACTER = {"chat": 0.22, "zh": 0.7, "code": 0.28}
"""What common vocabularies need, until the target was measured."""

NONCE_TOKENS = 7
"""About what the nonce costs; part of the asked length."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and what was asked of it."""

    kind: str
    text: str
    tokens_asked: int


@dataclass(frozen=True, slots=True)
class PromptBook:
    """Writes the prompts of one run."""

    seed: int
    run_id: str
    tokens_per_character: dict[str, float] = field(default_factory=lambda: dict(USUAL_TOKENS_PER_CHARACTER))
    """Kind -> tokens that one character of its pool costs on the target."""

    def source(self, user: int, request: int) -> random.Random:
        """All random draws of one request come from here."""
        return random.Random(f"{self.seed}/{user}/{request}")

    def prompt(self, source: random.Random, tokens: int, repeat: int, user: int, request: int) -> Prompt:
        """The prompt of a user's n-th request, of about `tokens` tokens."""
        kind = source.choice(tuple(KINDS))
        characters = round((tokens - NONCE_TOKENS) / self.tokens_per_character[kind])
        return Prompt(kind, f"{self.nonce(repeat, user, request)} {passage(kind, characters, source)}", tokens)

    def nonce(self, repeat: int, user: int, request: int) -> str:
        """A mark that no other request of this or of another run begins with."""
        return nonce_of(f"{self.run_id}/{repeat}/{user}/{request}")


def nonce_of(words: str) -> str:
    """Ten hexadecimal digits in brackets, from the words."""
    return f"[{hashlib.blake2b(words.encode(), digest_size=5).hexdigest()}]"


def passage(kind: str, characters: int, source: random.Random) -> str:
    """Pieces of a pool, joined and cut to about `characters` characters (at least one word)."""
    pieces, joint = pool(kind), JOINTS[kind]
    text = source.choice(pieces)
    while len(text) < characters:
        text += joint + source.choice(pieces)
    return _cut(text, max(characters, 1), spaced=kind != "zh")


def _cut(text: str, characters: int, *, spaced: bool) -> str:
    """The first characters, ended at a word where words are spaced."""
    if len(text) <= characters:
        return text
    if not spaced:
        return text[:characters]
    end = text.find(" ", characters)
    return text[: end if 0 <= end < characters + 16 else characters].rstrip()


@functools.cache
def pool(kind: str) -> tuple[str, ...]:
    """The pieces of a kind. Raises UsageError when the pool is missing or empty."""
    path = POOLS / KINDS[kind]
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        pieces = tuple(json.loads(line)["text"] for line in lines if line.strip())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"cannot read the prompt pool {path} ({error}): run from a whole checkout") from error
    if not pieces:
        raise UsageError(f"the prompt pool {path} is empty: run from a whole checkout")
    return pieces


@functools.cache
def pools_hash() -> str:
    """A short hash of all pools, for `run.json`: runs with other texts are not comparable."""
    digest = hashlib.blake2b(digest_size=6)
    for kind in KINDS:
        digest.update("\n".join(pool(kind)).encode())
    return digest.hexdigest()
