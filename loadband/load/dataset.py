"""Recorded requests: kept small, sent from the master to the workers in pieces, given out by their place.

Knows: what is kept of a request. Must not know: files, Locust, users, schedules.

Workers on other machines have no such file, so they get the requests from the master.
"""

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PIECE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request of the data set: messages, or a number of tokens for which a text is written."""

    messages: list[dict[str, Any]] | None
    prompt_tokens: int | None
    max_tokens: int | None


@dataclass(slots=True)
class Dataset:
    """The requests in the order of their moments, or of the file where they have none."""

    lines: list[bytes] = field(default_factory=list)
    """JSON of messages, prompt tokens, max tokens."""
    moments: "array[float]" = field(default_factory=lambda: array("d"))
    """Seconds, rising; empty where the file has none."""
    skipped: list[str] = field(default_factory=list)
    """What was wrong with the lines that were skipped, the first few."""
    bad: int = 0

    def __len__(self) -> int:
        return len(self.lines)

    def request(self, place: int) -> Recorded:
        """The request of a place, counted round and round."""
        messages, prompt_tokens, max_tokens = json.loads(self.lines[place % len(self.lines)])
        return Recorded(messages, prompt_tokens, max_tokens)

    @property
    def digest(self) -> str:
        """Short hash of the whole, to see that every process has the same."""
        digest = hashlib.blake2b(self.moments.tobytes(), digest_size=6)
        for line in self.lines:
            digest.update(line)
        return digest.hexdigest()

    def pieces(self) -> Iterator[dict[str, Any]]:
        """The whole as messages of about a megabyte."""
        begin = size = 0
        for place, line in enumerate(self.lines):
            size += len(line)
            if size >= PIECE_BYTES or place == len(self.lines) - 1:
                part = slice(begin, place + 1)
                yield {"begin": begin, "lines": self.lines[part], "moments": self.moments[part].tobytes()}
                begin, size = place + 1, 0

    def add(self, piece: Mapping[str, Any]) -> None:
        """The inverse of `pieces`: the first one begins anew."""
        if piece["begin"] == 0:
            self.lines, self.moments = [], array("d")
        self.lines += piece["lines"]
        self.moments.frombytes(piece["moments"])
