"""`/metrics` of the simulated server, by vLLM's names.

Knows: Prometheus' text format, which of the engine's numbers vLLM calls what. Must not know: HTTP.
"""

from loadband.sim.engine import Engine

KIND = "text/plain; version=0.0.4; charset=utf-8"


def exposition(engine: Engine) -> bytes:
    """The page."""
    counters = engine.counters
    rows = [
        ("num_requests_running", "gauge", "Number of requests in model execution batches.", len(engine.running)),
        ("num_requests_waiting", "gauge", "Number of requests waiting to be processed.", len(engine.waiting)),
        ("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", engine.memory.usage),
        ("num_preemptions_total", "counter", "Cumulative number of preemptions.", counters.preemptions),
        ("prompt_tokens_total", "counter", "Number of prefill tokens processed.", counters.prompt_tokens),
        ("generation_tokens_total", "counter", "Number of generation tokens processed.", counters.generated_tokens),
    ]  # fmt: skip
    lines = []
    for name, kind, about, value in rows:
        lines += [f"# HELP vllm:{name} {about}", f"# TYPE vllm:{name} {kind}"]
        lines.append(f'vllm:{name}{{engine="0",model_name="{engine.profile.model}"}} {float(value)}')
    return "\n".join([*lines, ""]).encode()
