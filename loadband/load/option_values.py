"""What the options mean: a plan, time-outs, a quiet Locust.

Knows: options as parsed, and which of them contradict each other. Must not know: what is done with them.
"""

import logging
from collections.abc import Sequence
from typing import Any

from loadband import plan
from loadband.errors import UsageError
from loadband.load.arrivals import parse_arrival, recorded_rate
from loadband.load.dialects import DIALECTS
from loadband.load.exchange import Timeouts
from loadband.load.plans import chosen_plan
from loadband.load.purposes import check_purpose, purpose_of, spike_plan
from loadband.load.rates import parse_rates
from loadband.plan import Hold, Plan
from loadband.slo import LATENCIES, parse_slo

TRACE_MARGIN_S = 1.0
"""A hold begins up to a second after its schedule."""


def plan_of(options: Any, moments: Sequence[float] = ()) -> Plan | None:
    """The plan that the options mean; None in the web UI without `--steps`. Raises UsageError.

    `moments`: of the data set, seconds, rising.
    """
    if not options.stream and not DIALECTS[options.api].takes_one_piece:
        raise UsageError(f"--api {options.api} answers in streams alone: leave out --no-stream")
    common: dict[str, Any] = {
        "max_hold_s": plan.parse_duration(options.max_hold),
        "settle_s": plan.parse_settle(options.settle),
        "repeats": plan.parse_repeats(options.repeats),
        "drain_s": plan.parse_drain(options.drain),
        "warmup_s": plan.parse_warmup(options.warmup),
        "stop_when_lost": options.on_target_loss == "stop",
        "until_failure": options.until_failure,
        "stop_when": options.stop_when,
        "shedding_fails": not _limits_latency(options.slo),
        **purpose_of(options),
    }
    if options.until_failure and options.on_target_loss == "continue":
        raise UsageError("--until-failure takes a lost target for a failure: leave out --on-target-loss continue")
    if options.num_users is not None and options.num_users < 1:
        raise UsageError(f"-u {options.num_users}: a level has at least 1 user")
    if (open_loop := _open_loop(options, moments, common)) is not None:
        return _checked(open_loop, options.slo)
    if options.refine or options.find or options.spike:
        asked = spike_plan(options, common) if options.spike else chosen_plan(options, common)
        return _checked(asked, options.slo)
    if options.steps:
        if options.num_users or options.run_time:
            raise UsageError("--steps says how many users and --hold for how long: leave out -u and -t")
        if options.class_picker:
            raise UsageError("--class-picker does not go with --steps: name the user classes on the command line")
        return _checked(Plan(plan.parse_levels(options.steps), plan.parse_hold(options.hold), **common), options.slo)
    if not options.headless:
        _refuse_ends(options)
        return None
    if options.run_time and options.hold != "auto":
        raise UsageError("-t and --hold both say how long the level is measured: give one of them")
    hold = Hold(seconds=float(options.run_time)) if options.run_time else plan.parse_hold(options.hold)
    options.run_time = None
    return _checked(Plan((options.num_users or 1,), hold, **common), options.slo)


def _refuse_ends(options: Any) -> None:
    for word, given in (("--stop-when", options.stop_when), ("--until-failure", options.until_failure)):
        if given:
            raise UsageError(f"{word} ends a plan, and here Start and Stop say how long: give --steps, or --headless")


def _open_loop(options: Any, moments: Sequence[float], common: dict[str, Any]) -> Plan | None:
    """The plan of an open loop; None when none is asked for. Raises UsageError."""
    traced = parse_arrival(options.arrival).cv is None
    if not options.rates and not traced:
        if parse_arrival(options.arrival) != parse_arrival("poisson"):
            raise UsageError(
                f"--arrival {options.arrival} says how requests come at a rate: give --rates, or leave it out"
            )
        return None
    if options.steps:
        raise UsageError("--steps are levels of users, --rates and a trace are an open loop: give one of them")
    if options.refine or options.find or options.spike:
        raise UsageError("--refine, --find and --spike choose numbers of users: leave out --rates and --arrival trace")
    if options.num_users or options.run_time or options.spawn_rate:
        raise UsageError("--rates says how many requests come and --hold for how long: leave out -u, -r and -t")
    if options.class_picker:
        raise UsageError("--class-picker does not go with --rates: name the user classes on the command line")
    if traced and not moments:
        raise UsageError("--arrival trace wants a data set that says when its requests came: give --dataset FILE")
    if not options.rates:
        return _as_recorded(options, moments, common)
    return Plan((), plan.parse_hold(options.hold), rates=parse_rates(options.rates), **common)


def _as_recorded(options: Any, moments: Sequence[float], common: dict[str, Any]) -> Plan:
    """One level at the pace of the recording, held from its begin to its end unless times are given."""
    asked = plan.parse_hold(options.hold)
    hold = Hold(seconds=moments[-1] - moments[0] + TRACE_MARGIN_S) if asked.auto else asked
    at_once = {key: 0.0 for key in ("settle_s", "warmup_s") if common[key] is None}
    return Plan((), hold, rates=(recorded_rate(moments),), **common | at_once)


def _limits_latency(slo: str | None) -> bool:
    """Whether an SLO says what accepted requests must keep: refusing the others is then a server's good right."""
    return any(limit.metric in LATENCIES and not limit.scenario for limit in (parse_slo(slo) if slo else ()))


def _checked(asked: Plan, slo: str | None) -> Plan:
    """The plan, when its levels suit its purpose and the SLO wants no others. Raises UsageError."""
    check_purpose(asked)
    for limit in parse_slo(slo) if slo else ():
        tested, unit = (asked.rates, "requests/s") if asked.rates else (asked.levels, "users")
        if limit.users is not None and limit.users not in tested:
            levels = ", ".join(f"{level:g}" for level in tested)
            raise UsageError(f"SLO {limit} is to be judged at {limit.users:g} {unit}, which is no level of {levels}")
    return asked


def timeouts_of(options: Any) -> Timeouts:
    """The four limits, in seconds."""
    return Timeouts(
        connect_s=plan.parse_duration(options.connect_timeout),
        first_token_s=plan.parse_duration(options.first_token_timeout),
        idle_s=plan.parse_duration(options.idle_timeout),
        total_s=plan.parse_duration(options.total_timeout),
    )


def quieten_locust(options: Any) -> None:
    """With a plan our own lines tell how it goes: Locust's tables and notes of each level are silent."""
    options.only_summary = True
    logging.getLogger("locust.stats_logger").disabled = True
    if str(options.loglevel).upper() == "INFO":
        logging.getLogger("locust").setLevel(logging.WARNING)
