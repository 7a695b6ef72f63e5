"""An open loop's levels are rates: its sentences say requests/s where those of a closed loop say users.

Knows: the words. Must not know: which sentence they stand in, how a number was found.

The whole analysis runs over one axis, `Level.users`, which in an open loop holds the offered requests per second.
"""

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from loadband.analysis.level import Level

AXIS = {False: "users", True: "offered_req_s"}
"""Name of the axis by whether the loop is open."""

_COUNTED = re.compile(r"(?<=\d )users?\b")
_WORDS = (
    ("how many users it holds", "which rate it holds"),
    ("best number of users", "best rate"),
    ("its users", "its rate"),
    ("over users", "over requests/s"),
    ("numbers are users", "numbers are requests/s"),
    ("--steps", "--rates"),
)

T = TypeVar("T")


def is_open(levels: Iterable[Level]) -> bool:
    """Whether the levels are rates."""
    levels = tuple(levels)
    told = [level.numbers.offered_req_s for level in levels]
    return bool(told) and all(rate is not None for rate in told) and all(each.numbers.users is None for each in levels)


def in_rates(text: str) -> str:
    """The sentence with requests/s for users."""
    for users, rate in _WORDS:
        text = text.replace(users, rate)
    return _COUNTED.sub("requests/s", text)


def spoken_in_rates(value: T) -> T:
    """A frozen dataclass with every sentence in it, at any depth, in rates."""
    return _spoken(value)  # type: ignore[no-any-return]


def _spoken(value: Any) -> Any:
    if isinstance(value, str):
        return in_rates(value)
    if isinstance(value, tuple):
        return tuple(_spoken(each) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {each.name: _spoken(getattr(value, each.name)) for each in fields(value) if _may_speak(value, each.name)}
    return replace(value, **changed)


def _may_speak(value: Any, name: str) -> bool:
    return isinstance(getattr(value, name), str | tuple) or is_dataclass(getattr(value, name))
