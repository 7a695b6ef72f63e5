"""What one scenario asks for: the options, and what `--set SCENARIO.KEY=VALUE` says otherwise for it.

Knows: the keys and how each is written. Must not know: which scenarios there are, what they do with it.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loadband.errors import UsageError
from loadband.load.distribution import Distribution, parse_distribution, parse_token_count, parse_turns
from loadband.load.pools import SHORT_KINDS

OURS = frozenset({"model", "messages", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens"})
"""Fields of a request that the load itself decides."""


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """The draws and fields of one scenario's requests."""

    prompt_tokens: Distribution
    max_tokens: Distribution
    turns: Distribution
    think_time: Distribution
    kinds: tuple[str, ...]
    temperature: float
    extra_body: Mapping[str, Any]


def parse_temperature(text: str) -> float:
    """A number from 0. Raises UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UsageError(f"'{text}' is no temperature: write a number from 0 up")
    return value


def parse_extra_body(text: str) -> dict[str, Any]:
    """A JSON object to be merged into a request's body. Raises UsageError."""
    try:
        body = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"'{_short(text)}' is no JSON ({error}): write for example {{\"priority\":1}}") from None
    if not isinstance(body, dict):
        raise UsageError(f"'{_short(text)}' is no JSON object: write for example {{\"priority\":1}}")
    if taken := sorted(OURS & set(body)):
        raise UsageError(f"'{_short(text)}': {taken[0]} is decided by the load itself: leave it out")
    return body


def parse_kinds(text: str) -> tuple[str, ...]:
    """Kinds of short prompts, `chat,code`. Raises UsageError."""
    kinds = tuple(part.strip() for part in text.split(","))
    if unknown := [kind for kind in kinds if kind not in SHORT_KINDS]:
        raise UsageError(f"'{unknown[0]}' is no kind of prompt: choose of {', '.join(SHORT_KINDS)}")
    return tuple(dict.fromkeys(kinds))


PARSERS: dict[str, Callable[[str], Any]] = {
    "prompt_tokens": parse_token_count,
    "max_tokens": parse_token_count,
    "turns": parse_turns,
    "think_time": parse_distribution,
    "kinds": parse_kinds,
    "temperature": parse_temperature,
    "extra_body": parse_extra_body,
}
"""Key -> how its value is written: as the option of that name."""

FOR_ALL = frozenset({"max_tokens", "think_time", "temperature", "extra_body"})
"""Keys that every scenario takes."""

Settings = dict[str, dict[str, str]]
"""Scenario -> key -> value as written."""


def parse_setting(text: str) -> tuple[str, str, str]:
    """Scenario, key and value of `long_context.max_tokens=64`. Raises UsageError."""
    match = re.fullmatch(r"\s*([a-z][a-z_]*)\.([a-z_]+)\s*=(.*)", text, re.DOTALL)
    if not match:
        raise UsageError(f"'{_short(text)}' is not understood: write SCENARIO.KEY=VALUE, as long_context.max_tokens=64")
    scenario, key, value = match.groups()
    if key not in PARSERS:
        raise UsageError(f"'{key}' cannot be set for a scenario: choose of {', '.join(PARSERS)}")
    PARSERS[key](value)
    return scenario, key, value


def settings_of(texts: Iterable[str]) -> Settings:
    """All settings; the last of the same wins. Raises UsageError."""
    settings: Settings = {}
    for text in texts:
        scenario, key, value = parse_setting(text)
        settings.setdefault(scenario, {})[key] = value
    return settings


def options_of(asked: Mapping[str, str], settings: Mapping[str, str]) -> ScenarioOptions:
    """A scenario's options: `asked` of all, `settings` of this one. Raises UsageError."""
    words = {**asked, **settings}
    return ScenarioOptions(
        **{key: PARSERS[key](words[key]) for key in PARSERS if key != "extra_body"},
        extra_body={
            **parse_extra_body(asked["extra_body"]),
            **parse_extra_body(settings.get("extra_body", "{}")),
        },
    )


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number there")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
