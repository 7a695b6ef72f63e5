"""What `run.json` says of a test.

Knows: which of its keys comes from where. Must not know: how the test goes.
"""

import json
import platform
from typing import Any

import gevent
import locust

import loadband
from loadband.load.connection import parse_address
from loadband.load.pools import pools_hash
from loadband.load.probe import Found
from loadband.load.session import Work
from loadband.plan import Plan, parse_label


def run_of(work: Work, found: Found, plan: Plan | None) -> dict[str, Any]:
    """What `run.json` says of the test, beside its options and its end."""
    return {
        "tool": loadband.__version__,
        "python": platform.python_version(),
        "locust": locust.__version__,
        "gevent": gevent.__version__,
        "run_id": work.run_id,
        "host": parse_address(work.host).url,
        "model": found.model,
        "server": found.server,
        "findings": found.findings,
        "probe": {
            "requests": found.requests, "prompt_tokens": found.prompt_tokens, "output_tokens": found.output_tokens,
        },
        "prompts": pools_hash(),
        "prompt_tokens": work.prompt_tokens,
        "think_time": work.think_time,
        "seed": work.seed,
        "nonce": work.nonce,
        "shared_prefix": work.shared_prefix,
        "tokens_counted_by": found.lengths.counted_by,
        "template_tokens": found.template_tokens,
        "sampling": {
            "max_tokens": work.max_tokens, "temperature": work.temperature, "ignore_eos": work.ignore_eos,
            "extra_body": json.loads(work.extra_body),
        },
        "settings": work.settings,
        "adapters": work.adapters,
        "timeouts": work.timeouts,
        "retries": work.retries,
        "plan": None if plan is None else {
            "levels": list(plan.levels), "rates": list(plan.rates),
            "arrival": work.arrival if plan.rates else None, "hold": str(plan.hold), "settle_s": plan.settle_s,
            "max_hold_s": plan.max_hold_s, "repeats": plan.repeats, "drain_s": plan.drain_s,
            "warmup_s": plan.warmup_s, "stop_when_lost": plan.stop_when_lost,
            "until_failure": plan.until_failure, "refine": plan.refine, "grows": plan.grows, "find": plan.find,
            "baseline": plan.baseline, "stop_when": plan.stop_when, "recover": plan.recover, "spike_s": plan.spike_s,
        },
    }  # fmt: skip


def words_of(options: Any, work: Work) -> dict[str, Any]:
    """What is kept of the options as they were written."""
    return {
        "scenarios": sorted(work.mix),
        "mix": work.mix,
        "long_context_tokens": work.long_context_tokens if "long_context" in work.mix else None,
        "turns": work.turns if "multi_turn" in work.mix else None,
        "abandon": work.abandon,
        "slo": options.slo,
        "reset_cache": options.reset_cache,
        "preset": options.preset,
        "labels": dict(parse_label(label) for label in options.label or ()),
        "server_args": options.server_args,
        "api": work.api,
        "stream": work.stream,
    }
