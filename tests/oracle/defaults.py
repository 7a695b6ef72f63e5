"""What the oracle answers to the GETs that no rule covers: models, health, version, metrics.

Knows: the shapes vLLM gives these pages. Must not know: how the figures are counted.
"""

from collections.abc import Mapping

from tests.oracle.answers import Answer, answer, at
from tests.oracle.faults import error, json_body
from tests.oracle.script import Script

METRICS = {
    "tokens": ("vllm:generation_tokens_total", "counter"),
    "requests": ("vllm:request_arrivals_total", "counter"),
    "running": ("vllm:num_requests_running", "gauge"),
    "waiting": ("vllm:num_requests_waiting", "gauge"),
}


def default_answer(path: str, script: Script, counts: Mapping[str, float]) -> Answer:
    """The answer to a GET."""
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


def _metric(name: str, kind: str, model: str, value: float) -> list[str]:
    return [f"# HELP {name} Counted by the oracle.", f"# TYPE {name} {kind}", f'{name}{{model_name="{model}"}} {value}']
