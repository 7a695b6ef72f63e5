"""The plan of a run: which levels, how long each is held. Grammar of `--steps`, `--hold`, `--settle`.

Knows: the words a person writes and what they mean. Must not know: Locust, clocks, whether the plan was kept.

    steps   1,2,4,8    1:64:x2 (factor)    8:64:+8 (addition)    1,2,8:64:+8 (joined)
    hold    auto       90  90s  2m  1h     256req
    settle  auto       5   5s   0s
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from loadband.errors import UsageError

MAX_USERS = 1_000_000
"""A level above this is a slip of the keyboard."""

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


@dataclass(frozen=True, slots=True)
class Plan:
    """What the ladder climbs. `settle_s` None is auto: one E2E p95, at least 2 s."""

    levels: tuple[int, ...]
    hold: Hold = Hold()
    max_hold_s: float = 600.0
    settle_s: float | None = None


def parse_duration(text: str) -> float:
    """Seconds of `90`, `90s`, `2m`, `1h` or `500ms`. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", text.strip())
    if not match:
        raise UsageError(f"'{text}' is not a time: write 90, 90s, 2m or 1h")
    return float(match[1]) * UNITS_S[match[2] or "s"]


def parse_levels(text: str) -> tuple[int, ...]:
    """Rising numbers of users from `1,2,4`, `1:64:x2`, `8:64:+8` or several joined by commas. Raises UsageError."""
    levels = [level for part in text.split(",") for level in _levels_of(part.strip(), text)]
    for lower, upper in pairwise(levels):
        if upper <= lower:
            raise UsageError(
                f"steps '{text}' do not rise: {lower} is followed by {upper}; write them upwards, each once"
            )
    return tuple(levels)


def _levels_of(part: str, whole: str) -> list[int]:
    """Levels of one part between commas."""
    if match := re.fullmatch(r"\d+", part):
        return [_level(part, whole)]
    match = re.fullmatch(r"(\d+):(\d+):([x+])(\d+(?:\.\d+)?)", part)
    if not match:
        raise UsageError(f"'{part}' in steps '{whole}' is not understood: write 1,2,4,8 or 1:64:x2 or 8:64:+8")
    first, last = _level(match[1], whole), _level(match[2], whole)
    by = float(match[4])
    multiply = match[3] == "x"
    if (multiply and by <= 1) or (not multiply and (by < 1 or by != int(by))):
        raise UsageError(f"'{part}' never rises: write a factor above x1 or a whole addition of at least +1")
    if last < first:
        raise UsageError(f"'{part}' runs downwards: write the smaller number of users first")
    levels = [first]
    exact = float(first)
    while True:
        exact = exact * by if multiply else exact + by
        level = max(round(exact), levels[-1] + 1)
        if level > last:
            return levels
        levels.append(level)


def _level(digits: str, whole: str) -> int:
    level = int(digits)
    if not 1 <= level <= MAX_USERS:
        raise UsageError(f"{level} users in steps '{whole}' is out of range: levels lie between 1 and {MAX_USERS}")
    return level


def parse_hold(text: str) -> Hold:
    """A hold from `auto`, a time, or `256req`. Raises UsageError."""
    word = text.strip()
    if word == "auto":
        return Hold()
    if match := re.fullmatch(r"(\d+)req", word):
        if int(match[1]) < 1:
            raise UsageError("a hold of 0req measures nothing: write at least 1req")
        return Hold(requests=int(match[1]))
    try:
        seconds = parse_duration(word)
    except UsageError:
        raise UsageError(f"hold '{text}' is not understood: write auto, a time (90, 90s, 2m) or 256req") from None
    if seconds < 1:
        raise UsageError(f"a hold of {text} is too short to measure anything: write at least 1s")
    return Hold(seconds=seconds)


def parse_settle(text: str) -> float | None:
    """Seconds to let a level settle; None for `auto`. Raises UsageError."""
    if text.strip() == "auto":
        return None
    try:
        return parse_duration(text)
    except UsageError:
        raise UsageError(f"settle '{text}' is not understood: write auto or a time (5, 5s, 0s)") from None
