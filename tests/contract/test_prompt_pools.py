"""The prompt pools: valid, unique, of useful length, and not one sentence in a hundred costumes."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

PROMPTS = Path(__file__).parents[2] / "prompts"

POOLS = [
    ("en.jsonl", 120, "words", 15, 60),
    ("zh.jsonl", 120, "characters", 30, 120),
    ("code.jsonl", 80, "words", 10, 90),
]


def pieces(name: str) -> list[str]:
    """Every text of a pool; fails on any line that is not as the README says."""
    data = (PROMPTS / name).read_bytes()
    assert data.endswith(b"}\n"), "the last line is whole"
    assert b"\r" not in data
    lines = [json.loads(line) for line in data.decode("utf-8").removesuffix("\n").split("\n")]
    assert all(list(line) == ["text"] for line in lines)
    return [line["text"] for line in lines]


def opening(text: str, unit: str) -> str:
    return text[:3] if unit == "characters" else " ".join(text.lower().split()[:2])


@pytest.mark.parametrize(("name", "least", "unit", "shortest", "longest"), POOLS, ids=[row[0] for row in POOLS])
def test_a_pool_is_what_its_readme_says(name: str, least: int, unit: str, shortest: int, longest: int) -> None:
    texts = pieces(name)
    assert len(texts) >= least
    assert [text for text, often in Counter(texts).items() if often > 1] == [], "each piece once"
    lengths = {text: len(text) if unit == "characters" else len(text.split()) for text in texts}
    assert {text: n for text, n in lengths.items() if not shortest <= n <= longest} == {}
    openings = Counter(opening(text, unit) for text in texts)
    assert {words: often for words, often in openings.items() if often > 0.07 * len(texts)} == {}, "varied beginnings"


@pytest.mark.parametrize("name", [row[0] for row in POOLS])
def test_texts_are_clean(name: str) -> None:
    for text in pieces(name):
        assert text == text.strip()
        assert unicodedata.is_normalized("NFC", text)
        assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs") for char in text), text


def test_the_readme_counts_the_pieces() -> None:
    readme = (PROMPTS / "README.md").read_text(encoding="utf-8")
    for name, *_ in POOLS:
        row = next(line for line in readme.split("\n") if line.startswith(f"| `{name}`"))
        assert f"| {len(pieces(name))} |" in row
