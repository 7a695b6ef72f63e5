"""A conversation's history: visible answers alone, and never beyond the context."""

from typing import Any

from loadband.load.history import SPARE_TOKENS, History
from loadband.load.prompts import Nonce, PromptBook
from tests.load.records import record

BOOK = PromptBook(1, "run")
NONCE = Nonce("# a b c d e", 6)


def test_the_answers_come_back_and_only_the_first_question_has_the_nonce() -> None:
    history = History(BOOK, NONCE, None)
    for question, answer in (("One?", "Yes."), ("Two?", "No.")):
        assert history.ask(question, 10) is not None
        history.answered(answer, record(prompt_tokens=10, output_tokens=5))
    assert [(m["role"], m["content"]) for m in history.messages] == [
        ("user", "# a b c d e\n\nOne?"), ("assistant", "Yes."), ("user", "Two?"), ("assistant", "No."),
    ]  # fmt: skip


def turns(limit: int | None, **told: int | None) -> int:
    """Turns of 100 tokens that are asked of at most 20; `told` is what the server tells of each."""
    history = History(BOOK, NONCE, limit)
    for turn in range(20):
        if history.ask("word " * 20, max_tokens=50) is None:
            return turn
        counts: dict[str, Any] = {"prompt_tokens": 50 + 100 * turn, "output_tokens": 50, "reasoning_tokens": 0}
        history.answered("answer", record(**{**counts, **told}))
    return 20


def test_it_stops_before_the_limit() -> None:
    question = BOOK.estimate("word " * 20)
    assert turns(None) == 20
    assert turns(1000) < turns(2000) < 20
    asked = turns(1000)
    assert 100 * (asked - 1) + question + SPARE_TOKENS + 50 <= 1000 < 100 * asked + question + SPARE_TOKENS + 50


def test_reasoning_is_not_sent_back_so_it_takes_no_room() -> None:
    assert turns(400, prompt_tokens=100, output_tokens=250, reasoning_tokens=200) == 20
    assert turns(400, prompt_tokens=100, output_tokens=250, reasoning_tokens=0) == 1


def test_where_the_server_does_not_count_nothing_stops_it() -> None:
    assert turns(300, prompt_tokens=None) == 20


def test_a_question_that_never_fits_is_not_asked() -> None:
    assert History(BOOK, NONCE, 100).ask("word " * 500, 10) is None
