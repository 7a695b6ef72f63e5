"""Conversations: each turn sends the whole history again, with the answers that the model really gave."""

import random

from loadband.load.prompts import Prompt, conversations
from loadband.load.session import Session
from loadband.load.user import ModelUser

ROOM_FOR_A_QUESTION = 64
"""Tokens that the next question and the template may need."""


class MultiTurnUser(ModelUser):
    """Talks for `--turns` turns, thinking after each; a failed turn ends the conversation.

    The history holds the visible answers without the reasoning, and stops short of the context limit.
    """

    scenario = "multi_turn"

    def converse(self, source: random.Random) -> None:
        """One conversation."""
        questions = source.choice(conversations())
        turns = self.session.turns.draw_whole(source)
        history: list[dict[str, str]] = []
        for turn in range(turns):
            question = questions[turn % len(questions)]
            said = f"{self.nonce()} {question}" if turn == 0 else question
            history.append({"role": "user", "content": said})
            max_tokens = self.session.max_tokens.draw_whole(source)
            reply = self.ask(history, Prompt("conversation", said, None), max_tokens, turn=turn + 1)
            if not reply.ok:
                return
            history.append({"role": "assistant", "content": reply.text})
            self.think(source)
            if not fits(self.session, reply.tokens):
                return


def fits(session: Session, tokens: int | None) -> bool:
    """Whether the next turn stays inside the context, as far as the server tells its limit and counts tokens."""
    limit = session.work.context_limit
    if limit is None or tokens is None:
        return True
    return tokens + ROOM_FOR_A_QUESTION + round(session.max_tokens.high) <= limit
