"""Plans with a purpose of their own: `--baseline`, `--spike`, `--recover`, and what does not go with them.

Knows: options as parsed, and which of them contradict each other. Must not know: how a level is climbed or judged.
"""

import re
from typing import Any

from loadband import plan
from loadband.errors import UsageError
from loadband.plan import Plan

MOST_HOLDS = 99


def parse_baseline(text: str) -> int:
    """How often a baseline's level is held. Raises UsageError."""
    if not re.fullmatch(r"\d{1,3}", text.strip(), re.ASCII) or not 2 <= int(text) <= MOST_HOLDS:
        raise UsageError(
            f"--baseline '{text[:60]}': write how often the level is held, from 2 to {MOST_HOLDS}; 3 is usual"
        )
    return int(text)


def parse_spike(text: str) -> tuple[int, int, float]:
    """Users before and after, users inside, and seconds of `8:64:60s`. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,7}):([0-9]{1,7}):(.+)", text.strip())
    if not match:
        raise UsageError(
            f"--spike '{text[:60]}' is not understood: write 8:64:60s, from 8 to 64 users for 60 s and back"
        )
    low, high = (plan.parse_levels(part)[0] for part in match.groups()[:2])
    seconds = plan.parse_duration(match[3])
    if low >= high:
        raise UsageError(f"--spike '{text[:60]}' does not rise: write the smaller number of users first")
    if seconds < 1:
        raise UsageError(f"--spike '{text[:60]}' is too short to measure anything: write at least 1s")
    return low, high, seconds


def spike_plan(options: Any, common: dict[str, Any]) -> Plan:
    """The plan of `--spike`. Raises UsageError."""
    _refuse_beside(options, "--spike", "says how many users, and when")
    others = {"--steps": options.steps, "-u": options.num_users, "-t": options.run_time}
    others |= {"--baseline": options.baseline, "--recover": options.recover, "--class-picker": options.class_picker}
    if named := [other for other, given in others.items() if given]:
        raise UsageError(f"--spike says how many users, and when: leave out {', '.join(named)}")
    low, high, seconds = parse_spike(options.spike)
    return Plan((low, high, low), plan.parse_hold(options.hold), spike_s=seconds, **common)


def purpose_of(options: Any) -> dict[str, Any]:
    """What a purpose changes of the plan that the other options mean. Raises UsageError."""
    if options.recover:
        if named := [word for word, given in (("--refine", options.refine), ("--find", options.find)) if given]:
            raise UsageError(f"--recover follows the levels of --steps or --rates: leave out {', '.join(named)}")
        if not (options.steps or options.rates or options.spike):
            raise UsageError("--recover follows a climb: give --steps 8,16,32,64")
    if options.baseline is None:
        return {"recover": options.recover}
    _refuse_beside(options, "--baseline", "holds one level again and again")
    if options.recover:
        raise UsageError("--baseline holds one level again and again: leave out --recover")
    if not (options.headless or options.steps or options.rates):
        raise UsageError("--baseline wants one level: give --steps 8, or --headless -u 8")
    return {"repeats": parse_baseline(options.baseline), "baseline": True}


def check_purpose(asked: Plan) -> None:
    """Raise UsageError of a plan whose levels do not suit its purpose."""
    if asked.baseline and asked.steps != 1:
        raise UsageError(f"--baseline holds one level, {asked.steps} are given: write one, for example --steps 8")
    levels = asked.rates or asked.levels
    if asked.recover and min(levels) > max(levels) / 2:
        half = max(levels) / 2 if asked.rates else max(levels) // 2
        lower = f"a level of at most {half:g} too" if half else "levels that rise, for example --steps 4,8"
        raise UsageError(f"--recover compares half the load with the way up: give {lower}")


def _refuse_beside(options: Any, word: str, does: str) -> None:
    others = {
        "--refine": options.refine, "--find": options.find, "--until-failure": options.until_failure,
        "--repeats": plan.parse_repeats(options.repeats) > 1,
    }  # fmt: skip
    if named := [other for other, given in others.items() if given]:
        raise UsageError(f"{word} {does}: leave out {', '.join(named)}")
