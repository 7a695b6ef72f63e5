"""What the model's answers tell: counts, lengths, the context, the prefix cache.

Pure. Knows: answers as plain values, what the plan needs. Must not know: sockets, how they were asked.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from loadband.record import FailureClass
from loadband.tuning.doctor.check import Check, bad, good, unknown, warn
from loadband.tuning.doctor.needs import Needs
from loadband.tuning.doctor.seen import Pair, Prompted, Seen
from loadband.tuning.doctor.words import counted, milliseconds

LENGTH_TOLERANCE = 0.10
"""A prompt's length within this share of the asked one is as asked."""

FROM_CACHE = 0.25
"""A share of cached tokens from which there is a prefix cache; a template's few tokens are kept by servers without."""

CACHED_SHARE = 0.5
"""All second TTFTs below this share of all first ones, the link apart, show a prefix cache ..."""

UNCACHED_SHARE = 0.8
"""... a median above this share of the first ones' shows none; between, undecided."""

HARMLESS = "the run's prompts begin unlike each other, so it does not flatter them"

COMPARE = "compare runs only where their mean lengths agree"

TELLING_S = 0.010
"""A first TTFT that is no longer than this above the link's floor does not tell."""


def judge_usage(seen: Seen) -> Check:
    """Does a stream tell how many tokens it had?"""
    if seen.failure_class is not None:
        return unknown("usage", "no answer to look at")
    if seen.output_tokens is None:
        return warn("usage", "the server counts no tokens in its streams",
                    "tokens of the run will be counted as events, which are fewer where one holds several")  # fmt: skip
    values = {"output_tokens": seen.output_tokens, "events": seen.events}
    if seen.prompt_tokens is None:
        return warn("usage", "the server counts the answer's tokens, the prompt's not",
                    "prompt tokens of the run will be unknown", **values)  # fmt: skip
    said = f"counts both: {counted(seen.output_tokens, 'token')} in {counted(seen.events, 'event')}"
    return good("usage", said, **values)


def judge_ignore_eos(asked: Seen, free: Seen | None, *, wanted: bool | None) -> Check:
    """Are answers of exactly the asked length? `free`: the same question without `ignore_eos`, where it was asked.

    `wanted`: the option; None is automatic.
    """
    if not asked.asked_ignore_eos and wanted is False:
        return good("ignore_eos", "not asked for: answers end where the model ends them")
    if not asked.asked_ignore_eos:
        said = "the server does not take ignore_eos: answers may be shorter than asked"
        return warn("ignore_eos", said, COMPARE)
    got = asked.output_tokens if asked.output_tokens is not None else asked.events
    values: dict[str, Any] = {
        "asked_tokens": asked.asked_tokens,
        "output_tokens": got,
        "finish_reason": asked.finish_reason,
    }
    if asked.failure_class is not None:
        return unknown("ignore_eos", "no answer to look at", **values)
    if asked.output_tokens is not None and got > asked.asked_tokens:
        return bad("ignore_eos", f"{got} tokens came where max_tokens was {asked.asked_tokens}",
                   "max_tokens is not kept: answers of the run are as long as the server likes", **values)  # fmt: skip
    if asked.finish_reason == "stop" or (asked.output_tokens is not None and got < asked.asked_tokens):
        said = f"taken but not honoured: {got} of {asked.asked_tokens} tokens, finish reason {asked.finish_reason}"
        return warn("ignore_eos", said, COMPARE, **values)
    ends = free is not None and free.failure_class is None and free.finish_reason == "stop"
    said = "honoured, for without it the model ends by itself" if ends else "as asked"
    return good("ignore_eos", f"{got} of {asked.asked_tokens} tokens, {said}", **values)


def judge_prompt_length(prompted: Prompted) -> Check:
    """Is a prompt as long as asked, the server's template apart?"""
    seen, overhead = prompted.seen, prompted.overhead_tokens
    if seen.failure_class == FailureClass.CONTEXT_LENGTH:
        return bad("prompt length", f"a prompt of {prompted.asked_tokens} tokens is too long: {seen.message}",
                   "lower --prompt-tokens, or start the server with a longer context")  # fmt: skip
    if seen.failure_class is not None:
        return bad("prompt length", f"the plan's longest prompt failed ({seen.failure_class}: {seen.message})",
                   "look at the server's log, or lower --prompt-tokens")  # fmt: skip
    if seen.prompt_tokens is None or overhead is None:
        return unknown("prompt length", "the server counts no prompt tokens", "prompt lengths of the run are estimates")
    text = seen.prompt_tokens - overhead
    off = text / prompted.asked_tokens - 1
    values = {
        "asked_tokens": prompted.asked_tokens, "counted_tokens": seen.prompt_tokens, "template_tokens": overhead,
        "deviation": off,
    }  # fmt: skip
    said = (
        f"asked {prompted.asked_tokens}, counted {seen.prompt_tokens}, of which about {overhead} are the chat template"
        f" ({100 * off:+.0f} % apart from it)"
    )
    if abs(off) > LENGTH_TOLERANCE:
        return warn("prompt length", said, "prompts of the run are off as much; read the counted lengths", **values)
    return good("prompt length", said, **values)


def judge_context(limit: int | None, overhead: int | None, needs: Needs, largest: Seen | None) -> Check:
    """Does the plan's largest request fit? `largest`: that request, where it was asked."""
    need = needs.longest_prompt + (overhead or 0) + needs.longest_answer
    values = {"limit_tokens": limit, "needed_tokens": need}
    plan = f"the plan's largest request is about {need} tokens (prompt {needs.longest_prompt}, template "
    plan += f"{overhead or 0}, answer {needs.longest_answer})"
    step = "lower --prompt-tokens or --max-tokens, or start the server with a longer context"
    if largest is not None and largest.failure_class == FailureClass.CONTEXT_LENGTH:
        return bad("context", f"{plan}; the server refuses it: {largest.message}", step, **values)
    if largest is not None and largest.failure_class is not None and largest.status is not None:
        return bad("context", f"{plan}; it failed ({largest.failure_class}: {largest.message})", step, **values)
    if limit is not None and need > limit:
        return bad("context", f"{limit} tokens; {plan}", step, **values)
    if limit is not None:
        return good("context", f"{limit:,} tokens; {plan}", **values)
    if largest is not None and largest.ttft_s is not None:
        return good("context", f"not told; {plan}, and it is taken", **values)
    return unknown("context", f"the server does not tell; {plan}", "ask its operator", **values)


def judge_prefix_cache(pairs: Sequence[Pair], told: bool | None, floor_s: float | None) -> Check:
    """Is a prompt that was seen before read faster? By the server's own count, its word, or the time it takes."""
    firsts = [p.first.ttft_s for p in pairs if p.first.ttft_s is not None]
    seconds = [p.second.ttft_s for p in pairs if p.second.ttft_s is not None]
    cached = [share for p in pairs if (share := p.second.cached_share) is not None]
    floor = floor_s or 0.0
    values: dict[str, Any] = {
        "told": told, "cached_share": max(cached, default=None),
        "first_ttft_s": median(firsts) if firsts else None, "second_ttft_s": median(seconds) if seconds else None,
    }  # fmt: skip
    if cached and (max(cached) >= FROM_CACHE or told is None):
        on = max(cached) >= FROM_CACHE
        said = f"{'on' if on else 'off'}: of a prompt seen before {100 * max(cached):.0f} % came from it"
        return good("prefix cache", f"{said}; {HARMLESS}" if on else said, **values)
    if told is not None:
        return good("prefix cache", f"on, says the server; {HARMLESS}" if told else "off, says the server", **values)
    if not firsts or not seconds:
        why = f"a long prompt failed ({pairs[0].first.message})" if pairs else "not told, and not asked before load"
        return unknown("prefix cache", why, **values)
    times = f"the same prompt took {milliseconds(median(firsts))}, then {milliseconds(median(seconds))}"
    faster = _faster([s - floor for s in firsts], [s - floor for s in seconds])
    if faster is None:
        return unknown("prefix cache", f"{times}: undecided", **values)
    return good("prefix cache", f"on: {times}; {HARMLESS}" if faster else f"off: {times}", **values)


def _faster(firsts: Sequence[float], seconds: Sequence[float]) -> bool | None:
    """Whether the second readings, the link apart, took a cache's time; None where it cannot be told.

    On a busy machine one reading may take twice another's time for no reason: a cache makes all second ones clearly
    shorter than all first ones.
    """
    if median(firsts) < TELLING_S:
        return None
    if max(seconds) < CACHED_SHARE * min(firsts):
        return True
    return False if median(seconds) > UNCACHED_SHARE * median(firsts) else None
