"""Is this machine fit to be the client: descriptors, ports, and connections that outlive the user's pause.

Pure. Knows: limits and the plan's needs as numbers. Must not know: where they come from.
"""

from typing import Any

from loadband.tuning.doctor.check import Check, bad, good, unknown, warn
from loadband.tuning.doctor.needs import Needs, largest, mean
from loadband.tuning.doctor.seen import Idle, Limits
from loadband.tuning.doctor.words import counted, milliseconds

BESIDES = 64
"""Descriptors a process needs beside its users' connections."""

LOCUST_RAISES_TO = 10_000
"""Locust raises a lower soft limit to this where the hard one lets it."""

TIME_WAIT_S = 60.0
"""A port is not used again for so long after its connection was closed."""

NOTICED_S = 0.001
"""A connect below this does not show in a TTFT."""


def descriptors_of(limits: Limits) -> int | None:
    """Descriptors a load-generating process will have."""
    soft, hard = limits.soft_descriptors, limits.hard_descriptors
    if soft is None or hard is None:
        return soft
    return LOCUST_RAISES_TO if soft < LOCUST_RAISES_TO <= hard else soft


def judge_descriptors(limits: Limits, needs: Needs) -> Check:
    """One descriptor a user, in each process."""
    have = descriptors_of(limits)
    if have is None:
        return unknown("descriptors", "the limit of open files is not known here")
    if needs.users is None:
        return good("descriptors", f"{have:,} a process, enough for {have - BESIDES:,} users each; no plan to check",
                    descriptors=have)  # fmt: skip
    need = -(-needs.users // needs.processes) + BESIDES
    said = f"{have:,} a process, {need:,} needed for {counted(needs.users, 'user')}"
    if need > have:
        step = f"ulimit -n {need} before the start, or more --processes"
        return bad("descriptors", said, step, descriptors=have, needed=need)
    return good("descriptors", said, descriptors=have, needed=need)


def judge_ports(limits: Limits, needs: Needs, *, closes: bool | None, answer_s: float | None) -> Check:
    """One port a user, and where each answer costs a connection those of the last minute too."""
    have = limits.ports
    if have is None:
        return unknown("ports", "the range of local ports is not known here")
    if needs.users is None:
        return good("ports", f"{have:,} to one address; no plan to check", ports=have)
    need = needs.users
    if closes:
        need += round(needs.users * TIME_WAIT_S / max(mean(needs.think) + (answer_s or 0.0), 0.001))
    said = f"{have:,} to one address, about {need:,} needed for {counted(needs.users, 'user')}"
    if closes:
        said += ", since each answer costs a connection"
    if need > have:
        step = 'sysctl -w net.ipv4.ip_local_port_range="1024 65535", or more client machines'
        return bad("ports", said, step, ports=have, needed=need)
    return good("ports", said, ports=have, needed=need)


def judge_keep_alive(idle: Idle, needs: Needs, connect_s: float | None) -> Check:
    """Does a connection live through the user's pause?"""
    pause = largest(needs.think)
    values: dict[str, Any] = {
        "think_s": pause, "announced_s": idle.announced_s, "outlived_s": idle.outlived_s,
        "died_within_s": idle.died_within_s, "closes_after_answer": idle.closes_after_answer,
    }  # fmt: skip
    cost = f"a connect, {milliseconds(connect_s)}, is part of its TTFT"
    if idle.closes_after_answer:
        said = f"the server closes after each streamed answer: {cost} at every request"
        return _costs(said, connect_s, values)
    lives = min((s for s in (idle.announced_s, idle.died_within_s) if s is not None and s < pause), default=None)
    pauses = f"pauses last up to {milliseconds(pause)}"
    if lives is not None:
        said = f"an idle connection lives {milliseconds(lives)}, {pauses}: after long ones {cost}"
        return _costs(said, connect_s, values)
    if idle.outlived_s is not None and idle.outlived_s >= pause:
        return good("keep-alive", f"a connection outlives a pause of {milliseconds(pause)}", **values)
    if idle.announced_s is not None:
        return good("keep-alive", f"{milliseconds(idle.announced_s)}, says the server; {pauses}", **values)
    if idle.outlived_s is not None:
        return unknown("keep-alive", f"open after {milliseconds(idle.outlived_s)}, {pauses}", **values)
    return unknown("keep-alive", "the server does not tell how long it keeps a connection", **values)


def _costs(said: str, connect_s: float | None, values: dict[str, Any]) -> Check:
    """A reconnect that does not show is no harm."""
    if connect_s is not None and connect_s < NOTICED_S:
        return good("keep-alive", said, **values)
    step = "let the server keep connections for longer, or read TTFT without connect_s of requests.csv"
    return warn("keep-alive", said, step, **values)
