"""Long documents and a question about each: retrieval, summaries, reports."""

import random

from loadband.load.scenario_options import FOR_ALL
from loadband.load.user import ModelUser


class LongContextUser(ModelUser):
    """Sends a fresh document of `--long-context-tokens` with a question, reads the answer, thinks."""

    scenario = "long_context"
    takes = FOR_ALL | {"prompt_tokens"}

    def converse(self, source: random.Random) -> None:
        """One document."""
        tokens = self.options.prompt_tokens.draw_whole(source)
        prompt = self.session.book.document(source, tokens, self.nonce())
        self.ask([{"role": "user", "content": prompt.text}], prompt, self.options.max_tokens.draw_whole(source))
        self.think(source)
