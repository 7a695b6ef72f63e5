"""The doctor before a run: what the plan needs, a short examination, and what is kept of it in `run.json`.

Knows: the options of a run. Must not know: Locust, files, how a check is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadband.load.dataset import Dataset
from loadband.load.distribution import Distribution, parse_distribution, parse_token_count
from loadband.load.probe import Probe, Target
from loadband.plan import Plan
from loadband.tuning.doctor.check import findings_of, rows_of
from loadband.tuning.doctor.examination import Doctor
from loadband.tuning.doctor.needs import Needs, largest

LONG = "long_context"

LOOKED_AT = 1000
"""Recorded requests whose lengths stand for all."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """What came of it; nothing where it was not asked for."""

    run_words: dict[str, Any] = field(default_factory=lambda: {"doctor": None, "link": None})
    """Keys of `run.json`."""
    findings: list[str] = field(default_factory=list)
    """Sentences for the report that the probe has not found itself."""


def needs_of(options: Any, plan: Plan | None, mix: Mapping[str, float], recorded: Dataset | None) -> Needs:
    """What the run needs, by its options; `mix`: its scenarios; `recorded`: requests that are replayed."""
    prompts = [parse_token_count(options.long_context_tokens)] if LONG in mix else []
    prompts += [parse_token_count(options.prompt_tokens)] if set(mix) - {LONG} else []
    answer = parse_token_count(options.max_tokens)
    if recorded is not None:
        seen = [recorded.request(place) for place in range(min(len(recorded), LOOKED_AT))]
        prompts = _spans([each.prompt_tokens for each in seen]) or prompts
        answer = (_spans([each.max_tokens for each in seen]) or [answer])[0]
    return Needs(
        users=max(plan.levels) if plan and plan.levels else options.num_users,
        processes=max(options.processes or 1, options.expect_workers or 1),
        think=parse_distribution(options.think_time),
        prompt=Distribution(min(p.low for p in prompts), max(largest(p) for p in prompts)),
        answer=answer,
    )


def _spans(lengths: Sequence[int | None]) -> list[Distribution]:
    """From the smallest to the largest of what is known; nothing of nothing."""
    known = [length for length in lengths if length]
    return [Distribution(min(known), max(known))] if known else []


def preflight(probe: Probe, target: Target, needs: Needs) -> Preflight:
    """What a moment allows, after the probe. Raises UsageError where every request of the plan would be refused."""
    doctor = Doctor(target, needs, probe)
    checks = doctor.examine().checks
    return Preflight({"doctor": rows_of(checks), "link": doctor.link.values}, findings_of(checks, probe.found.findings))
