"""Vocabularies for tests: how many tokens a text has, without a library.

Knows: how words are cut. Must not know: any test.
"""

import re
import zlib
from collections.abc import Sequence

_PRE = re.compile(r"[^\r\n\w]?[A-Za-z]+|[^\r\n\w]?[\u4e00-\u9fff]+|\d| ?[^\s\w]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+|_")
"""Words as byte-pair vocabularies cut them: letters take the sign before them, punctuation the line breaks after."""


def ids(text: str) -> list[int]:
    """Token numbers: a word is cut into parts of five characters, Chinese into parts of two."""
    found = []
    for match in _PRE.finditer(text):
        word = match.group()
        size = 2 if re.search("[\u4e00-\u9fff]", word) else 5
        found += [zlib.crc32(word[at : at + size].encode()) for at in range(0, len(word), size)]
    return found


def tokens(text: str) -> int:
    """How many."""
    return len(ids(text))


def bytes_counted(text: str) -> Sequence[int]:
    """A tokenizer that only counts: one token for every four bytes, its numbers say nothing."""
    return range(-(-len(text.encode()) // 4))
