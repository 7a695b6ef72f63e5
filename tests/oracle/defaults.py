"""What the oracle answers to the GETs that no rule covers, and to `/tokenize`: models, health, version, metrics.

Knows: the shapes vLLM gives these pages. Must not know: how the figures are counted.
"""

import zlib
from collections.abc import Mapping

from tests.oracle.answers import Answer, answer, at
from tests.oracle.faults import error, json_body
from tests.oracle.script import Script
from tests.oracle.tokens import words

TOKENIZE = "/tokenize"

METRICS = {
    "tokens": ("vllm:generation_tokens_total", "counter"),
    "requests": ("vllm:request_arrivals_total", "counter"),
    "running": ("vllm:num_requests_running", "gauge"),
    "waiting": ("vllm:num_requests_waiting", "gauge"),
}


def default_answer(path: str, script: Script, counts: Mapping[str, float], body: object = None) -> Answer:
    """The answer to a GET, or to a text to be tokenised: a word is a token, and its number is its checksum."""
    if path == TOKENIZE:
        return _tokenized(body, script)
    if path == "/v1/models":
        model = {"id": script.model, "object": "model", "created": 1, "owned_by": "oracle"}
        return json_body({"object": "list", "data": [model | {"max_model_len": script.context}]})
    if path == "/health":
        return json_body({"status": "ok"})
    if path == "/version":
        return json_body({"version": "oracle"})
    if path == "/metrics":
        lines = [line for name, value in counts.items() for line in _metric(*METRICS[name], script.model, value)]
        text = "\n".join([*lines, ""]).encode()
        return answer(at(0, text), content_type="text/plain; version=0.0.4", framing="length")
    return error(404, "Not Found")


def _tokenized(body: object, script: Script) -> Answer:
    prompt = body.get("prompt") if isinstance(body, Mapping) else None
    if not isinstance(prompt, str):
        return error(400, "prompt is missing")
    ids = [zlib.crc32(word.encode()) for word in words(prompt)]
    return json_body({"count": len(ids), "max_model_len": script.context, "tokens": ids})


def _metric(name: str, kind: str, model: str, value: float) -> list[str]:
    return [f"# HELP {name} Counted by the oracle.", f"# TYPE {name} {kind}", f'{name}{{model_name="{model}"}} {value}']
