"""How the tokens of prompts are known: by a tokenizer that was named, by the server's own, or from what it counts.

Knows: the order of the three ways, and what to say of each. Must not know: sockets, what a prompt is for.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from loadband.errors import UsageError
from loadband.load.calibration import Ask, UncountedError, calibrated
from loadband.load.pools import DOCUMENT, QUESTION, SHORT_KINDS
from loadband.load.token_ids import Encode, InseparableError, count
from loadband.load.token_samples import samples, table_of
from loadband.load.token_table import TokenTable, usual_table
from loadband.tokenizing import Tokenizing

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
        with Tokenizing(tokenizer) as process:
            try:
                return Lengths(table_of(kinds, count(strings, lambda text: process.encode([text])[0])), "tokenizer")
            except InseparableError as error:
                raise UsageError(f"--tokenizer {tokenizer} cannot count words ({error}): name another") from None
    encode_there = server()
    if encode_there is not None:
        try:
            return Lengths(table_of(kinds, count(strings, encode_there)), "server")
        except InseparableError:
            pass
    uncounted = UncountedError("the server does not count prompt tokens")
    if ask is not None:
        try:
            return Lengths(calibrated(kinds, ask), "usage", [
                "the server has no tokenizer to ask: prompts are put together from few texts that its answers counted; "
                "--tokenizer makes use of all"
            ])  # fmt: skip
        except UncountedError as error:
            uncounted = error
    return Lengths(findings=[f"{uncounted}: prompt lengths are estimated; --tokenizer makes them exact"])
