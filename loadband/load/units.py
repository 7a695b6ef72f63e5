"""Where a text may be cut without changing how the rest of it is tokenised.

Knows: spaces, Chinese punctuation. Must not know: any vocabulary, any pool.

A *unit* is a stretch that no tokenizer of today merges with its neighbours: tokens(a + b) = tokens(a) + tokens(b) when
b begins a unit. Byte-pair vocabularies cut a text into words first, each with the space before it (GPT-2 and its
heirs), or mark that space (SentencePiece); a mark of punctuation never joins the letters before it. So a unit begins at
a single space between two other signs, and in Chinese at a mark of punctuation behind a character.

Inside a Chinese unit every character is a place to cut (a *cut*); there the number of tokens does not add up, and is
measured for each prefix.
"""

import re

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_MARKS = "，。、；：？！（“《—…"

_BOUNDARY = re.compile(rf"(?<=\S)(?= \S)|(?<=[{_HAN}])(?=[{_MARKS}])")
_CHARACTER = re.compile(f"[{_HAN}]")
_WEIGHED = re.compile(rf"[A-Za-z]+|\d|[{_HAN}]|\n+| +|[^\sA-Za-z0-9{_HAN}]+")

PLAIN_LETTERS = 4
"""A word of so many letters costs as much as a shorter one."""

LETTER_BEYOND = 0.1
"""What each letter beyond them adds. With it the cuts inside a piece of English were predicted to 0.4 tokens (root of
the mean square, vocabulary of 129 thousand) and to 2 (of 8 thousand)."""

LINE_BREAK = 0.7


def units(text: str) -> list[str]:
    """The units of a text, in order; joined they are the text."""
    return _BOUNDARY.split(text)


def cuts(unit: str) -> list[int]:
    """How many characters of a unit may be kept, rising; the last is all of it."""
    inside = [match.end() for match in _CHARACTER.finditer(unit, 0, len(unit) - 1)]
    return [*inside, len(unit)]


def weight(unit: str) -> float:
    """About what a unit costs beside others, where it was not counted: in tokens of a usual vocabulary."""
    return sum(_weight(match.group()) for match in _WEIGHED.finditer(unit))


def _weight(part: str) -> float:
    if part.isascii() and part.isalpha():
        return 1 + LETTER_BEYOND * max(0, len(part) - PLAIN_LETTERS)
    if part.isspace():
        return 0.0 if part[0] == " " else LINE_BREAK
    return 1.0
