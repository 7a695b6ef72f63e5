"""Plans with a purpose of their own: `--baseline`, beside the options that say which level and for how long.

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


def purpose_of(options: Any) -> dict[str, Any]:
    """What a purpose changes of the plan that the other options mean. Raises UsageError."""
    if options.baseline is None:
        return {}
    _refuse_beside(options, "--baseline", "holds one level again and again")
    if not (options.headless or options.steps or options.rates):
        raise UsageError("--baseline wants one level: give --steps 8, or --headless -u 8")
    return {"repeats": parse_baseline(options.baseline), "baseline": True}


def check_purpose(asked: Plan) -> None:
    """Raise UsageError of a plan whose levels do not suit its purpose."""
    if asked.baseline and asked.steps != 1:
        raise UsageError(f"--baseline holds one level, {asked.steps} are given: write one, for example --steps 8")


def _refuse_beside(options: Any, word: str, does: str) -> None:
    others = {
        "--refine": options.refine, "--find": options.find, "--until-failure": options.until_failure,
        "--repeats": plan.parse_repeats(options.repeats) > 1,
    }  # fmt: skip
    if named := [other for other, given in others.items() if given]:
        raise UsageError(f"{word} {does}: leave out {', '.join(named)}")
