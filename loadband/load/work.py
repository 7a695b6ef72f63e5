"""The users' work, from the options and what the probe found.

Knows: which option becomes which part of the work. Must not know: how it travels, what is done with it.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from loadband.load.option_values import timeouts_of
from loadband.load.probe import Found
from loadband.load.prompt_options import parse_adapters
from loadband.load.scenario_options import parse_extra_body, settings_of
from loadband.load.session import Work


def work_of(
    options: Any,
    found: Found,
    mix: dict[str, float],
    *,
    host: str,
    run_id: str,
    path: str | None,
    arrival: str,
    dataset: str | None,
    workers: int,
    key_variable: str | None,
    first_request: int,
) -> Work:
    """The work of one test; what is not an option, or is frozen from the command line, is told by name."""
    return Work(
        host=host,
        model=found.model,
        run_id=run_id,
        seed=options.seed,
        prompt_tokens=options.prompt_tokens,
        max_tokens=options.max_tokens,
        long_context_tokens=options.long_context_tokens,
        turns=options.turns,
        api=options.api,
        path=path,
        stream=options.stream,
        include_usage=found.include_usage,
        counts_texts=options.tokenizer is not None,
        mix=mix,
        context_limit=found.context_limit,
        think_time=options.think_time,
        temperature=options.temperature,
        ignore_eos=found.ignore_eos,
        token_table=found.lengths.table.wire(),
        nonce=options.nonce,
        shared_prefix=int(options.shared_prefix),
        extra_body=options.extra_body,
        settings=settings_of(options.set or ()),
        adapters=parse_adapters(options.adapters) if options.adapters else [],
        session_header=options.session_header,
        timeouts=asdict(timeouts_of(options)),
        retries=int(options.retries),
        arrival=arrival,
        dataset=dataset,
        abandon=options.abandon,
        workers=workers,
        key_variable=key_variable,
        first_request=first_request,
    )  # fmt: skip


def extra_bodies(options: Any, mix: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """What requests of these scenarios are asked with besides: each once, that of all scenarios first."""
    settings = settings_of(options.set or ())
    bodies = [parse_extra_body(options.extra_body)]
    for scenario in mix:
        body = {**bodies[0], **parse_extra_body(settings.get(scenario, {}).get("extra_body", "{}"))}
        bodies += [body] if body not in bodies else []
    return tuple(bodies)
