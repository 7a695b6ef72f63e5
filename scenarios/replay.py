"""Recorded traffic: the requests of `--dataset`, as they were asked."""

import random

from loadband.load.prompts import Prompt
from loadband.load.user import ModelUser

DOCUMENT_FROM = 1000
"""Tokens from which a text of a recorded length is a document."""


class ReplayUser(ModelUser):
    """Asks requests of `--dataset`: in their order at `--rates`, else each user draws its own, and thinks after it.

    Recorded messages are sent as they are, without a mark of ours: what they share, a prefix cache may find. Of a
    request that is only a number of tokens a fresh text is written.
    """

    scenario = "replay"

    def converse(self, source: random.Random) -> None:
        """One request."""
        requests = self.session.dataset
        request = requests.request(source.randrange(len(requests)) if self.arrival is None else self.number)
        max_tokens = request.max_tokens or self.options.max_tokens.draw_whole(source)
        if request.messages is not None:
            self.ask(request.messages, Prompt("recorded", "", None), max_tokens)
        else:
            tokens = request.prompt_tokens or 1
            write = self.session.book.document if tokens >= DOCUMENT_FROM else self.session.book.prompt
            prompt = write(source, tokens, self.nonce())
            self.ask([{"role": "user", "content": prompt.text}], prompt, max_tokens)
        self.think(source)
