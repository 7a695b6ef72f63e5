"""The prompt pools: valid, unique, of useful length, and not one sentence in a hundred costumes."""

import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PROMPTS = Path(__file__).parents[2] / "prompts"

POOLS = [
    ("en.jsonl", 120, "words", 15, 60),
    ("zh.jsonl", 120, "characters", 30, 120),
    ("code.jsonl", 80, "words", 10, 90),
]

DOCUMENTS = "documents.jsonl"
CONVERSATIONS = "conversations.jsonl"


def column(name: str, field: str) -> list[Any]:
    """The one field of every line of a pool; fails on any line that is not as the README says."""
    data = (PROMPTS / name).read_bytes()
    assert data.endswith(b"}\n"), "the last line is whole"
    assert b"\r" not in data
    lines = [json.loads(line) for line in data.decode("utf-8").removesuffix("\n").split("\n")]
    assert all(list(line) == [field] for line in lines)
    return [line[field] for line in lines]


def pieces(name: str) -> list[str]:
    """Every text of a pool."""
    texts = column(name, "text")
    assert all(isinstance(text, str) for text in texts)
    return texts


def conversations() -> list[list[str]]:
    """The turns of every conversation."""
    talks = column(CONVERSATIONS, "turns")
    assert all(isinstance(turns, list) and all(isinstance(turn, str) for turn in turns) for turns in talks)
    return talks


def chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def off_length(texts: list[str], words: range, characters: range) -> dict[str, int]:
    """The texts that are too short or too long, counted in words or, where Chinese, in characters."""
    lengths = {text: len(text) if chinese(text) else len(text.split()) for text in texts}
    return {text: n for text, n in lengths.items() if n not in (characters if chinese(text) else words)}


def doubles(texts: list[str]) -> list[str]:
    return [text for text, often in Counter(texts).items() if often > 1]


def worn_openings(texts: list[str]) -> dict[str, int]:
    """First 25 characters that more than three texts share."""
    return {words: often for words, often in Counter(text[:25] for text in texts).items() if often > 3}


def opening(text: str, unit: str) -> str:
    return text[:3] if unit == "characters" else " ".join(text.lower().split()[:2])


@pytest.mark.parametrize(("name", "least", "unit", "shortest", "longest"), POOLS, ids=[row[0] for row in POOLS])
def test_a_pool_is_what_its_readme_says(name: str, least: int, unit: str, shortest: int, longest: int) -> None:
    texts = pieces(name)
    assert len(texts) >= least
    assert doubles(texts) == [], "each piece once"
    lengths = {text: len(text) if unit == "characters" else len(text.split()) for text in texts}
    assert {text: n for text, n in lengths.items() if not shortest <= n <= longest} == {}
    openings = Counter(opening(text, unit) for text in texts)
    assert {words: often for words, often in openings.items() if often > 0.07 * len(texts)} == {}, "varied beginnings"


def test_documents_are_what_the_readme_says() -> None:
    texts = pieces(DOCUMENTS)
    assert len(texts) >= 160
    assert sum(map(chinese, texts)) >= 40
    assert doubles(texts) == []
    assert off_length(texts, words=range(60, 141), characters=range(120, 301)) == {}
    assert worn_openings(texts) == {}
    assert {text for text in texts if "\n" in text} == set(), "one paragraph each"


def test_documents_repeat_no_phrase() -> None:
    """Whole clauses in common would be a template, and a prompt made of them would be one paragraph many times."""
    often: Counter[str] = Counter()
    for text in pieces(DOCUMENTS):
        units = list(text) if chinese(text) else text.lower().split()
        size = 16 if chinese(text) else 8
        often.update({"".join(units[at : at + size]) for at in range(len(units) - size + 1)})
    assert {phrase for phrase, n in often.items() if n > 1} == set()


def test_conversations_are_what_the_readme_says() -> None:
    talks = conversations()
    assert len(talks) >= 120
    assert sum(chinese(turns[0]) for turns in talks) >= 40
    assert {turns[0]: len(turns) for turns in talks if len(turns) != 6} == {}
    assert [turns[0] for turns in talks if len(set(map(chinese, turns))) > 1] == [], "one language in a conversation"
    turns = [turn for talk in talks for turn in talk]
    assert doubles(turns) == []
    assert off_length(turns, words=range(8, 51), characters=range(10, 81)) == {}
    assert worn_openings(turns) == {}


def every_text() -> dict[str, list[str]]:
    """Pool -> all that a server may be sent from it."""
    texts = {name: pieces(name) for name in [*(row[0] for row in POOLS), DOCUMENTS]}
    return texts | {CONVERSATIONS: [turn for turns in conversations() for turn in turns]}


@pytest.mark.parametrize("name", [*(row[0] for row in POOLS), DOCUMENTS, CONVERSATIONS])
def test_texts_are_clean(name: str) -> None:
    for text in every_text()[name]:
        assert text == text.strip()
        assert unicodedata.is_normalized("NFC", text)
        assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs") for char in text), text


def test_the_readme_counts_the_pieces() -> None:
    readme = (PROMPTS / "README.md").read_text(encoding="utf-8")
    counts = {name: len(texts) for name, texts in every_text().items()} | {CONVERSATIONS: len(conversations())}
    assert {path.name for path in PROMPTS.glob("*.jsonl")} == set(counts), "every pool is checked here"
    for name, count in counts.items():
        row = next(line for line in readme.split("\n") if line.startswith(f"| `{name}`"))
        assert f"| {count} |" in row
    for texts in (pieces(DOCUMENTS), [turns[0] for turns in conversations()]):
        in_chinese = sum(map(chinese, texts))
        assert f"English first ({len(texts) - in_chinese}), then Mandarin ({in_chinese})" in readme
        assert [chinese(text) for text in texts] == sorted(map(chinese, texts)), "English first"
