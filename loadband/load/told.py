"""What a server tells when it is first asked: its limits, its refusals, its sentences.

Knows: shapes of models, errors and refusals. Must not know: who asks.
"""

import json
from typing import Any

from loadband.load.exchange import Exchange
from loadband.load.server_json import error_of


def limit_of(model: dict[str, Any]) -> int | None:
    """Context limit that an entry of `/v1/models` tells: vLLM and SGLang `max_model_len`, llama.cpp `meta.n_ctx`."""
    meta = model.get("meta")
    told = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return told if isinstance(told, int) and told > 0 else None


def refused(exchange: Exchange) -> bool:
    """Whether the server does not want the request as it is."""
    return exchange.failure is not None and exchange.answer.http_status in (400, 422)


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
