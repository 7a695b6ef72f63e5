"""The plan of a run: which levels, how long each is held. Grammar of `--steps`, `--hold`, `--settle`.

Knows: the words a person writes and what they mean. Must not know: Locust, clocks, whether the plan was kept.

    steps   1,2,4,8    1:64:x2 (factor)    8:64:+8 (addition)    1,2,8:64:+8 (joined)
            a range includes its end when it lands there; a fraction of a user is rounded, a level never comes twice
    hold    auto       90  90s  2m  1h     256req
    settle  auto       5   5s   0s
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from loadband.errors import UsageError

MAX_USERS = 1_000_000
"""A level above this is a slip of the keyboard."""

MAX_LEVELS = 1_000
"""More levels than this is a slip too: at the shortest useful hold they take most of a day."""

MAX_REQUESTS = 1_000_000_000
"""A hold of more requests than this would not end."""

MAX_DURATION_S = 30 * 86_400.0
"""A time above 30 days is a slip."""

MIN_FACTOR = 1.01
"""Levels nearer than 1 % to each other cannot be told apart by a measurement."""

UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Hold:
    """How long a level is measured. Exactly one of `seconds` and `requests` is set; neither means `auto`."""

    seconds: float | None = None
    requests: int | None = None

    @property
    def auto(self) -> bool:
        """Hold until the level's numbers stand still."""
        return self.seconds is None and self.requests is None

    def __str__(self) -> str:
        """The hold as a person would write it; parses to itself."""
        if self.requests is not None:
            return f"{self.requests}req"
        return "auto" if self.seconds is None else f"{self.seconds:.12g}s"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the ladder climbs. In `settle_s`, `drain_s` and `warmup_s` None is auto.

    Auto is for settling one E2E p95, at least 2 s; for draining until nothing is in flight; for the warm-up until
    every scenario was answered once, at most 60 s.
    """

    levels: tuple[int, ...]
    """Numbers of users; empty in an open loop."""
    hold: Hold = Hold()
    max_hold_s: float = 600.0
    settle_s: float | None = None
    repeats: int = 1
    """How often the levels are climbed, drained in between."""
    drain_s: float | None = None
    warmup_s: float | None = None
    stop_when_lost: bool = True
    """Whether the run ends when the target goes away, or waits for its return."""
    until_failure: bool = False
    """Whether a pass ends at the level at which a failure is confirmed."""
    shedding_fails: bool = True
    """Whether requests that are refused (429, 503, 529) count for that."""
    rates: tuple[float, ...] = ()
    """Levels of an open loop, requests per second."""

    refine: bool = False
    """Whether levels around the optimum follow."""
    grows: bool = False
    """Whether `levels` are but the first one, and the climb goes on until the optimum is passed."""
    stop_when: str | None = None
    """Guards that end the plan, as written."""
    find: str | None = None
    """Limits whose highest level is searched for, from the first of `levels` on."""
    recover: bool = False
    """Whether half the load follows a failure, or the top level."""
    spike_s: float | None = None
    """How long the second of three levels is held, at once; the first and the third are the load before and after."""
    baseline: bool = False
    """Whether one level is held again and again, to know by how much a next run may differ."""

    @property
    def chooses(self) -> bool:
        """Whether levels are chosen on the way."""
        return self.refine or self.find is not None

    @property
    def steps(self) -> int:
        """Levels of one climb."""
        return len(self.rates or self.levels)

    @property
    def holds(self) -> int:
        """Levels of the whole plan, over all passes, with the one that several passes end with."""
        return self.steps * self.repeats + (self.repeats > 1 and self.steps > 1)


def parse_duration(text: str) -> float:
    """Seconds of `90`, `90s`, `2m`, `1h` or `500ms`. Raises UsageError."""
    seconds = _seconds(text)
    if seconds is None:
        raise UsageError(f"'{_short(text)}' is not a time: write 90, 90s, 2m or 1h")
    return seconds


def _seconds(text: str) -> float | None:
    """Seconds of a time, None of other words. Raises UsageError of a time that is too long."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)?", text.strip())
    if not match:
        return None
    seconds = float(match[1]) * UNITS_S[match[2] or "s"]
    if seconds > MAX_DURATION_S:
        raise UsageError(f"'{_short(text)}' is longer than 30 days: write a shorter time, for example 2h")
    return seconds


def parse_levels(text: str) -> tuple[int, ...]:
    """Rising numbers of users from `1,2,4`, `1:64:x2`, `8:64:+8` or several joined by commas. Raises UsageError."""
    levels: list[int] = []
    for part in text.split(","):
        levels += _levels_of(part.strip(), _short(text))
        if len(levels) > MAX_LEVELS:
            raise UsageError(
                f"steps '{_short(text)}' are more than {MAX_LEVELS} levels: write a larger factor or addition, or fewer"
            )
    for lower, upper in pairwise(levels):
        if upper <= lower:
            raise UsageError(
                f"steps '{_short(text)}' do not rise: {lower} is followed by {upper}; write them upwards, each once"
            )
    return tuple(levels)


def _levels_of(part: str, whole: str) -> list[int]:
    """Levels of one part between commas, at most one more than MAX_LEVELS."""
    if re.fullmatch(r"[0-9]+", part):
        return [_level(part, whole)]
    match = re.fullmatch(r"([0-9]+):([0-9]+):([x+])([0-9]+(?:\.[0-9]+)?)", part)
    if not match:
        raise UsageError(f"'{_short(part)}' in steps '{whole}' is not understood: write 1,2,4,8 or 1:64:x2 or 8:64:+8")
    first, last = _level(match[1], whole), _level(match[2], whole)
    if last < first:
        raise UsageError(f"'{_short(part)}' runs downwards: write the smaller number of users first")
    by = float(match[4])
    if match[3] == "x":
        if by < MIN_FACTOR:
            raise UsageError(f"'{_short(part)}' hardly rises: write a factor of at least x{MIN_FACTOR}")
        return _multiplied(first, last, by)
    if by < 1 or not by.is_integer():
        raise UsageError(f"'{_short(part)}' does not rise by whole users: write an addition of at least +1")
    return list(range(first, last + 1, int(by)))[: MAX_LEVELS + 1]


def _multiplied(first: int, last: int, by: float) -> list[int]:
    """first, first * by, first * by^2, ... rounded; what rounds to the level before is left out."""
    levels = [first]
    exact = float(first)
    while len(levels) <= MAX_LEVELS:
        exact *= by
        if exact >= last + 0.5:
            break
        level = round(exact)
        if levels[-1] < level <= last:
            levels.append(level)
    return levels


def _level(digits: str, whole: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > len(str(MAX_USERS)) or not 1 <= int(significant) <= MAX_USERS:
        raise UsageError(
            f"{_short(digits)} users in steps '{whole}' is out of range: levels lie between 1 and {MAX_USERS}"
        )
    return int(significant)


def _short(text: str) -> str:
    """What a person wrote, fit for a sentence."""
    return text if len(text) <= 60 else text[:57] + "..."


def parse_hold(text: str) -> Hold:
    """A hold from `auto`, a time, or `256req`. Raises UsageError."""
    word = text.strip()
    if word == "auto":
        return Hold()
    if match := re.fullmatch(r"0*([0-9]{1,10})req", word):
        if not 1 <= int(match[1]) <= MAX_REQUESTS:
            raise UsageError(f"a hold of {word} cannot be measured: write between 1req and {MAX_REQUESTS}req")
        return Hold(requests=int(match[1]))
    seconds = _seconds(word)
    if seconds is None:
        raise UsageError(f"hold '{_short(text)}' is not understood: write auto, a time (90, 90s, 2m) or 256req")
    if seconds < 1:
        raise UsageError(f"a hold of {word} is too short to measure anything: write at least 1s")
    return Hold(seconds=seconds)


def parse_settle(text: str) -> float | None:
    """Seconds to let a level settle; None for `auto`. Raises UsageError."""
    return _auto_or_seconds("settle", text)


def parse_drain(text: str) -> float | None:
    """Seconds that requests in flight may take at the end of a pass; None for `auto`. Raises UsageError."""
    return _auto_or_seconds("drain", text)


def parse_warmup(text: str) -> float | None:
    """Seconds of warm-up before the first level; None for `auto`. Raises UsageError."""
    return _auto_or_seconds("warmup", text)


def parse_repeats(text: str) -> int:
    """How often the levels are climbed. Raises UsageError."""
    if not re.fullmatch(r"[1-9]\d{0,2}", text.strip(), re.ASCII):
        raise UsageError(f"'{_short(text)}' is no number of repeats: write a whole number from 1 to 999")
    return int(text)


def parse_label(text: str) -> tuple[str, str]:
    """Key and value of `gpu=a100`. Raises UsageError."""
    key, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][\w.-]*", key.strip(), re.ASCII) or not value.strip():
        raise UsageError(f"label '{_short(text)}' is not understood: write key=value, for example gpu=a100")
    return key.strip(), value.strip()


def _auto_or_seconds(word: str, text: str) -> float | None:
    if text.strip() == "auto":
        return None
    seconds = _seconds(text)
    if seconds is None:
        raise UsageError(f"{word} '{_short(text)}' is not understood: write auto or a time (5, 5s, 0s)")
    return seconds
