"""Load tools that people use, and ours: how each is called for the same load, and what it says of TTFT.

Knows: each tool's command line and result file. Must not know: how they are measured.
"""

import csv
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench_server import ITL_MS, TOKENS, TTFT_MS, CannotError
from benchmarks.worker_run import ROOT, percentile

CACHED = "bench/tokenizer"
"""Name of the tokenizer in the cache that the benchmark fills."""

VLLM_SERVE = (
    "import argparse; from vllm.benchmarks.serve import add_cli_args, main; p = argparse.ArgumentParser(); "
    "add_cli_args(p); main(p.parse_args())"
)


@dataclass(frozen=True, slots=True)
class Load:
    """What every tool is asked for."""

    url: str
    streams: int
    seconds: float
    tokenizer: Path | None
    """A tokenizer's folder, for tools that need one."""
    folder: Path
    """Where the tool may write."""

    @property
    def requests(self) -> int:
        """Requests that keep the streams busy for the seconds."""
        return self.streams * round(self.seconds / ((TTFT_MS + ITL_MS * TOKENS) / 1e3) + 1)


@dataclass(frozen=True, slots=True)
class Tool:
    """A load tool: how it is installed and called, and what it says of TTFT."""

    name: str
    pinned: str | None
    """What pip installs; `vllm` is the engine's own environment; None: the project's."""
    command: Callable[[Load, str], list[str]]
    """The words, given the load and the interpreter's folder."""
    ttft: Callable[[Load], tuple[float, float]]
    """Mean and p99 of TTFT in ms, as the tool wrote them."""


def ours(load: Load, python: str) -> list[str]:
    """Loadband in one process."""
    plan = ["--steps", str(load.streams), "--hold", f"{load.seconds:g}s", "--settle", "2s", "--warmup", "0s"]
    plan += [
        "--think-time",
        "0",
        "--max-tokens",
        str(TOKENS),
        "--drain",
        "0s",
        "--no-report",
        "--no-doctor",
        "-H",
        load.url,
    ]
    return [python, "-m", "locust", "-f", str(ROOT / "locustfile.py"), "--headless", *plan,
            "--run-dir", str(load.folder / "run")]  # fmt: skip


def our_ttft(load: Load) -> tuple[float, float]:
    """From `requests.csv`."""
    with (load.folder / "run" / "requests.csv").open(encoding="utf-8", newline="") as file:
        values = [float(row["ttft_s"]) * 1e3 for row in csv.DictReader(file) if row["status"] == "ok"]
    return statistics.fmean(values), percentile(values, 99)


def plain_locust(load: Load, python: str) -> list[str]:
    """Locust with the file that people write."""
    return [python, "-m", "locust", "-f", str(ROOT / "benchmarks" / "plain_locustfile.py"), "--headless",
            "-u", str(load.streams), "-r", str(load.streams / 2), "-t", f"{load.seconds:g}s", "-H", load.url,
            "--csv", str(load.folder / "plain"), "--only-summary"]  # fmt: skip


def plain_ttft(load: Load) -> tuple[float, float]:
    """From Locust's own table."""
    with (load.folder / "plain_stats.csv").open(encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["Type"] == "TTFT")
    return float(row["Average Response Time"]), float(row["99%"])


def vllm_bench(load: Load, python: str) -> list[str]:
    """`vllm bench serve`; as a module, since the CPU wheel's command does not find its own metadata."""
    return [python, "-P", "-c", VLLM_SERVE, "--backend", "openai-chat", "--base-url", load.url,
            "--endpoint", "/v1/chat/completions", "--model", "bench", "--tokenizer", str(load.tokenizer),
            "--dataset-name", "random", "--random-input-len", "64", "--random-output-len", str(TOKENS),
            "--max-concurrency", str(load.streams), "--num-prompts", str(load.requests), "--ignore-eos",
            "--save-result", "--result-dir", str(load.folder), "--result-filename", "vllm.json",
            "--disable-tqdm"]  # fmt: skip


def vllm_ttft(load: Load) -> tuple[float, float]:
    """From its result file."""
    told = read_json(load.folder / "vllm.json")
    return told["mean_ttft_ms"], told["p99_ttft_ms"]


def guidellm(load: Load, python: str) -> list[str]:
    """GuideLLM, concurrent."""
    return [python, "-m", "guidellm", "run", "--backend", f"kind=openai_http,target={load.url},model=bench",
            "--profile", f"kind=concurrent,streams={load.streams}",
            "--constraint", f"kind=max_duration,seconds={load.seconds:g}",
            "--tokenizer", f"kind=huggingface_auto,model={load.tokenizer}",
            "--data", f"kind=synthetic_text,prompt_tokens=64,output_tokens={TOKENS}",
            "--output", f"kind=json,path={load.folder / 'guidellm.json'}", "--disable-progress"]  # fmt: skip


def guidellm_ttft(load: Load) -> tuple[float, float]:
    """From its report, of successful requests."""
    told = read_json(load.folder / "guidellm.json")["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]
    return told["mean"], told["percentiles"]["p99"]


def aiperf(load: Load, python: str) -> list[str]:
    """AIPerf; its tokenizer must be in Hugging Face's cache, under `CACHED`."""
    return [str(Path(python).with_name("aiperf")), "profile", "-m", "bench", "--url", load.url,
            "--endpoint-type", "chat", "--streaming", "--concurrency", str(load.streams),
            "--benchmark-duration", f"{load.seconds:g}", "--tokenizer", CACHED,
            "--synthetic-input-tokens-mean", "64", "--synthetic-input-tokens-stddev", "0",
            "--output-tokens-mean", str(TOKENS), "--output-tokens-stddev", "0", "--ui", "none",
            "--artifact-dir", str(load.folder)]  # fmt: skip


def aiperf_ttft(load: Load) -> tuple[float, float]:
    """From its export."""
    told = read_json(load.folder / "profile_export_aiperf.json")["time_to_first_token"]
    return told["avg"], told["p99"]


def read_json(path: Path) -> Any:
    """What a tool wrote. Raises CannotError when it wrote nothing."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CannotError(f"it wrote no result ({error})") from error


TOOLS = (
    Tool("Loadband", None, ours, our_ttft),
    Tool("plain Locust", None, plain_locust, plain_ttft),
    Tool("vllm bench serve 0.32.0", "vllm", vllm_bench, vllm_ttft),
    Tool("AIPerf 0.13.0", "aiperf==0.13.0", aiperf, aiperf_ttft),
    Tool("GuideLLM 0.8.1", "guidellm==0.8.1", guidellm, guidellm_ttft),
)
