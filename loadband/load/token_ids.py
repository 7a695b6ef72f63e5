"""Counts thousands of short strings with few calls of a tokenizer that turns a text into numbers.

Knows: how to tell the strings apart again. Must not know: where the tokenizer is.

The strings are joined by a separator that begins with a space and whose letters begin no word of theirs. Its numbers
can then be found in the answer, and what lies between two of them are the tokens of one string.
"""

from collections.abc import Callable, Iterator, Sequence

SEPARATORS = (" zq", " qj", " xq", " vq")
"""Tried in this order."""

BATCH_CHARACTERS = 24_000
"""Of one call."""

Encode = Callable[[str], Sequence[int]]
"""Token numbers of a text."""


class InseparableError(Exception):
    """The numbers do not tell where a string ends: they are no ids of a vocabulary."""


def count(samples: Sequence[str], encode: Encode) -> dict[str, int]:
    """Tokens of each sample. Raises InseparableError, and what `encode` raises."""
    separator, ids = _separator(encode)
    counts: dict[str, int] = {}
    for batch in _batches(samples, separator):
        encoded = encode(separator.join(["", *batch, ""]))
        between = _lengths(list(encoded), ids)
        if len(between) != len(batch):
            raise InseparableError(f"{len(between)} strings were told apart, not {len(batch)}")
        counts.update(zip(batch, between, strict=True))
    return counts


def _separator(encode: Encode) -> tuple[str, list[int]]:
    """A separator and its ids, the same each time."""
    for separator in SEPARATORS:
        eight, nine = (list(encode(separator * times)) for times in (8, 9))
        ids = nine[len(eight) :]
        if ids and nine[-8 * len(ids) :] == ids * 8:
            return separator, ids
    raise InseparableError("no separator has ids of its own")


def _batches(samples: Sequence[str], separator: str) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for sample in samples:
        if batch and characters + len(sample) > BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
        batch.append(sample)
        characters += len(sample) + len(separator)
    if batch:
        yield batch


def _lengths(encoded: list[int], ids: list[int]) -> list[int]:
    """How many ids stand between two neighbouring separators."""
    lengths, size = [], len(ids)
    at, last = 0, None
    while at <= len(encoded) - size:
        if encoded[at : at + size] == ids:
            if last is not None:
                lengths.append(at - last)
            at += size
            last = at
        else:
            at += 1
    return lengths
