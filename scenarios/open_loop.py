"""Requests that arrive on a schedule, whatever the answers do: many people who know nothing of each other."""

import random

from loadband.load.scenario_options import FOR_ALL
from loadband.load.user import ModelUser


class OpenLoopUser(ModelUser):
    """Asks one fresh prompt of `--prompt-tokens` and leaves. `--rates` says how many come per second."""

    scenario = "open_loop"
    takes = FOR_ALL | {"prompt_tokens", "kinds"}

    def converse(self, source: random.Random) -> None:
        """One request."""
        tokens = self.options.prompt_tokens.draw_whole(source)
        prompt = self.session.book.prompt(source, tokens, self.nonce(), self.options.kinds)
        self.ask([{"role": "user", "content": prompt.text}], prompt, self.options.max_tokens.draw_whole(source))
