"""Options that say which levels a run holds, for how long, and what ends it.

Knows: names, defaults, help texts. Must not know: what the parts do with them.
"""

from typing import Any

from loadband import plan, slo
from loadband.errors import UsageError
from loadband.load import arrivals, guards, plans, rates
from loadband.load.declaring import add, checked
from loadband.load.purpose_options import add_purposes


def positive_duration(text: str) -> float:
    """Seconds above 0. Raises UsageError."""
    seconds = plan.parse_duration(text)
    if seconds <= 0:
        raise UsageError(f"'{text}': write a time above 0 s")
    return seconds


def add_plan_options(group: Any) -> None:
    """Add them to a group of a parser."""
    _add_levels(group)
    _add_ends(group)


def _add_levels(group: Any) -> None:
    add(
        group, "steps", metavar="LEVELS", type=checked(plan.parse_levels),
        help="levels of users to climb: 1,2,4,8 or 1:64:x2 or 8:64:+8. Without it Locust ramps as usual",
    )  # fmt: skip
    add(
        group, "rates", metavar="RATES", type=checked(rates.parse_rates),
        help="levels of an open loop in requests per second, whatever the answers do: 0.5,1,2,4 or 1:8:x2. In place "
        "of --steps",
    )  # fmt: skip
    add(
        group, "arrival", metavar="HOW", default="poisson", type=checked(arrivals.parse_arrival),
        help="how requests arrive at --rates: poisson (each by itself), constant (a metronome), gamma(2), bursts with "
        "that coefficient of variation, or trace, as the data set recorded them (without --rates at their own pace). "
        "Default poisson",
    )  # fmt: skip
    add(
        group, "hold", metavar="TIME", default="auto", type=checked(plan.parse_hold),
        help="how long a level is measured: a time (90, 90s, 2m), a number of requests (256req), or auto: until it had "
        "3 rounds, 30 successes and tokens/s known to 2 %%, at least 30 s. Default auto",
    )  # fmt: skip
    add(
        group, "max-hold", metavar="TIME", default="600s", type=checked(positive_duration),
        help="the longest a level may take with --hold auto or ...req. Default 600s",
    )  # fmt: skip
    add(
        group, "settle", metavar="TIME", default="auto", type=checked(plan.parse_settle),
        help="time between a level's users being there and its measurement; auto is one E2E p95, at least 2 s",
    )  # fmt: skip
    add(
        group, "warmup", metavar="TIME", default="auto", type=checked(plan.parse_warmup),
        help="load before the first level that is kept apart; auto: until every scenario was answered once, at most "
        "60 s; 0s for none",
    )  # fmt: skip
    add(
        group, "repeats", metavar="N", default="1", type=checked(plan.parse_repeats),
        help="how often the levels are climbed, drained in between; after several passes the middle level again, to "
        "see whether the server drifted. Default 1",
    )  # fmt: skip
    add(
        group, "drain", metavar="TIME", default="auto", type=checked(plan.parse_drain),
        help="how long requests in flight may take at the end of a pass; auto: until all have ended; 0s cuts them",
    )  # fmt: skip
    add(
        group, "refine", action="store_true", default=False,
        help="after the climb drain, then hold up to four levels more around its optimum, and the optimum again; "
        "--repeats repeats these. Without --steps the climb doubles from -u (1) on while that nearly doubles tokens/s, "
        "then grows by 1.4, and ends when the optimum is passed. Default off",
    )  # fmt: skip
    add(
        group, "find", metavar="LIMITS", type=checked(plans.parse_find), action=slo.JoinedLimits,
        help='search for the most users at which limits are kept: "ttft_p95<=1s,error_rate<=1%%". Doubles from -u (1) '
        "on until one is broken, halves to a bracket of 10 %%, holds a level up to three times until its interval "
        "excludes the limit. In place of --steps and --slo",
    )  # fmt: skip
    add_purposes(group)


def _add_ends(group: Any) -> None:
    add(
        group, "on-target-loss", choices=["stop", "continue"], default="stop",
        help="when the target goes away: end the run, or go on and wait for it. Default stop",
    )  # fmt: skip
    add(
        group, "until-failure", action="store_true", default=False,
        help="climb no further than the level that confirms a failure: surely (95 %%) more than 5 %% of its requests "
        "failed, or more than 1 %% at two levels in a row. Refusals (429, 503, 529) do not count when --slo limits a "
        "latency; what else the report calls a failure ends nothing. Each repeat climbs until its own. Default off",
    )  # fmt: skip
    add(
        group, "stop-when", metavar="GUARDS", type=checked(guards.parse_guards), action=slo.JoinedLimits,
        help='end the plan when a value stands at or above a limit: "kv_cache>=0.98 for 30s,error_rate>=20%% for 10s"; '
        "metrics kv_cache and device_memory (shares, of the server's page of metrics), error_rate, ttft_p95 and other "
        "latencies (of the newest requests). Given again it adds more guards. Default none",
    )  # fmt: skip
    add(
        group, "slo", metavar="LIMITS", type=checked(slo.parse_slo), action=slo.JoinedLimits,
        help='limits that the run must keep: "ttft_p95<=1s@32,error_rate<=1%%"; a miss ends with exit code 1. '
        "Given again it adds more limits",
    )  # fmt: skip
