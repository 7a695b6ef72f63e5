"""Plans whose levels are chosen on the way: what `--refine` and `--find` mean beside the other options.

Knows: options as parsed, and which of them contradict each other. Must not know: how a level is chosen.
"""

from typing import Any

from loadband import plan
from loadband.errors import UsageError
from loadband.plan import Plan
from loadband.slo import LATENCIES, SHARES, Limit, parse_slo

NOT_PER_REQUEST = "itl"
"""Kept as histograms; the report judges it."""


def parse_find(text: str) -> tuple[Limit, ...]:
    """Limits that more users can break. Raises UsageError."""
    try:
        limits = parse_slo(text)
    except UsageError as error:
        raise UsageError(str(error).replace("SLO", "--find", 1).replace("@32", "", 1)) from None
    for limit in limits:
        if limit.users is not None:
            raise UsageError(f"--find searches for the level of {limit}: leave out @{limit.users:g}")
        if limit.metric == NOT_PER_REQUEST:
            raise UsageError(f"--find cannot judge {limit} while the run goes on: limit tpot, or use --steps and --slo")
        if limit.metric not in (*LATENCIES, *SHARES) or limit.operator != "<=":
            raise UsageError(f"--find: more users do not break {limit}: limit a latency or error_rate with <=")
    return limits


def chosen_plan(options: Any, common: dict[str, Any]) -> Plan:
    """The plan of `--refine` or `--find`. Raises UsageError."""
    word = "--find" if options.find else "--refine"
    if options.run_time:
        raise UsageError(f"{word} chooses its levels and --hold says for how long: leave out -t")
    if options.class_picker:
        raise UsageError(f"--class-picker does not go with {word}: name the user classes on the command line")
    if options.steps and options.num_users:
        raise UsageError("--steps says how many users: leave out -u")
    hold = plan.parse_hold(options.hold)
    if options.find:
        _check_search(options)
        options.slo = options.find
        return Plan((options.num_users or 1,), hold, find=options.find, **common | {"shedding_fails": True})
    if options.steps:
        return Plan(plan.parse_levels(options.steps), hold, refine=True, **common)
    return Plan((options.num_users or 1,), hold, refine=True, grows=True, **common)


def _check_search(options: Any) -> None:
    others = {
        "--steps": options.steps, "--slo": options.slo, "--refine": options.refine,
        "--until-failure": options.until_failure, "--repeats": plan.parse_repeats(options.repeats) > 1,
    }  # fmt: skip
    if named := [word for word, given in others.items() if given]:
        raise UsageError(f"--find chooses its levels and repeats by its limits: leave out {', '.join(named)}")
