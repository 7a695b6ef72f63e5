"""Which answer a request gets: rules, and the limits of the whole server.

Knows: requests as method, path, headers and body. Must not know: sockets, time, what an answer's bytes are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.answers import Answer
from tests.oracle.tokens import Tokens
from tests.oracle.wire import Json

Told = Answer | Tokens
"""The two kinds of answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Answers, given in turn, for the requests that meet every condition; `rule()` explains the fields."""

    answers: tuple[Told, ...]
    method: str | None = "POST"
    path: str | None = None
    header: str | None = None
    has: str | None = None
    lacks: str | None = None
    equals: tuple[str, Json] | None = None
    numbers: frozenset[int] | None = None
    reused: bool | None = None
    times: int | None = None

    def fits(self, asked: "Asked", used: int) -> bool:
        """Whether this rule answers the request, having answered `used` before it."""
        return (
            (self.times is None or used < self.times)
            and self.method in {None, asked.method}
            and (self.path is None or _same_path(self.path, asked.path))
            and (self.header is None or _has_header(self.header, asked.headers))
            and (self.has is None or _field(asked.body, self.has) is not None)
            and (self.lacks is None or _field(asked.body, self.lacks) is None)
            and (self.equals is None or _field(asked.body, self.equals[0]) == self.equals[1])
            and (self.numbers is None or asked.number in self.numbers)
            and (self.reused is None or self.reused == (asked.nth_on_connection > 1))
        )


DEFAULT_RULES = (Rule(answers=(Tokens(),)),)
"""Every POST gets a quick token stream."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What rules look at. `number` counts the requests that rules may answer, from 1."""

    number: int
    nth_on_connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Outage:
    """After so many answered requests the port refuses for `seconds` (None: for good); open connections are dropped."""

    after: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All that the server is to do.

    `slots`: so many scripted answers progress at once, the others wait in order of arrival. `greeting`: bytes sent
    on accept, before any request (the connection closes at the client's first byte). `keep_bodies` off keeps the
    prompts out of the log but for their beginning.
    """

    rules: tuple[Rule, ...] = DEFAULT_RULES
    slots: int | None = None
    greeting: bytes | None = None
    outage: Outage | None = None
    keep_bodies: bool = True
    model: str = "oracle"
    context: int = 32768


@dataclass(slots=True)
class Chooser:
    """A script's rules with the count of how often each was used."""

    rules: tuple[Rule, ...]
    used: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.used = [0] * len(self.rules)

    def choose(self, asked: Asked) -> Told | None:
        """The answer of the first rule that fits; None when none does."""
        for i, candidate in enumerate(self.rules):
            if candidate.fits(asked, self.used[i]):
                self.used[i] += 1
                return candidate.answers[(self.used[i] - 1) % len(candidate.answers)]
        return None


def rule(
    *answers: Told,
    method: str | None = "POST",
    path: str | None = None,
    header: str | None = None,
    has: str | None = None,
    lacks: str | None = None,
    equals: tuple[str, Json] | None = None,
    numbers: Iterable[int] | None = None,
    reused: bool | None = None,
    times: int | None = None,
) -> Rule:
    """A rule whose `answers` are given in turn, round and round.

    Args:
        answers: At least one.
        method: `None` for any.
        path: Exact, without the query; with a trailing `*` a beginning.
        header: A header that must be there; `name: value` asks for its value too.
        has: A body field that must be there and not null, dotted (`stream_options.include_usage`).
        lacks: A body field that must not be there.
        equals: A body field and the value it must have.
        numbers: Which requests, counted from 1 since the script was set (the default GETs do not count).
        reused: Whether the connection has carried a request before.
        times: The rule is used up after so many requests.
    """
    return Rule(
        answers=answers, method=method, path=path, header=header, has=has, lacks=lacks, equals=equals,
        numbers=None if numbers is None else frozenset(numbers), reused=reused, times=times,
    )  # fmt: skip


def _same_path(wanted: str, path: str) -> bool:
    return path.startswith(wanted[:-1]) if wanted.endswith("*") else path == wanted


def _has_header(wanted: str, headers: Mapping[str, str]) -> bool:
    name, colon, value = wanted.partition(":")
    found = headers.get(name.strip().lower())
    return found is not None and (not colon or found == value.strip())


def _field(body: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        body = body.get(name) if isinstance(body, Mapping) else None
    return body
