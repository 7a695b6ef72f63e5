"""What a server tells when it is first asked: its limits, its refusals, its sentences.

Knows: shapes of models, errors and refusals, when a server wants to be asked again. Must not know: who asks.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import gevent

from loadband.load.exchange import Exchange
from loadband.load.retries import asked_wait_s
from loadband.load.says import ServerError
from loadband.load.server_json import error_of
from loadband.record import FailureClass

ATTEMPTS = 3
"""How often something is asked of a server that says when to come back."""

LONGEST_WAIT_S = 10.0
"""Who wants to be left alone for longer is not asked again."""


def limit_of(model: dict[str, Any]) -> int | None:
    """Context limit that an entry of `/v1/models` tells: vLLM and SGLang `max_model_len`, llama.cpp `meta.n_ctx`."""
    meta = model.get("meta")
    told = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return told if isinstance(told, int) and told > 0 else None


def refused(exchange: Exchange) -> bool:
    """Whether the server does not want the request as it is."""
    return exchange.failure is not None and exchange.answer.http_status in (400, 422)


def asked_patiently(made: Callable[[], Exchange], request: bytes) -> list[Exchange]:
    """The attempts at one request, the last one counts: a refusal with a `Retry-After` that is short is no answer."""
    attempts: list[Exchange] = []
    while True:
        exchange = made()
        attempts.append(exchange)
        exchange.run(request)
        if exchange.failure is None or exchange.failure.failure_class != FailureClass.THROTTLED:
            return attempts
        wait_s = asked_wait_s(exchange.answer.header("retry-after"), time.time())
        if wait_s is None or wait_s > LONGEST_WAIT_S or len(attempts) == ATTEMPTS:
            return attempts
        gevent.sleep(wait_s)


def next_step(failure: ServerError) -> str:
    """What to do about a server that gave no answer."""
    if failure.failure_class == FailureClass.THROTTLED:
        return "wait until it has room again, or raise its limit of requests"
    return "look at the server's log"


def names(exchange: Exchange, *fields: str) -> bool:
    """Whether a refusal names one of these fields."""
    return exchange.failure is not None and any(field in exchange.failure.message for field in fields)


def sentence_of(body: str) -> str:
    """What a body says of an error, else its beginning."""
    try:
        told = error_of(json.loads(body))
    except (ValueError, AttributeError):
        told = None
    return told.message if told else body[:300]


def few(words: list[str]) -> str:
    """The first five, and how many more."""
    return ", ".join(words[:5]) + (f" and {len(words) - 5} more" if len(words) > 5 else "")
