"""Prompts: a function of seed, user and request; unlike each other; about as long as asked."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.load import prompts
from loadband.load.prompts import (
    KINDS,
    NONCE_TOKENS,
    QUESTION_TOKENS,
    QUESTIONS,
    SHORT_KINDS,
    PromptBook,
    nonce_of,
    passage,
    pool,
    pools_hash,
)

NONCE = re.compile(r"\[[0-9a-f]{10}\] ")


def written(book: PromptBook, user: int, request: int, tokens: int = 120, repeat: int = 1) -> str:
    return book.prompt(book.source(user, request), tokens, book.nonce(repeat, user, request)).text


def bare(text: str) -> str:
    """The text behind its nonce."""
    match = NONCE.match(text)
    assert match, "the nonce comes first"
    return text[match.end() :]


def test_the_text_depends_on_seed_user_and_request_alone() -> None:
    first, second = PromptBook(1, "run-a"), PromptBook(1, "run-b")
    later = {(user, request): bare(written(second, user, request)) for request in (3, 1) for user in (7, 2, 0)}
    for (user, request), text in later.items():
        assert bare(written(first, user, request, repeat=2)) == text, "in any order, by any worker, in any repeat"
    assert bare(written(PromptBook(2, "run-a"), 0, 1)) != later[0, 1]


def test_a_thousand_prompts_differ_from_their_beginning_on() -> None:
    book = PromptBook(1, "run")
    texts = {written(book, user, request) for user in range(50) for request in range(1, 21)}
    assert len(texts) == 1000
    assert len({text[:12] for text in texts}) == 1000, "no two share a prefix that a cache could keep"
    assert len({bare(text) for text in texts}) > 900, "nor is the nonce all the difference"


NONCES = [
    (("run", 1, 0, 1), ("run", 1, 0, 1), True, "the same request"),
    (("run", 1, 0, 1), ("other", 1, 0, 1), False, "another run with the same seed"),
    (("run", 1, 0, 1), ("run", 2, 0, 1), False, "another repeat"),
    (("run", 1, 0, 1), ("run", 1, 1, 1), False, "another user"),
    (("run", 1, 0, 1), ("run", 1, 0, 2), False, "another request"),
    (("run", 1, 1, 11), ("run", 1, 11, 1), False, "digits that move from one number to the next"),
]


@pytest.mark.parametrize(("one", "other", "same", "sentence"), NONCES, ids=[row[3] for row in NONCES])
def test_a_nonce(one: tuple[str, int, int, int], other: tuple[str, int, int, int], same: bool, sentence: str) -> None:
    first, second = (PromptBook(1, run).nonce(repeat, user, n) for run, repeat, user, n in (one, other))
    assert (first == second) is same, sentence
    assert NONCE.fullmatch(first + " ")


def test_a_nonce_of_words_is_fixed() -> None:
    assert nonce_of("run/1/0/1") == nonce_of("run/1/0/1") != nonce_of("run/1/0/2")


def test_all_kinds_are_used_about_equally() -> None:
    book = PromptBook(1, "run")
    kinds = [book.prompt(book.source(user, 1), 60, "[n]").kind for user in range(600)]
    assert set(kinds) == set(SHORT_KINDS)
    assert all(kinds.count(kind) > 600 / len(SHORT_KINDS) / 1.5 for kind in SHORT_KINDS)


@pytest.mark.parametrize("cost", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("tokens", [50, 200, 2048, 8192])
def test_a_prompt_is_about_as_long_as_asked(tokens: int, cost: float) -> None:
    book = PromptBook(3, "run", dict.fromkeys(KINDS, cost))
    for user in range(12):
        prompt = book.prompt(book.source(user, 1), tokens, book.nonce(1, user, 1))
        length = len(bare(prompt.text)) * cost + NONCE_TOKENS
        assert length == pytest.approx(tokens, rel=0.05, abs=16 * cost)
        assert prompt.tokens_asked == tokens


@pytest.mark.parametrize("tokens", [300, 2048, 32_768])
def test_a_document_of_the_asked_length_is_followed_by_a_question(tokens: int) -> None:
    book = PromptBook(3, "run", dict.fromkeys(KINDS, 0.25))
    prompt = book.document(book.source(0, 1), tokens, book.nonce(1, 0, 1))
    text, _, question = bare(prompt.text).rpartition("\n\n")
    assert question in QUESTIONS
    assert len(text) * 0.25 + QUESTION_TOKENS + NONCE_TOKENS == pytest.approx(tokens, rel=0.05)
    assert (prompt.kind, prompt.tokens_asked) == ("document", tokens)


@pytest.mark.parametrize("tokens", [1, NONCE_TOKENS, NONCE_TOKENS + 1])
def test_the_shortest_prompt_still_says_something(tokens: int) -> None:
    book = PromptBook(1, "run")
    for user in range(30):
        assert bare(written(book, user, 1, tokens)).strip()


@given(st.sampled_from(sorted(KINDS)), st.integers(-5, 3000), st.integers(0, 99))
def test_a_passage_ends_near_where_it_should(kind: str, characters: int, user: int) -> None:
    text = passage(kind, characters, PromptBook(1, "run").source(user, 1))
    assert text
    assert len(text) < max(characters, 1) + 16, "no more than the rest of a word"


PASSAGES = [
    ("chat", 3, "one", "at the end of a word"),
    ("chat", 4, "one three", "at the end of the word that it would cut"),
    ("chat", 14, "one three seven", "at the end of the last word"),
    ("chat", 15, "one three seven", "of a whole piece"),
    ("chat", 16, "one three seven one", "of a piece and a part"),
    ("chat", 0, "one", "at least one word"),
    ("zh", 4, "one ", "to the character where words are not spaced"),
    ("zh", 16, "one three seveno", "pieces joined without a space"),
    ("code", 16, "one three seven\n\none", "pieces joined by a blank line"),
]


@pytest.mark.parametrize(("kind", "characters", "text", "sentence"), PASSAGES, ids=[row[3] for row in PASSAGES])
def test_a_passage(monkeypatch: pytest.MonkeyPatch, kind: str, characters: int, text: str, sentence: str) -> None:
    monkeypatch.setattr(prompts, "pool", lambda _: ("one three seven",))
    assert passage(kind, characters, PromptBook(1, "run").source(0, 1)) == text, sentence


def test_a_word_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "pool", lambda _: ("x" * 40,))
    assert passage("chat", 5, PromptBook(1, "run").source(0, 1)) == "xxxxx"
    assert passage("chat", 30, PromptBook(1, "run").source(0, 1)) == "x" * 40, "ten more to its end"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [(None, "missing"), ("", "empty"), ("{", "no JSON"), ('{"words":"x"}', "no text in it"), ("[1]", "no object")],
)
def test_a_pool_that_cannot_be_read_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: str | None, sentence: str
) -> None:
    if lines is not None:
        (tmp_path / KINDS["chat"]).write_text(lines)
    monkeypatch.setattr(prompts, "POOLS", tmp_path)
    with pytest.raises(UsageError, match="run from a whole checkout"):
        pool.__wrapped__("chat")


def test_a_pools_pieces_are_its_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pieces = ("one\u2028piece", "two 中")
    (tmp_path / KINDS["zh"]).write_text("\n".join(json.dumps({"text": piece}, ensure_ascii=False) for piece in pieces))
    monkeypatch.setattr(prompts, "POOLS", tmp_path)
    assert pool.__wrapped__("zh") == pieces


def test_the_pools_have_a_hash() -> None:
    assert re.fullmatch("[0-9a-f]{12}", pools_hash())
