"""Many requests on a real llama.cpp: none fails though it closes after each, and every token agrees with its count."""

import time
from dataclasses import dataclass

import pytest
from gevent.pool import Pool

from loadband.record import Status
from tests.engines.engine import LlamaCpp
from tests.load.asking import PATIENT, Asker

pytestmark = pytest.mark.process

GENERATED = "llamacpp:tokens_predicted_total"
PROMPTS = ("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total")


@dataclass
class Sum:
    """What the client counted over its requests."""

    statuses: dict[Status, int]
    output_tokens: int = 0
    prompt_tokens: int = 0
    stale: int = 0


def ask_many(url: str, requests: int, at_once: int) -> Sum:
    """So many requests by `at_once` users, each on its kept connection."""
    counted = Sum({})

    def user(number: int) -> None:
        asker = Asker(url, PATIENT)
        for n in range(number, requests, at_once):
            exchange = asker.ask(f"request {n}: what is a river?", max_tokens=8 + n % 9)
            counted.statuses[exchange.status] = counted.statuses.get(exchange.status, 0) + 1
            counted.output_tokens += exchange.answer.usage.output_tokens or 0
            counted.prompt_tokens += exchange.answer.usage.prompt_tokens or 0
            counted.stale += exchange.stale
        asker.connection.close()

    Pool(at_once).map(user, range(at_once))
    return counted


@pytest.mark.parametrize("at_once", [1, 50, 500], ids=["one after the other", "fifty at once", "all at once"])
def test_five_hundred_requests_all_succeed_and_agree_with_its_counters(llamacpp: LlamaCpp, at_once: int) -> None:
    before = llamacpp.metrics()
    counted = ask_many(llamacpp.url, 500, at_once)
    generated = wait_for_count(llamacpp, before[GENERATED] + counted.output_tokens) - before[GENERATED]
    after = llamacpp.metrics()
    prompts = sum(after[name] - before[name] for name in PROMPTS)
    print(
        f"{at_once} at once: {counted.statuses}, stale connections {counted.stale}, "
        f"output tokens {counted.output_tokens} (its own count {generated:.0f}), "
        f"prompt tokens {counted.prompt_tokens} (its own count {prompts:.0f})"
    )
    assert counted.statuses == {Status.OK: 500}
    assert generated == counted.output_tokens
    assert prompts == counted.prompt_tokens


def wait_for_count(engine: LlamaCpp, wanted: float) -> float:
    """Its count of generated tokens; the engine books an answer just after its last byte."""
    until = time.monotonic() + 3
    while (count := engine.metrics()[GENERATED]) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    return count
