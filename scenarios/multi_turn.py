"""Conversations: each turn sends the whole history again, with the answers that the model really gave."""

import random

from loadband.load.history import History
from loadband.load.pools import conversations
from loadband.load.scenario_options import FOR_ALL
from loadband.load.user import ModelUser


class MultiTurnUser(ModelUser):
    """Talks for `--turns` turns, thinking after each; a failed turn ends the conversation.

    The history holds the visible answers without the reasoning; a turn that would not fit the context is not asked.
    """

    scenario = "multi_turn"
    takes = FOR_ALL | {"turns"}

    def converse(self, source: random.Random) -> None:
        """One conversation."""
        questions = source.choice(conversations())
        history = History(self.session.book, self.nonce(), self.session.work.context_limit)
        for turn in range(self.options.turns.draw_whole(source)):
            max_tokens = self.options.max_tokens.draw_whole(source)
            prompt = history.ask(questions[turn % len(questions)], max_tokens)
            if prompt is None:
                return
            reply = self.ask(history.messages, prompt, max_tokens, turn=turn + 1)
            self.think(source)
            if not reply.ok:
                return
            history.answered(reply.text, reply.record)
