"""Prompts: a function of seed, user and request; unlike each other; the same again when asked."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.lengths import Lengths, kinds_of, lengths
from loadband.load.passage import write
from loadband.load.pools import QUESTIONS, SHORT_KINDS
from loadband.load.prompts import Nonce, PromptBook, no_rest
from loadband.load.token_table import usual_table
from tests.load.vocabularies import ids

NONCE = re.compile(r"#( [a-z]{3,9}){5}(?=\s|$)")


@pytest.fixture(scope="module")
def counted() -> Lengths:
    return lengths(kinds_of(["interactive", "long_context"]), None, lambda: ids, None)


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
    same = [bare(written(first, user, request, repeat=2)) == text for (user, request), text in later.items()]
    assert sum(same) >= len(same) - 1, "but for a word where the nonces cost differently"
    assert bare(written(PromptBook(2, "run-a"), 0, 1)) != later[0, 1]


def test_a_thousand_prompts_differ_from_their_beginning_on() -> None:
    book = PromptBook(1, "run")
    texts = {written(book, user, request) for user in range(50) for request in range(1, 21)}
    assert len(texts) == 1000
    assert len({NONCE.match(text).group() for text in texts}) == 1000  # type: ignore[union-attr]
    first = Counter(" ".join(text.split()[:2]) for text in texts)
    assert max(first.values()) < 20, "hardly any two share even the first word, which a cache could keep"
    assert len({bare(text) for text in texts}) > 900, "nor is the nonce all the difference"


NONCES = [
    (("run", 1, 0, 1), ("run", 1, 0, 1), True, True, "the same request"),
    (("run", 1, 0, 1), ("other", 1, 0, 1), False, True, "another run with the same seed"),
    (("run", 1, 0, 1), ("run", 2, 0, 1), False, True, "another repeat"),
    (("run", 1, 0, 1), ("run", 1, 1, 1), False, False, "another user"),
    (("run", 1, 0, 1), ("run", 1, 0, 2), False, False, "another request"),
    (("run", 1, 1, 11), ("run", 1, 11, 1), False, False, "digits that move from one number to the next"),
]


@pytest.mark.parametrize(("one", "other", "same", "fixed", "sentence"), NONCES, ids=[row[4] for row in NONCES])
def test_a_nonce(
    one: tuple[str, int, int, int], other: tuple[str, int, int, int], same: bool, fixed: bool, sentence: str
) -> None:
    first, second = (PromptBook(1, run).nonce(repeat, user, n) for run, repeat, user, n in (one, other))
    assert (first == second) is same, sentence
    first, second = (
        PromptBook(1, run, nonce_fixed=True).nonce(repeat, user, n) for run, repeat, user, n in (one, other)
    )
    assert (first == second) is fixed, sentence
    assert NONCE.fullmatch(first.text)


def test_a_fixed_nonce_asks_the_same_bytes_in_every_run_and_pass() -> None:
    runs = [
        [written(PromptBook(seed, run, nonce_fixed=True), user, request, repeat=repeat)
         for user in range(10) for request in (1, 2)]
        for seed, run, repeat in ((1, "a", 1), (1, "b", 2), (2, "a", 1))
    ]  # fmt: skip
    assert runs[0] == runs[1]
    assert not set(runs[0]) & set(runs[2]), "another seed asks otherwise"


def test_all_kinds_are_used_about_equally_or_as_asked() -> None:
    book = PromptBook(1, "run")
    nonce = Nonce("# n", 2)
    kinds = [book.prompt(book.source(user, 1), 60, nonce).kind for user in range(600)]
    assert set(kinds) == set(SHORT_KINDS)
    assert all(kinds.count(kind) > 600 / len(SHORT_KINDS) / 1.5 for kind in SHORT_KINDS)
    assert {book.prompt(book.source(user, 1), 60, nonce, ["zh"]).kind for user in range(20)} == {"zh"}


@pytest.mark.parametrize("tokens", [300, 2048])
def test_a_document_is_followed_by_a_question(tokens: int) -> None:
    book = PromptBook(3, "run")
    prompt = book.document(book.source(0, 1), tokens, book.nonce(1, 0, 1))
    _, _, question = bare(prompt.text).rpartition("\n\n")
    assert question in QUESTIONS
    assert (prompt.kind, prompt.tokens_asked) == ("document", tokens)


@pytest.mark.parametrize("tokens", [1, 7, 8])
def test_the_shortest_prompt_still_says_something(tokens: int) -> None:
    book = PromptBook(1, "run")
    for user in range(30):
        assert bare(written(book, user, 1, tokens)).strip()


def test_a_shared_prefix_is_the_same_for_all_and_comes_on_top(counted: Lengths) -> None:
    books = [PromptBook(1, run, counted.table, shared_prefix=100) for run in ("a", "b")]
    prompts = [
        book.prompt(book.source(user, 1), 64, book.nonce(1, user, 1)) for book in books for user in range(10)
    ]  # fmt: skip
    (prefix,) = {prompt.text.partition("\n\n# ")[0] for prompt in prompts}
    assert len(ids(prefix + "\n\n")) == pytest.approx(100, abs=1)
    for prompt in prompts:
        assert prompt.tokens_asked == 164
        assert len(ids(prompt.text)) == pytest.approx(164, abs=2)
    assert PromptBook(2, "a", counted.table, shared_prefix=100).prefix != books[0].prefix


def longest_repeat(text: str, least: int) -> int:
    """Words of the longest passage that comes twice, of at least `least` words; 0 when there is none."""
    words, longest = text.split(), 0
    places: dict[tuple[str, ...], int] = {}
    for at in range(len(words) - least):
        before = places.setdefault(tuple(words[at : at + least]), at)
        size = least
        if before < at:
            while at + size < len(words) and words[before + size] == words[at + size]:
                size += 1
            longest = max(longest, size)
    return longest


def test_a_document_within_its_pool_repeats_nothing(counted: Lengths) -> None:
    text, _ = write(counted.table, "document", 12_000, PromptBook(1, "r").source(0, 1), no_rest)
    assert longest_repeat(text, 12) == 0


def test_a_long_document_repeats_no_long_passage(counted: Lengths) -> None:
    text, _ = write(counted.table, "document", 131_072, PromptBook(1, "r").source(0, 1), no_rest)
    longest = longest_repeat(text, 12)
    print(f"longest passage that comes twice: {longest} words of {len(text.split()):,}")
    assert longest < 80, "less than a paragraph"


@given(st.sampled_from(sorted(usual_table().kinds)), st.integers(-5, 3000), st.integers(0, 99))
def test_a_passage_costs_no_more_than_asked(kind: str, tokens: int, user: int) -> None:
    text, cost = write(usual_table(), kind, tokens, PromptBook(1, "r").source(user, 1), no_rest)
    assert text.strip()
    assert cost <= max(tokens, 1)
    assert cost >= tokens - 2


def test_writing_rests_now_and_then() -> None:
    rests = 0

    def rest() -> None:
        nonlocal rests
        rests += 1

    write(usual_table(), "document", 10_000, PromptBook(1, "r").source(0, 1), rest)
    assert rests > 50
