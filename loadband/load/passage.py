"""Writes a text of an exact number of tokens from the pieces of a kind.

Knows: the token table, a source of random draws. Must not know: nonces, scenarios, how long a process may work.

Pieces come in random order, each once, until the tokens are used up; the last one is cut where it still fits, and what
is left is filled with single words. A text longer than its pool takes the pieces again in another order, and then,
where each word was counted, with every fourth that can be exchanged replaced by another of the same shape and price:
the paragraphs come back, but in no passage of them longer than some dozen words.
"""

import random
from collections.abc import Callable, Iterator

from loadband.load.pools import JOINTS
from loadband.load.token_table import Piece, TokenTable

EXCHANGED = 0.25
"""Share of the exchangeable units that are replaced when a piece comes again."""

PROSE, PROSE_FROM = "chat", 24
"""More tokens than that are filled with text of this kind: where only whole paragraphs were counted."""

FILLED_FROM = {"zh": 2}
"""A Chinese text may stay one token short: a foreign word at its end would be worse."""


def write(
    table: TokenTable, kind: str, tokens: float, source: random.Random, rest: Callable[[], None]
) -> tuple[str, float]:
    """A text of at most `tokens` tokens, its leading joint among them, and its cost; `rest` is called now and then."""
    parts: list[str] = []
    left, tail = tokens, 0.0
    for piece in drawn(table, kind, source):
        rest()
        if piece.cost + tail > left:
            text, cost = piece.start(left - tail)
            if text:
                parts.append(text)
                left -= cost + tail
            break
        parts.append(piece.text)
        left -= piece.cost + tail
        tail = piece.tail
    body = JOINTS[kind].join(parts)
    body = JOINTS[kind] + body if body else ""
    end, price = _end(table, kind, left, source, rest) if left >= FILLED_FROM.get(kind, 1) or not body else ("", 0)
    return body + end, tokens - left + price


def _end(
    table: TokenTable, kind: str, tokens: float, source: random.Random, rest: Callable[[], None]
) -> tuple[str, float]:
    """What fills the last tokens: prose where there are many of them, else words."""
    if tokens >= PROSE_FROM and kind != PROSE and PROSE in table.kinds:
        return write(table, PROSE, tokens, source, rest)
    return _fill(table, tokens, source)


def drawn(table: TokenTable, kind: str, source: random.Random) -> Iterator[Piece]:
    """Pieces without end: each once in random order, then all again in another one, varied."""
    pieces = table.pieces(kind)
    order = list(range(len(pieces)))
    comes_again = False
    while True:
        for place in range(len(order)):
            other = source.randrange(place, len(order))
            order[place], order[other] = order[other], order[place]
            piece = pieces[order[place]]
            yield varied(table, kind, piece, source) if comes_again else piece
        comes_again = table.exact


def varied(table: TokenTable, kind: str, piece: Piece, source: random.Random) -> Piece:
    """The piece with some of its units exchanged; its tokens stay the same."""
    exchanges = table.exchanges(kind)
    units = list(piece.units)
    for place in range(1, len(units)):
        unit = units[place]
        if source.random() < EXCHANGED and (shape := unit.shape):
            units[place] = source.choice(exchanges[shape, unit.cost])
    return Piece(tuple(units), piece.tail)


def _fill(table: TokenTable, tokens: float, source: random.Random) -> tuple[str, int]:
    """Single words of together at most so many tokens; at least one when nothing else was written."""
    text, cost = "", 0
    while fitting := table.fitting(tokens - cost):
        word, price = source.choice(fitting)
        text += word
        cost += price
    return (text, cost) if text else tuple(table.words[0])
