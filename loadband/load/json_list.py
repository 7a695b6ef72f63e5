"""The items of a JSON list, one by one: such a file may be far larger than what is kept of it.

Knows: JSON. Must not know: what the items are.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from loadband.errors import UsageError

CHUNK = 1 << 20
LONGEST_ITEM = 64 << 20

_BETWEEN = re.compile(r"[\s,]*")


def items_of(file: TextIO) -> Iterator[Any]:
    """Items of the list that the file holds. Raises UsageError where it is torn or no JSON."""
    decoder = json.JSONDecoder()
    text, number = file.read(CHUNK).lstrip(), 0
    place = 1  # behind the bracket
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        if text.startswith("]", place):
            return
        try:
            item, end = decoder.raw_decode(text, place)
            whole = end < len(text)  # a number at the end of a chunk may go on
        except (ValueError, RecursionError):
            whole = False
        if whole:
            number, place = number + 1, end
            yield item
            continue
        text = text[place:]
        more = file.read(max(CHUNK, len(text)))  # doubling: a long item is not parsed anew for each chunk
        if not more or len(text) > LONGEST_ITEM:
            raise UsageError(f"the list is torn or no JSON after its entry {number}: mend it, or write one JSON a line")
        text, place = text + more, 0
