"""A token table from nothing but the prompt tokens that the server tells of each answer.

Knows: which few texts to ask so that much is known exactly. Must not know: how they are asked.

An answer tells one number, so not every word can be counted. Counted are: 12 pieces of each short kind, at four places;
the documents two by two; words for nonces in groups, which prove that each of a group costs one token, or one by one
where no group does. Only what was counted is used: a short prompt is made of these 12 pieces, a document of whole pairs
in random order and of chat at its end; a text is cut only where it was counted, and filled with counted words. All but
the saving of the joints, a mean, is exact.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from loadband.load.pools import DOCUMENT, JOINTS, pool
from loadband.load.token_samples import LETTERS
from loadband.load.token_table import TokenTable, cheapest, joined, word_candidates
from loadband.load.units import cuts, units

CORE_PIECES = 12
PARTS = 4
DOCUMENTS_TOGETHER = 2
WORDS_TOGETHER = 32
WORD_GROUPS = 16
GROUPS_ONE_BY_ONE = 2
ENOUGH_WORDS = 32
"""A nonce of five of so many words has 25 bits."""

TAILS_TOGETHER = 8
"""Pieces in the one text that tells what joints save."""

Ask = Callable[[Sequence[str]], Sequence[int | None]]
"""Prompt tokens that the server tells of each text, the template's among them; None where it does not."""


class UncountedError(Exception):
    """Why the server's counts tell nothing: it gives none, not of every prompt, or the same of all."""


def calibrated(kinds: Iterable[str], ask: Ask) -> TokenTable:
    """The table of these kinds. Raises UncountedError."""
    kinds = tuple(dict.fromkeys([*kinds, *(["chat"] if DOCUMENT in kinds else [])]))
    groups = _word_groups()
    asked = [LETTERS, *(LETTERS + "".join(group) for group in groups)]
    for kind in kinds:
        asked += _texts(kind)
    told = _counted(ask, asked[:2])
    if len(set(told.values())) == 1:
        raise UncountedError("the server counts long and short prompts alike")
    told |= _counted(ask, asked[2:])
    bare = told[LETTERS]
    counts = {text: count - bare for text, count in told.items()}
    return TokenTable({kind: _pieces(kind, counts) for kind in kinds}, _words(groups, counts, bare, ask), exact=False)


def _words(groups: list[list[str]], counts: dict[str, int], bare: int, ask: Ask) -> list[list[Any]]:
    """Words whose tokens are known for sure: of groups in which each must be one, else asked one by one."""
    by_price = sorted(groups, key=lambda group: counts[LETTERS + "".join(group)])
    sure = [word for group in by_price if counts[LETTERS + "".join(group)] == len(group) for word in group]
    if len(sure) >= ENOUGH_WORDS:
        return cheapest(dict.fromkeys(sure, 1))
    single = [word for group in by_price[:GROUPS_ONE_BY_ONE] for word in group]
    told = _counted(ask, [LETTERS + word for word in single])
    prices = cheapest({word: told[LETTERS + word] - bare for word in single})
    alike = [pair for pair in prices if pair[1] == prices[0][1]]
    return alike if len(alike) >= ENOUGH_WORDS else prices


def _counted(ask: Ask, texts: Sequence[str]) -> dict[str, int]:
    told = ask(texts)
    counts = {text: count for text, count in zip(texts, told, strict=True) if count is not None}
    if not counts:
        raise UncountedError("the server does not count prompt tokens")
    if len(counts) < len(texts):
        raise UncountedError(f"the server counted only {len(counts)} of {len(texts)} texts (is its context so small?)")
    return counts


def _word_groups() -> list[list[str]]:
    """Candidates in groups of like length."""
    words = sorted(word_candidates(), key=lambda word: (len(word), word))
    return [words[n * WORDS_TOGETHER : (n + 1) * WORDS_TOGETHER] for n in range(min(WORD_GROUPS, len(words) // 32))]


def _indices(kind: str) -> list[list[int]]:
    """Which pieces of a pool are used, and which of them as one."""
    count = len(pool(kind))
    if kind != DOCUMENT:
        step = max(1, count // CORE_PIECES)
        return [[index] for index in range(0, count, step)][:CORE_PIECES]
    return [list(range(at, min(at + DOCUMENTS_TOGETHER, count))) for at in range(0, count, DOCUMENTS_TOGETHER)]


def _starts(kind: str, indices: Sequence[int]) -> list[str]:
    """A piece up to each place where it is counted, the whole piece last."""
    text = joined(kind, indices)
    if kind == DOCUMENT:
        return [text]
    parts = units(text)
    ends = sorted({len(parts) * part // PARTS for part in range(1, PARTS + 1)} - {0})
    return ["".join(parts[:end]) for end in ends]


def _many(kind: str) -> str:
    """Several pieces in one text."""
    return JOINTS[kind].join(joined(kind, indices) for indices in _indices(kind)[:TAILS_TOGETHER])


def _texts(kind: str) -> list[str]:
    """All that is asked of a kind."""
    lead = LETTERS + JOINTS[kind]
    starts = [start for indices in _indices(kind) for start in _starts(kind, indices)]
    return [lead + text for text in (*starts, _many(kind))]


def _pieces(kind: str, counts: dict[str, int]) -> list[list[Any]]:
    lead = LETTERS + JOINTS[kind]
    found: list[tuple[list[int], list[Any]]] = []
    for indices in _indices(kind):
        costs: list[Any] = []
        before = ""
        for start in _starts(kind, indices):
            counted = counts[lead + start] - (counts[lead + before] if before else 0)
            costs += _at_once(start[len(before) :], counted)
            before = start
        found.append((indices, costs))
    several = _indices(kind)[:TAILS_TOGETHER]
    apart = sum(counts[lead + joined(kind, indices)] for indices in several)
    tail = (counts[lead + _many(kind)] - apart) / max(1, len(several) - 1)
    return [[indices, costs, tail] for indices, costs in found]


def _at_once(text: str, total: int) -> list[Any]:
    """The costs of units that are only taken together: the first pays for all."""
    prices = [total, *[0] * (len(units(text)) - 1)]
    return [[price] * len(places) if len(places) > 1 else price
            for price, places in zip(prices, map(cuts, units(text)), strict=True)]  # fmt: skip
