"""The text pools in `prompts/`: read on first use, checked, hashed.

Knows: which file holds which kind of text, and how pieces of a kind are joined. Must not know: tokens, requests.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from loadband.errors import UsageError

POOLS = Path(__file__).resolve().parents[2] / "prompts"

DOCUMENT, QUESTION = "document", "question"

KINDS = {"chat": "en.jsonl", "zh": "zh.jsonl", "code": "code.jsonl", DOCUMENT: "documents.jsonl"}
"""Kind of prompt -> its pool."""

SHORT_KINDS = ("chat", "zh", "code")
"""What people ask in a sentence or two."""

CONVERSATION = "conversation"
"""The kind of what is asked in a conversation: its questions are sent as they are, in no asked length."""

CONVERSATIONS = "conversations.jsonl"

QUESTIONS = (
    "Summarise the text above in five sentences.",
    "List the three most important facts of the text above, each with a reason.",
    "What in the text above would surprise an expert, and why?",
    "Write a short message to a colleague who has no time to read the text above.",
)
"""What is asked behind a document."""

JOINTS = {"chat": " ", "zh": " ", "code": "\n\n", DOCUMENT: "\n\n", QUESTION: "\n\n"}
"""Between two pieces. No vocabulary merges across a space, and the few that merge across a blank line are measured."""


@functools.cache
def pool(kind: str) -> tuple[str, ...]:
    """The pieces of a kind. Raises UsageError when the pool is missing or damaged."""
    return QUESTIONS if kind == QUESTION else tuple(_entries(KINDS[kind], "text", str))


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
