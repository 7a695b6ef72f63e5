"""Does the server count a prompt as it was counted for it? And what does its template add?

Knows: one prompt of a known length, and the prompt tokens of its answer. Must not know: sockets.
"""

from collections.abc import Callable, Sequence

from loadband.load.pools import QUESTION
from loadband.load.prompts import PromptBook

TOKENS = 300
UNLIKE = 0.02
"""Beyond this share of the tokens the counts are not alike."""


def check(
    book: PromptBook, kinds: Sequence[str], counted_by: str, ask: Callable[[str], int | None]
) -> tuple[int | None, str | None]:
    """Tokens of the template, where the server tells, and a finding where it counts otherwise."""
    first, second = (book.nonce(0, 0, number) for number in (0, 1))
    written = book.prompt(book.source(0, 0), TOKENS, second, [kind for kind in kinds if kind != QUESTION])
    bare, whole = ask(first.text), ask(written.text)
    if bare is None or whole is None:
        return None, None
    template = round(bare - first.tokens)
    added, asked = whole - bare, TOKENS - first.tokens
    if counted_by == "nothing" or abs(added - asked) <= max(2.0, UNLIKE * asked):
        return template, None
    return template, (
        f"a text of {asked:.0f} tokens counts {added} at the server: prompts are {added / asked:.2f} of the "
        "asked length; is the tokenizer the model's own?"
    )
