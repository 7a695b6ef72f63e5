"""Requests that arrive on a schedule, whatever the answers do: many people who know nothing of each other."""

import random

from loadband.load.user import ModelUser


class OpenLoopUser(ModelUser):
    """Asks one fresh prompt of `--prompt-tokens` and leaves. `--rates` says how many come per second."""

    scenario = "open_loop"

    def converse(self, source: random.Random) -> None:
        """One request."""
        prompt = self.session.book.prompt(source, self.session.prompt_tokens.draw_whole(source), self.nonce())
        self.ask([{"role": "user", "content": prompt.text}], prompt, self.session.max_tokens.draw_whole(source))
