"""Short prompts, one after the other: a person who asks an assistant."""

import random

from loadband.load.user import ModelUser


class InteractiveUser(ModelUser):
    """Asks a fresh prompt of `--prompt-tokens`, reads the whole answer, thinks, asks again."""

    scenario = "interactive"

    def converse(self, source: random.Random) -> None:
        """One request and the pause after it."""
        prompt = self.session.book.prompt(source, self.session.prompt_tokens.draw_whole(source), self.nonce())
        max_tokens = self.session.max_tokens.draw_whole(source)
        self.ask([{"role": "user", "content": prompt.text}], prompt, max_tokens)
        self.think(source)
