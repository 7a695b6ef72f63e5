"""Empties the server's prefix cache.

Knows: where vLLM and SGLang take that order. Must not know: when it is given.
"""

from loadband.errors import UsageError
from loadband.load.connection import Address
from loadband.load.side_request import post

ENDPOINTS = ("/reset_prefix_cache", "/flush_cache")
"""Of vLLM (only with VLLM_SERVER_DEV_MODE=1), of SGLang."""

WITHIN_S = 30.0


def reset_prefix_cache(address: Address, key: str | None) -> None:
    """Empty it. Raises UsageError where the server takes no such order."""
    told = {}
    for path in ENDPOINTS:
        status, _ = post(address, path, key, {}, WITHIN_S)
        if status == 200:
            return
        told[path] = status or "no answer"
    answers = ", ".join(f"{path}: {status}" for path, status in told.items())
    raise UsageError(
        f"{address.url} does not empty its prefix cache ({answers}): start vLLM with "
        "VLLM_SERVER_DEV_MODE=1, or leave out --reset-cache"
    )
