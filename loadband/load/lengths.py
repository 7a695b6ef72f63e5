"""How the tokens of prompts are known: by a tokenizer that was named, by the server's own, or from what it counts.

Knows: the order of the three ways, and what to say of each. Must not know: sockets, what a prompt is for.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadband.errors import UsageError
from loadband.load.calibration import Ask, UncountedError, calibrated
from loadband.load.pools import DOCUMENT, QUESTION, SHORT_KINDS
from loadband.load.token_ids import Encode, InseparableError, count
from loadband.load.token_samples import samples, table_of
from loadband.load.token_table import TokenTable, usual_table

CHECKOUT = Path(__file__).resolve().parents[2]

KINDS_OF = {
    "interactive": SHORT_KINDS,
    "open_loop": SHORT_KINDS,
    "long_context": (DOCUMENT, QUESTION),
    "replay": (*SHORT_KINDS, DOCUMENT, QUESTION),
}
"""Scenario -> the kinds of text whose length it asks for."""


def kinds_of(scenarios: Iterable[str], shared_prefix: int = 0) -> tuple[str, ...]:
    """Kinds of text that a run of these scenarios measures."""
    kinds = [kind for scenario in scenarios for kind in KINDS_OF.get(scenario, ())]
    return tuple(dict.fromkeys([*kinds, *([DOCUMENT] if shared_prefix else [])]))


@dataclass(slots=True)
class Lengths:
    """The table, and in which way it was made."""

    table: TokenTable = field(default_factory=usual_table)
    counted_by: str = "nothing"
    """`tokenizer`, `server` (its `/tokenize`), `usage` or `nothing`."""
    findings: list[str] = field(default_factory=list)


def lengths(
    kinds: Collection[str], tokenizer: str | None, server: Callable[[], Encode | None], ask: Ask | None
) -> Lengths:
    """By the first way that works. `server`: its tokenizer, if it has one; `ask`: its counts, None where it tells none.

    Raises UsageError for a tokenizer that was named and cannot be used.
    """
    strings = samples(kinds)
    if tokenizer is not None:
        with _Local(tokenizer) as encode:
            try:
                return Lengths(table_of(kinds, count(strings, encode)), "tokenizer")
            except InseparableError as error:
                raise UsageError(f"--tokenizer {tokenizer} cannot count words ({error}): name another") from None
    encode_there = server()
    if encode_there is not None:
        try:
            return Lengths(table_of(kinds, count(strings, encode_there)), "server")
        except InseparableError:
            pass
    if ask is not None:
        try:
            return Lengths(calibrated(kinds, ask), "usage", [
                "the server has no tokenizer to ask: prompts are put together from few texts that its answers counted; "
                "--tokenizer makes use of all"
            ])  # fmt: skip
        except UncountedError:
            pass
    return Lengths(
        findings=["the server does not count prompt tokens: prompt lengths are estimated; --tokenizer makes them exact"]
    )


class _Local:
    """A tokenizer in a process of its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> Encode:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loadband.tokenizer", self._name], cwd=CHECKOUT, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        return self._encode

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def _encode(self, text: str) -> Sequence[int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([text]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            told = self._process.communicate()[1].strip().rpartition("\n")[2]
            raise UsageError(f"--tokenizer {self._name} cannot be used: {told or 'it ended without a word'}")
        ids: list[int] = json.loads(line)[0]
        return ids
