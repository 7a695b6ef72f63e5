"""Answers that no reader would take for one: a server may be fast because it says nothing.

Knows: the pieces of a text. Must not know: sockets, stamps, what was asked.
"""

import itertools
import operator
from collections.abc import Sequence

REPEATS = 50
"""One piece more often than this in a row is no answer."""

NO_CHARACTER = "\ufffd"


def is_degenerate(pieces: Sequence[str], finish_reason: str | None, *, said: bool) -> bool:
    """Whether an answer is empty, holds a character that is none, or one token more than `REPEATS` times in a row.

    `said`: any token came, visible or not. A broken character at the end of an answer that was cut at its length is
    the cut's doing.
    """
    if not said:
        return True
    text = "".join(pieces)
    if NO_CHARACTER in (text.rstrip(NO_CHARACTER) if finish_reason == "length" else text):
        return True
    return _stutters(pieces if len(pieces) > 1 else text.split())


def _stutters(words: Sequence[str]) -> bool:
    """Whether a word comes more than `REPEATS` times in a row: so many hold two marks half of that apart."""
    half = REPEATS // 2
    if not any(map(operator.eq, words[::half], words[half::half])):
        return False
    return any(len(list(same)) > REPEATS for _, same in itertools.groupby(words))
