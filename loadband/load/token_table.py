"""How many tokens each piece of the pools costs on the target, unit by unit: measured once, sent to every worker.

Knows: the form of the table, on the wire and in use. Must not know: how it was counted, what is written with it.

On the wire a kind is a list of pieces `[indices, costs, tail]`: the pool's pieces that are joined to this one, for each
unit its tokens (a list of counts, one a cut, where it has several), and what the joint behind it costs beside the
joint's own price (mostly 0; -1 where the vocabulary merges `.` and a blank line). The first unit's cost holds the joint
before it. A table of all pools has some 35 thousand numbers.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadband.load.pools import DOCUMENT, JOINTS, KINDS, QUESTION, pool
from loadband.load.units import cuts, units, weight

USUAL_TOKENS_PER_CHARACTER = {"chat": 0.22, "zh": 0.7, "code": 0.28, "document": 0.27}
"""What common vocabularies need, where nothing tells."""

NONCE_WORDS = 256
"""A nonce draws from so many words, the cheapest: eight bits a word."""

FITTING = 64
"""The last tokens of a text are filled with one of so many words each."""

_WORD = re.compile(r" [a-z]{3,9}")
_SHAPED = re.compile(r" ([A-Z]?)[a-z]{3,}([,.;:]?)|([，、；：])[\u4e00-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of text with the tokens of each of its cuts; the last is all of it."""

    text: str
    costs: tuple[int, ...]

    @property
    def cost(self) -> int:
        """Tokens of the whole unit."""
        return self.costs[-1]

    @property
    def shape(self) -> tuple[str | None, ...] | None:
        """What a unit must share with another to stand in its place; None: it is not exchanged."""
        match = _SHAPED.fullmatch(self.text)
        return match.groups() if match else None


@dataclass(frozen=True)
class Piece:
    """A piece of a pool; `cost` holds the joint before it, `tail` what the joint behind it costs besides."""

    units: tuple[Unit, ...]
    tail: float

    @functools.cached_property
    def text(self) -> str:
        """As it is written."""
        return "".join(unit.text for unit in self.units)

    @functools.cached_property
    def cost(self) -> int:
        """Tokens of all of it."""
        return sum(unit.cost for unit in self.units)

    def start(self, tokens: float) -> tuple[str, int]:
        """Its longest beginning of at most so many tokens, and what it costs; empty when not even one fits."""
        kept, cost = [], 0
        for unit in self.units:
            if cost + unit.cost > tokens:
                fitting = [place for place, price in enumerate(unit.costs) if cost + price <= tokens]
                if fitting:
                    kept.append(unit.text[: cuts(unit.text)[fitting[-1]]])
                    cost += unit.costs[fitting[-1]]
                break
            kept.append(unit.text)
            cost += unit.cost
        return "".join(kept), cost


@dataclass(slots=True)
class TokenTable:
    """The table of one target. Pieces are made on first use of their kind."""

    kinds: Mapping[str, Sequence[Sequence[Any]]]
    """Kind -> pieces as on the wire."""
    words: Sequence[Sequence[Any]]
    """`[word, tokens]` with the space before it, the cheapest first: nonces and the last tokens of a text."""
    exact: bool = True
    """Every unit was counted; where only their sums were, none may stand for another."""
    _prices: list[float] = field(default_factory=list)
    _pieces: dict[str, tuple[Piece, ...]] = field(default_factory=dict)
    _exchanges: dict[str, dict[Any, list[Unit]]] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """As plain values."""
        return {"kinds": self.kinds, "words": self.words, "exact": self.exact}

    def pieces(self, kind: str) -> tuple[Piece, ...]:
        """The pieces of a kind."""
        if kind not in self._pieces:
            self._pieces[kind] = tuple(_piece(kind, *entry) for entry in self.kinds[kind])
        return self._pieces[kind]

    def fitting(self, tokens: float) -> Sequence[Sequence[Any]]:
        """The words of at most so many tokens, the cheapest `FITTING` of them."""
        if not self._prices:
            self._prices = [price for _, price in self.words[:FITTING]]
        return self.words[: bisect_right(self._prices, tokens)]

    def rate(self, kind: str) -> float:
        """Tokens per character of a kind, or what is usual where it was not counted."""
        if kind not in self.kinds:
            return USUAL_TOKENS_PER_CHARACTER[kind]
        pieces = self.pieces(kind)
        return sum(piece.cost for piece in pieces) / sum(len(piece.text) for piece in pieces)

    def exchanges(self, kind: str) -> dict[Any, list[Unit]]:
        """(shape, tokens) -> the units of a kind that may stand for each other."""
        if kind not in self._exchanges:
            found: dict[Any, dict[str, Unit]] = {}
            for unit in (unit for piece in self.pieces(kind) for unit in piece.units[1:]):
                if shape := unit.shape:
                    found.setdefault((shape, unit.cost), {})[unit.text] = unit
            self._exchanges[kind] = {key: list(same.values()) for key, same in found.items()}
        return self._exchanges[kind]


def _piece(kind: str, indices: Sequence[int], costs: Sequence[Any], tail: float) -> Piece:
    parts = units(joined(kind, indices))
    each = [tuple(cost) if isinstance(cost, list | tuple) else (cost,) for cost in costs]
    return Piece(tuple(Unit(text, cost) for text, cost in zip(parts, each, strict=True)), tail)


def joined(kind: str, indices: Iterable[int]) -> str:
    """Pieces of a pool, joined to one."""
    return JOINTS[kind].join(pool(kind)[index] for index in indices)


def word_candidates() -> list[str]:
    """Words that a nonce may use, each with the space before it."""
    return sorted({unit for piece in pool("chat") for unit in units(piece) if _WORD.fullmatch(unit)})


def cheapest(words: Mapping[str, float]) -> list[list[Any]]:
    """The words of a table, by their tokens."""
    return [list(pair) for pair in sorted(words.items(), key=lambda each: (each[1], each[0]))[:NONCE_WORDS]]


def shared_out(text: str, total: int) -> list[Any]:
    """The costs of a text's units where only their sum is known: by weight, whole numbers that add up to `total`."""
    parts = units(text)
    weights = [[weight(unit[:end]) for end in cuts(unit)] for unit in parts]
    price = total / (sum(each[-1] for each in weights) or 1.0)
    costs: list[Any] = []
    before = 0.0
    for each in weights:
        first = round(before * price)
        prices = [round((before + part) * price) - first for part in each]
        costs.append(prices if len(prices) > 1 else prices[0])
        before += each[-1]
    return costs


@functools.cache
def usual_table() -> TokenTable:
    """The table of a target that tells nothing: what common vocabularies need."""
    kinds = {}
    for kind in (*KINDS, QUESTION):
        rate = USUAL_TOKENS_PER_CHARACTER.get(kind, USUAL_TOKENS_PER_CHARACTER[DOCUMENT])
        kinds[kind] = [[[n], shared_out(text, round(len(text) * rate)), 0] for n, text in enumerate(pool(kind))]
    return TokenTable(kinds, cheapest(dict.fromkeys(word_candidates(), 1)), exact=False)
