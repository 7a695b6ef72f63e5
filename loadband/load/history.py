"""What was said in a conversation so far, and whether one more turn fits into the context.

Knows: questions, visible answers, what the server counts and keeps of them. Must not know: Locust, sockets, whose turn
it is.
"""

from loadband.load.pools import CONVERSATION
from loadband.load.prompts import Nonce, Prompt, PromptBook
from loadband.record import Record

SPARE_TOKENS = 32
"""What a question may cost beyond its estimate, and the template around it."""


class History:
    """One conversation."""

    def __init__(self, book: PromptBook, nonce: Nonce, limit: int | None) -> None:
        """`limit`: tokens that prompt and answer may have together; None where the server does not tell."""
        self.messages: list[dict[str, str]] = []
        self._book = book
        self._opening = f"{book.prefix}{nonce.text}\n\n"
        self._limit = limit
        self._tokens: int | None = 0
        """Of all messages so far; None where the server does not count."""

    def ask(self, question: str, max_tokens: int) -> Prompt | None:
        """The next question; None when it and its answer would not fit."""
        said = question if self.messages else f"{self._opening}{question}"
        if self._limit is not None and self._tokens is not None:
            needed = self._tokens + self._book.estimate(said) + SPARE_TOKENS + max_tokens
            if needed > self._limit:
                return None
        self.messages.append({"role": "user", "content": said})
        return Prompt(CONVERSATION, said, None)

    def answered(self, text: str, record: Record) -> None:
        """The visible answer comes into the history; its reasoning does not."""
        self.messages.append({"role": "assistant", "content": text})
        prompt, output = record.prompt_tokens, record.output_tokens
        told = prompt is not None and output is not None
        self._tokens = (prompt or 0) + (output or 0) - (record.reasoning_tokens or 0) if told else None
