"""`/metrics` of the simulated server, by vLLM's names.

Knows: Prometheus' text format, which of the engine's numbers vLLM calls what. Must not know: HTTP.
"""

import itertools
from collections.abc import Iterator

from loadband.sim.engine import Engine
from loadband.sim.latencies import Buckets, Latencies

KIND = "text/plain; version=0.0.4; charset=utf-8"
REASONS = ("stop", "length", "abort")


def exposition(engine: Engine, latencies: Latencies) -> bytes:
    """The page."""
    counters, model = engine.counters, {"model_name": engine.profile.model}
    own = {"engine": "0", **model}
    finished = {reason: latencies.finished[reason] for reason in REASONS} | {"abort": counters.aborted}
    page = [
        _head("num_requests_running", "gauge", "Requests in the batch."),
        _row("num_requests_running", own, len(engine.running)),
        _head("num_requests_waiting", "gauge", "Requests that wait for a place."),
        _row("num_requests_waiting", own, len(engine.waiting)),
        _head("kv_cache_usage_perc", "gauge", "Share of the KV cache in use, 0 to 1."),
        _row("kv_cache_usage_perc", own, engine.memory.usage),
        _head("num_preemptions_total", "counter", "Preemptions so far."),
        _row("num_preemptions_total", own, counters.preemptions),
        _head("prompt_tokens_total", "counter", "Prompt tokens of requests that have a first token."),
        _row("prompt_tokens_total", own, counters.prompt_tokens),
        _head("generation_tokens_total", "counter", "Tokens generated."),
        _row("generation_tokens_total", own, counters.generated_tokens),
        _head("request_success_total", "counter", "Requests that ended, by reason."),
        *(_row("request_success_total", {**own, "finished_reason": why}, count) for why, count in finished.items()),
        _head("admission_rejections_total", "counter", "Requests refused at the door."),
        _row("admission_rejections_total", {**model, "reason": "max_num_queued_reqs"}, counters.refused),
        *_histogram("time_to_first_token_seconds", "Arrival to first token.", own, latencies.ttft),
        *_histogram("inter_token_latency_seconds", "A token to the next.", own, latencies.itl),
        *_histogram("request_time_per_output_token_seconds", "Mean of a finished request.", own, latencies.tpot),
        *_histogram("e2e_request_latency_seconds", "Arrival to last token.", own, latencies.e2e),
    ]
    return "".join(page).encode()


def _head(name: str, kind: str, about: str) -> str:
    return f"# HELP vllm:{name} {about}\n# TYPE vllm:{name} {kind}\n"


def _row(name: str, labels: dict[str, str], value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"vllm:{name}{{{told}}} {float(value)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _histogram(name: str, about: str, labels: dict[str, str], buckets: Buckets) -> Iterator[str]:
    """Counts of each bucket and all below it, then their number and sum."""
    yield _head(name, "histogram", about)
    below = list(itertools.accumulate(buckets.counts))
    for bound, count in zip([*map(str, buckets.bounds), "+Inf"], below, strict=True):
        yield _row(f"{name}_bucket", {**labels, "le": bound}, count)
    yield _row(f"{name}_count", labels, below[-1])
    yield _row(f"{name}_sum", labels, buckets.total)
