"""What answers tell: counts, lengths, the context, the prefix cache; each finding from values alone."""

from dataclasses import replace

import pytest

from loadband.load.distribution import Distribution
from loadband.record import FailureClass
from loadband.tuning.doctor.check import Mark
from loadband.tuning.doctor.judge_answers import (
    judge_context,
    judge_ignore_eos,
    judge_prefix_cache,
    judge_prompt_length,
    judge_usage,
)
from loadband.tuning.doctor.needs import Needs
from loadband.tuning.doctor.seen import Pair, Prompted, Seen

WHOLE = Seen(asked_tokens=64, events=64, output_tokens=64, prompt_tokens=30, ttft_s=0.1, finish_reason="length")
TOO_LONG = replace(WHOLE, failure_class=FailureClass.CONTEXT_LENGTH, message="at most 1000", status=400, ttft_s=None)
BROKEN = replace(WHOLE, failure_class=FailureClass.RESET, message="gone", status=200)


def needs(prompt: float = 200, answer: float = 448) -> Needs:
    return Needs(8, 1, Distribution(0.5, 2), Distribution(50, prompt), Distribution(64, answer), 1)


def test_usage() -> None:
    assert judge_usage(WHOLE).mark == Mark.GOOD
    assert judge_usage(replace(WHOLE, prompt_tokens=None)).mark == Mark.WARN
    none = judge_usage(replace(WHOLE, output_tokens=None, prompt_tokens=None))
    assert none.mark == Mark.WARN
    assert "counts no tokens" in none.said
    assert judge_usage(BROKEN).mark == Mark.UNKNOWN


FREE = replace(WHOLE, asked_ignore_eos=False, output_tokens=3, events=3, finish_reason="stop")
EOS = [
    (WHOLE, FREE, None, Mark.GOOD, "honoured", "without it the model ends"),
    (WHOLE, None, None, Mark.GOOD, "as asked", "not tried without"),
    (WHOLE, replace(FREE, finish_reason="length"), None, Mark.GOOD, "as asked", "the model never ends"),
    (replace(WHOLE, output_tokens=3, finish_reason="stop"), FREE, None, Mark.WARN, "not honoured", "ignored"),
    (replace(WHOLE, output_tokens=3), None, None, Mark.WARN, "not honoured", "shorter, whatever it says"),
    (replace(WHOLE, output_tokens=None, events=3, finish_reason="stop"), None, None, Mark.WARN, "3 of 64", "uncounted"),
    (replace(WHOLE, output_tokens=99), None, None, Mark.BAD, "max_tokens was 64", "longer than asked"),
    (replace(WHOLE, asked_ignore_eos=False), None, None, Mark.WARN, "does not take", "refused"),
    (replace(WHOLE, asked_ignore_eos=False), None, False, Mark.GOOD, "not asked for", "not wanted"),
    (BROKEN, None, None, Mark.UNKNOWN, "no answer", "failed"),
]  # fmt: skip


@pytest.mark.parametrize("row", EOS, ids=[row[5] for row in EOS])
def test_ignore_eos(row: tuple[Seen, Seen | None, bool | None, Mark, str, str]) -> None:
    asked, free, wanted, mark, words, sentence = row
    check = judge_ignore_eos(asked, free, wanted=wanted)
    assert (check.mark, words in check.said) == (mark, True), f"{sentence}: {check}"


def test_prompt_length_leaves_the_template_out() -> None:
    exact = judge_prompt_length(Prompted(500, 40, replace(WHOLE, prompt_tokens=540)))
    assert exact.mark == Mark.GOOD
    assert exact.values["deviation"] == 0
    off = judge_prompt_length(Prompted(500, 40, replace(WHOLE, prompt_tokens=640)))
    assert off.mark == Mark.WARN
    assert "+20 %" in off.said
    assert judge_prompt_length(Prompted(500, None, replace(WHOLE, prompt_tokens=None))).mark == Mark.UNKNOWN
    assert judge_prompt_length(Prompted(500, 40, TOO_LONG)).said.endswith("too long: at most 1000")
    assert judge_prompt_length(Prompted(500, 40, BROKEN)).mark == Mark.BAD


CONTEXT = [
    (1000, 40, None, Mark.GOOD, "enough by its word"),
    (700, 52, None, Mark.GOOD, "just enough: 200 + 52 + 448"),
    (700, 53, None, Mark.BAD, "one token short"),
    (None, 40, WHOLE, Mark.GOOD, "not told, but taken"),
    (None, 40, TOO_LONG, Mark.BAD, "not told, and refused"),
    (4096, 40, TOO_LONG, Mark.BAD, "told, and refused all the same"),
    (None, 40, None, Mark.UNKNOWN, "not told, not asked"),
    (4096, 40, BROKEN, Mark.BAD, "failed"),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "overhead", "largest", "mark", "sentence"), CONTEXT, ids=[r[4] for r in CONTEXT])
def test_context(limit: int | None, overhead: int, largest: Seen | None, mark: Mark, sentence: str) -> None:
    assert judge_context(limit, overhead, needs(), largest).mark == mark, sentence


def pair(first_s: float, second_s: float, cached: int | None = None) -> Pair:
    read = replace(WHOLE, prompt_tokens=1000)
    return Pair(replace(read, ttft_s=first_s, cached_tokens=cached and 4),
                replace(read, ttft_s=second_s, cached_tokens=cached))  # fmt: skip


CACHE = [
    ([pair(1.0, 0.02, 960)] * 3, None, Mark.GOOD, "on: of", "its own count"),
    ([pair(1.0, 1.0, 4)] * 3, None, Mark.GOOD, "off: of", "a template's four tokens are none"),
    ([pair(1.0, 0.02), pair(0.9, 0.03), pair(1.1, 0.02)], None, Mark.GOOD, "on: the same", "by time"),
    ([pair(1.0, 1.02), pair(0.9, 1.1), pair(1.1, 0.9)], None, Mark.GOOD, "off: the same", "by time, none"),
    ([pair(2.0, 0.9), pair(1.5, 0.9), pair(1.0, 0.6)], None, Mark.UNKNOWN, "undecided", "a busy machine"),
    ([pair(0.105, 0.101)] * 3, None, Mark.UNKNOWN, "undecided", "the link takes all the time"),
    ([pair(0.002, 0.001)] * 3, True, Mark.GOOD, "on, says", "its word"),
    ([], False, Mark.GOOD, "off, says", "its word before load"),
    ([], None, Mark.UNKNOWN, "not asked", "nothing at all"),
    ([Pair(TOO_LONG, TOO_LONG)], None, Mark.UNKNOWN, "at most 1000", "refused"),
]  # fmt: skip


@pytest.mark.parametrize(("pairs", "told", "mark", "words", "sentence"), CACHE, ids=[row[4] for row in CACHE])
def test_prefix_cache(pairs: list[Pair], told: bool | None, mark: Mark, words: str, sentence: str) -> None:
    check = judge_prefix_cache(pairs, told, 0.1 if sentence.startswith("the link") else 0.0)
    assert (check.mark, words in check.said) == (mark, True), f"{sentence}: {check}"
