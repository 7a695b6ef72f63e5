"""Users who leave: which requests are hung up on, and when. Grammar of `--abandon`.

Knows: shares, times, seeds. Must not know: connections, answers.

    5%@2s    one request in twenty is hung up on 2 s after it began, unless its answer is complete by then
"""

import random
import re
from dataclasses import dataclass

from loadband.errors import UsageError
from loadband.plan import parse_duration


@dataclass(frozen=True, slots=True)
class Leaving:
    """How many leave, and how patient they are."""

    share: float = 0.0
    after_s: float = 0.0

    def patience_s(self, seed: int, user: int, conversation: int, turn: int) -> float | None:
        """Seconds after which this request is hung up on; None when its user stays. The same for the same request.

        Drawn apart from the request's own source, so that with and without it the same prompts are asked.
        """
        if not self.share:
            return None
        leaves = random.Random(f"{seed}/leave/{user}/{conversation}/{turn}").random() < self.share
        return self.after_s if leaves else None


def parse_abandon(text: str) -> Leaving:
    """`5%@2s`. Raises UsageError."""
    match = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%\s*@\s*(\S+)\s*", text)
    if not match:
        raise UsageError(f"abandon '{text[:60]}' is not understood: write 5%@2s, a share and a time")
    share, after_s = float(match[1]) / 100, parse_duration(match[2])
    if not 0 < share <= 1:
        raise UsageError(f"abandon '{text[:60]}': the share lies above 0% and at 100% at most")
    if after_s <= 0:
        raise UsageError(f"abandon '{text[:60]}': nobody leaves before asking, write a time above 0s")
    return Leaving(share, after_s)
