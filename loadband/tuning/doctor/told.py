"""What servers tell of themselves: engine, version, parallelism, limits.

Pure. Knows: the pages of vLLM, SGLang, llama.cpp, TGI and Ollama. Must not know: sockets, what is good.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PAGES = ("/version", "/props", "/get_server_info", "/info", "/metrics")
"""Each is known to one or two engines, the others refuse it."""

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)\{(.*)\} \S+$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Told:
    """None: not told."""

    engine: str | None = None
    version: str | None = None
    slots: int | None = None
    """Answers that the server generates at once."""
    devices: int | None = None
    """Accelerators it says it uses."""
    replicas: int | None = None
    """Engines behind one address, each on a device of its own at least."""
    prefix_cache: bool | None = None
    cache_tokens: int | None = None
    """Tokens that its KV cache holds."""


def told_of(bodies: Mapping[str, str], header: str | None) -> Told:
    """From the bodies of the pages that were answered with 200, and the `Server` header."""
    pages = {path: _object(body) for path, body in bodies.items() if path != "/metrics"}
    props, sglang, info = (pages.get(path, {}) for path in ("/props", "/get_server_info", "/info"))
    metrics = bodies.get("/metrics", "")
    cache = _labels(metrics, "vllm:cache_config_info")
    engines = {label["engine"] for label in cache if "engine" in label}
    return Told(
        engine=_engine(props, sglang, info, metrics, header),
        version=_text(pages.get("/version", {}).get("version"))
        or _text(props.get("build_info")) or _text(sglang.get("version")) or _text(info.get("version")),
        slots=_count(props.get("total_slots")) or _count(sglang.get("max_running_requests"))
        or _count(info.get("max_concurrent_requests")),
        devices=_devices(sglang),
        replicas=len(engines) or None,
        prefix_cache=_prefix_cache(cache, sglang),
        cache_tokens=_count(sum(_number(label.get("kv_cache_size_tokens")) for label in cache))
        or _count(sglang.get("max_total_num_tokens")),
    )  # fmt: skip


def _engine(
    props: Mapping[str, Any], sglang: Mapping[str, Any], info: Mapping[str, Any], metrics: str, header: str | None
) -> str | None:
    if "total_slots" in props:
        return "llama.cpp"
    if "tp_size" in sglang or "sglang:" in metrics:
        return "SGLang"
    if "vllm:" in metrics:
        return "vLLM"
    if "max_concurrent_requests" in info:
        return "TGI"
    return header or None


def _devices(sglang: Mapping[str, Any]) -> int | None:
    sizes = [_count(sglang.get(name)) for name in ("tp_size", "pp_size", "dp_size")]
    if sizes[0] is None:
        return None
    tensor, pipeline, data = (size or 1 for size in sizes)
    return tensor * pipeline * data


def _prefix_cache(cache: list[dict[str, str]], sglang: Mapping[str, Any]) -> bool | None:
    if told := {label["enable_prefix_caching"] for label in cache if "enable_prefix_caching" in label}:
        return told == {"True"}
    disabled = sglang.get("disable_radix_cache")
    return not disabled if isinstance(disabled, bool) else None


def _labels(metrics: str, name: str) -> list[dict[str, str]]:
    """The labels of each sample of that name."""
    return [dict(_LABEL.findall(labels)) for found, labels in _SAMPLE.findall(metrics) if found == name]


def _object(body: str) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1e12 else None


def _number(text: str | None) -> int:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,12}", text) else 0
