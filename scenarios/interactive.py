"""Short prompts, one after the other: a person who asks an assistant."""

import random

from loadband.load.scenario_options import FOR_ALL
from loadband.load.user import ModelUser


class InteractiveUser(ModelUser):
    """Asks a fresh prompt of `--prompt-tokens`, reads the whole answer, thinks, asks again."""

    scenario = "interactive"
    takes = FOR_ALL | {"prompt_tokens", "kinds"}

    def converse(self, source: random.Random) -> None:
        """One request and the pause after it."""
        tokens = self.options.prompt_tokens.draw_whole(source)
        prompt = self.session.book.prompt(source, tokens, self.nonce(), self.options.kinds)
        max_tokens = self.options.max_tokens.draw_whole(source)
        self.ask([{"role": "user", "content": prompt.text}], prompt, max_tokens)
        self.think(source)
