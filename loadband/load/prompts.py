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
from typing import Any

from loadband.errors import UsageError

POOLS = Path(__file__).resolve().parents[2] / "prompts"

KINDS = {"chat": "en.jsonl", "zh": "zh.jsonl", "code": "code.jsonl", "document": "documents.jsonl"}
"""Kind of prompt -> its pool."""

SHORT_KINDS = ("chat", "zh", "code")
"""What people ask in a sentence or two."""

CONVERSATIONS = "conversations.jsonl"

JOINTS = {"chat": " ", "zh": "", "code": "\n\n", "document": "\n\n"}

USUAL_TOKENS_PER_CHARACTER = {"chat": 0.22, "zh": 0.7, "code": 0.28, "document": 0.27}
"""What common vocabularies need, until the target was measured."""

LONGEST_WORD = 16
"""A passage is ended in mid-word only where no word ends within so many characters."""

NONCE_TOKENS = 7
"""About what the nonce costs; part of the asked length."""


QUESTIONS = (
    "Summarise the text above in five sentences.",
    "List the three most important facts of the text above, each with a reason.",
    "What in the text above would surprise an expert, and why?",
    "Write a short message to a colleague who has no time to read the text above.",
)
QUESTION_TOKENS = 14


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and what was asked of it."""

    kind: str
    text: str
    tokens_asked: int | None
    """None where no length was asked for."""


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

    def prompt(self, source: random.Random, tokens: int, nonce: str) -> Prompt:
        """A short prompt of about `tokens` tokens, of any kind."""
        kind = source.choice(SHORT_KINDS)
        return Prompt(kind, f"{nonce} {self._text(kind, tokens - NONCE_TOKENS, source)}", tokens)

    def document(self, source: random.Random, tokens: int, nonce: str) -> Prompt:
        """A long text of about `tokens` tokens and a question about it."""
        question = source.choice(QUESTIONS)
        text = self._text("document", tokens - NONCE_TOKENS - QUESTION_TOKENS, source)
        return Prompt("document", f"{nonce} {text}\n\n{question}", tokens)

    def _text(self, kind: str, tokens: int, source: random.Random) -> str:
        return passage(kind, round(tokens / self.tokens_per_character[kind]), source)

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
    if end < 0:
        end = len(text)
    return text[: end if end < characters + LONGEST_WORD else characters].rstrip()


@functools.cache
def pool(kind: str) -> tuple[str, ...]:
    """The pieces of a kind. Raises UsageError when the pool is missing or damaged."""
    return tuple(_entries(KINDS[kind], "text", str))


@functools.cache
def conversations() -> tuple[tuple[str, ...], ...]:
    """What a person says turn by turn, conversation by conversation. Raises UsageError."""
    return tuple(tuple(map(str, turns)) for turns in _entries(CONVERSATIONS, "turns", list))


def _entries(name: str, key: str, of_type: type[Any]) -> list[Any]:
    path = POOLS / name
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        entries = [json.loads(line)[key] for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"cannot read the prompt pool {path} ({error}): run from a whole checkout") from error
    if not entries or not all(entry and isinstance(entry, of_type) for entry in entries):
        raise UsageError(f"the prompt pool {path} is empty or damaged: run from a whole checkout")
    return entries


@functools.cache
def pools_hash() -> str:
    """A short hash of all pools, for `run.json`: runs with other texts are not comparable."""
    digest = hashlib.blake2b(digest_size=6)
    for name in (*KINDS.values(), CONVERSATIONS):
        digest.update((POOLS / name).read_bytes())
    return digest.hexdigest()
