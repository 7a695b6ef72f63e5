"""A prompt has the tokens that were asked, in each of the three ways of knowing what a text costs."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.load.lengths import Lengths, kinds_of, lengths
from loadband.load.pools import JOINTS, QUESTION, SHORT_KINDS, pool
from loadband.load.prompts import PromptBook
from loadband.load.token_ids import InseparableError, count
from loadband.load.token_samples import samples
from loadband.load.token_table import joined
from loadband.load.units import cuts, units
from tests.load.vocabularies import bytes_counted, ids, tokens

KINDS = kinds_of(["interactive", "long_context"])
TEMPLATE = "<user>\n"


def usage(texts: Sequence[str]) -> list[int | None]:
    """What a server with that vocabulary tells of each prompt."""
    return [tokens(TEMPLATE + text) for text in texts]


@pytest.fixture(scope="module")
def by_ids() -> Lengths:
    return lengths(KINDS, None, lambda: ids, usage)


@pytest.fixture(scope="module")
def by_usage() -> Lengths:
    return lengths(KINDS, None, lambda: None, usage)


def counted(ways: Lengths, kind: str, asked: int, user: int) -> int:
    """Tokens of a prompt, by the vocabulary itself."""
    book = PromptBook(1, "run", ways.table)
    nonce = book.nonce(1, user, 1)
    if kind == "document":
        return tokens(book.document(book.source(user, 1), asked, nonce).text)
    return tokens(book.prompt(book.source(user, 1), asked, nonce, [kind]).text)


@pytest.mark.parametrize("asked", [8, 9, 13, 64, 120, 512, 4096, 32_768, 131_072])
@pytest.mark.parametrize("kind", [*SHORT_KINDS, "document"])
def test_counted_tokens_make_a_prompt_exact(by_ids: Lengths, kind: str, asked: int) -> None:
    assert by_ids.counted_by == "server"
    if kind == "document" and asked < 64:
        return
    off = [counted(by_ids, kind, asked, user) - asked for user in range(40 if asked < 1000 else 2)]
    assert max(map(abs, off)) <= 1, off


@pytest.mark.parametrize("asked", [8, 20, 64, 120, 200, 512, 1024, 4096, 32_768, 131_072])
@pytest.mark.parametrize("kind", [*SHORT_KINDS, "document"])
def test_usage_alone_makes_a_prompt_right_to_two_percent(by_usage: Lengths, kind: str, asked: int) -> None:
    assert by_usage.counted_by == "usage"
    assert "--tokenizer makes use of all" in by_usage.findings[0]
    if kind == "document" and asked < 64:
        return
    off = [counted(by_usage, kind, asked, user) - asked for user in range(40 if asked < 1000 else 2)]
    assert max(map(abs, off)) <= max(2, 0.02 * asked), off


def test_usage_is_asked_a_bounded_number_of_times() -> None:
    asked: list[str] = []

    def told(texts: Sequence[str]) -> list[int | None]:
        asked.extend(texts)
        return usage(texts)

    lengths(kinds_of(["interactive"]), None, lambda: None, told)
    assert len(asked) < 240
    assert sum(map(tokens, asked)) < 12_000


@pytest.mark.parametrize("told", [lambda texts: [None] * len(texts), lambda texts: [5] * len(texts)])
def test_a_server_that_counts_nothing_is_told_of(told: object) -> None:
    asked: list[Sequence[str]] = []

    def ask(texts: Sequence[str]) -> list[int | None]:
        asked.append(texts)
        return told(texts)  # type: ignore[operator, no-any-return]

    found = lengths(KINDS, None, lambda: None, ask)
    assert (found.counted_by, len(asked)) == ("nothing", 1), "two requests are enough to know"
    assert "prompt lengths are estimated" in found.findings[0]
    text = PromptBook(1, "r", found.table)
    assert text.prompt(text.source(0, 1), 100, text.nonce(1, 0, 1)).text


def test_words_of_one_token_each_are_no_sign_of_a_server_that_does_not_count() -> None:
    """A conversation alone has no text but words to ask, and in a large vocabulary these cost all the same."""
    found = lengths(
        kinds_of(["multi_turn"]), None, lambda: None, lambda texts: [7 + len(text.split()) for text in texts]
    )
    assert found.counted_by == "usage"


def test_a_context_too_small_for_what_is_counted_is_told_as_such() -> None:
    def ask(texts: Sequence[str]) -> list[int | None]:
        return [count if count is not None and count <= 200 else None for count in usage(texts)]

    found = lengths(kinds_of(["interactive"]), None, lambda: None, ask)
    assert found.counted_by == "nothing"
    assert "is its context so small?" in found.findings[0] and "does not count" not in found.findings[0]


def test_numbers_that_are_no_ids_are_not_believed() -> None:
    with pytest.raises(InseparableError):
        count([" a", " b"], bytes_counted)
    assert lengths(KINDS, None, lambda: bytes_counted, usage).counted_by == "usage"


def test_a_named_tokenizer_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"--tokenizer ./nowhere cannot be used: there is no tokenizer at ./nowhere"):
        lengths(KINDS, "./nowhere", lambda: None, None)


def test_what_stands_in_a_batch_is_counted_as_if_alone() -> None:
    strings = [" word", " other", "，所以", "\n\nThe", " x" * 500, ".\n\nqz"]
    assert count(strings, ids) == {text: tokens(text) for text in strings}


@given(st.text(alphabet=" ab.,\n中文，。(5", max_size=60))
def test_units_join_to_the_text_and_their_cuts_end_in_it(text: str) -> None:
    parts = units(text)
    assert "".join(parts) == text
    for part in parts:
        assert cuts(part)[-1] == len(part)
        assert cuts(part) == sorted(set(cuts(part)))


@pytest.mark.parametrize("kind", [*SHORT_KINDS, "document", QUESTION])
def test_the_tokens_of_units_add_up(kind: str) -> None:
    text = joined(kind, range(len(pool(kind))))
    assert sum(map(tokens, units(JOINTS[kind] + text))) == tokens(JOINTS[kind] + text)


def test_samples_are_distinct_and_few() -> None:
    strings = samples(KINDS)
    assert len(set(strings)) == len(strings) < 25_000
