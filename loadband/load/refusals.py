"""Options that no run can be made of: refused before load, each in one sentence.

Knows: options as parsed, scenarios, what the server said of its limits. Must not know: what the parts do with them.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from loadband.errors import UsageError
from loadband.load.distribution import parse_token_count
from loadband.slo import parse_slo

PROMPT_OPTIONS = {
    "interactive": "prompt_tokens", "open_loop": "prompt_tokens", "long_context": "long_context_tokens",
}  # fmt: skip
"""Scenario -> the option that says how long its prompts are."""


def refuse_strangers(options: Any) -> None:
    """Raise UsageError of an option of Locust's own that would make a run false."""
    for sentence in _strangers(options):
        raise UsageError(sentence)


def _strangers(options: Any) -> Iterator[str]:
    if options.resume and not options.run_dir:
        yield "--resume goes on with a run: name its directory with --run-dir"
    if options.resume and not options.headless:
        yield "--resume goes on with a run without the web page: add --headless"
    if options.tags or options.exclude_tags:
        yield "scenarios have no tags: leave out --tags and --exclude-tags, name the user classes or give --mix"
    if options.reset_stats:
        yield "--reset-stats would make Locust's tables tell less than was asked: leave it out, a warm-up is kept apart"
    if options.enable_rebalancing:
        yield "--enable-rebalancing moves users while a level is measured: leave it out"


def refuse_slo_of_others(slo: str | None, scenarios: Collection[str]) -> None:
    """Raise UsageError of a limit for a scenario that does not run: nothing would ever judge it."""
    for limit in parse_slo(slo) if slo else ():
        if limit.scenario and limit.scenario not in scenarios:
            raise UsageError(
                f"SLO {limit} is of {limit.scenario}, which does not run: choose of {', '.join(sorted(scenarios))}, or "
                "give --mix"
            )


def refuse_too_long(
    options: Any, scenarios: Collection[str], settings: Mapping[str, Mapping[str, Any]], limit: int | None
) -> None:
    """Raise UsageError when even the shortest prompt with its shortest answer does not fit the server's context.

    `settings`: what `--set` says of a scenario; `limit`: tokens of prompt and answer together, None where the server
    does not tell. Recorded requests bring their own lengths, and are not asked.
    """
    if limit is None:
        return
    for scenario in sorted(set(scenarios) - {"replay"}):
        own, name = settings.get(scenario, {}), PROMPT_OPTIONS.get(scenario)
        answers = str(own.get("max_tokens", options.max_tokens))
        prompts = str(own.get("prompt_tokens", getattr(options, name))) if name else "1"
        prompt, answer = round(parse_token_count(prompts).low), round(parse_token_count(answers).low)
        if prompt + answer > limit:
            asked = f"--{name.replace('_', '-')} {prompts} and " if name else ""
            raise UsageError(
                f"the server takes {limit} tokens of prompt and answer together, {scenario} asks for {prompt + answer} "
                f"at least ({asked}--max-tokens {answers}): ask for fewer"
            )
