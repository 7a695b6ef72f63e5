"""Which strings to count so that every text can be priced, and the table that their counts make.

Knows: pieces, units, joints. Must not know: how a string is counted.

Every sample begins where a unit begins, and is followed by one; so its tokens are the same in any text. The price of a
piece's first unit holds the joint before it. A joint may merge with the sign before it (`.` and a blank line): what
that saves is the *tail* of the piece, from the last unit with the joint and a letter behind it.
"""

from collections.abc import Iterable, Iterator, Mapping

from loadband.load.pools import JOINTS, pool
from loadband.load.token_table import TokenTable, cheapest, word_candidates
from loadband.load.units import cuts, units

LETTERS = "qz"
"""What stands behind a joint when only the joint is meant."""


def samples(kinds: Iterable[str]) -> list[str]:
    """Distinct strings, in order."""
    found = dict.fromkeys(word_candidates())
    for kind in kinds:
        joint = JOINTS[kind]
        found[joint + LETTERS] = None
        for text in pool(kind):
            for unit in _leading(kind, text):
                found.update(dict.fromkeys(_prefixes(kind, unit)))
            if joint != " ":
                found[unit + joint + LETTERS] = None
    return list(found)


def table_of(kinds: Iterable[str], counts: Mapping[str, int]) -> TokenTable:
    """The table, from the counts of all samples."""
    table = {}
    for kind in kinds:
        table[kind] = [[[index], *_piece(kind, text, counts)] for index, text in enumerate(pool(kind))]
    return TokenTable(table, cheapest({word: counts[word] for word in word_candidates()}))


def _piece(kind: str, text: str, counts: Mapping[str, int]) -> Iterator[object]:
    """Costs and tail."""
    joint = JOINTS[kind]
    costs = []
    for unit in _leading(kind, text):
        prices = [counts[prefix] for prefix in _prefixes(kind, unit)]
        costs.append(prices if len(prices) > 1 else prices[0])
    yield costs
    last = costs[-1][-1] if isinstance(costs[-1], list) else costs[-1]
    yield 0 if joint == " " else counts[unit + joint + LETTERS] - last - counts[joint + LETTERS]


def _leading(kind: str, text: str) -> list[str]:
    """The units of a piece, the joint before the first."""
    first, *others = units(text)
    return [JOINTS[kind] + first, *others]


def _prefixes(kind: str, unit: str) -> list[str]:
    """The unit up to each of its cuts."""
    lead = JOINTS[kind] if unit.startswith(JOINTS[kind]) else ""
    return [unit[: len(lead) + end] for end in cuts(unit[len(lead) :])]
