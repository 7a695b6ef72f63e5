"""`/metrics` of the simulated server: valid for any scraper, by vLLM's names, and what its clients measured."""

from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from loadband import rundir
from loadband.sim.engine import Engine
from loadband.sim.latencies import Buckets, Latencies, Life
from loadband.sim.metrics import exposition
from tests.oracle.rawclient import RawClient
from tests.process.running import Files, run
from tests.sim.exposition import Family, parsed, value_of
from tests.sim.profiles import small
from tests.sim.serving import Serving, serving

HISTOGRAMS = [
    "vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds",
    "vllm:request_time_per_output_token_seconds", "vllm:e2e_request_latency_seconds",
]  # fmt: skip


def page_of(server: Serving) -> dict[str, Family]:
    """What a scraper reads."""
    with RawClient(server.port) as client:
        head, _, body = client.get("/metrics").until(b"e2e_request_latency_seconds_sum{").partition(b"\r\n\r\n")
        assert b"content-type: text/plain; version=0.0.4" in head
        while not body.endswith(b"\n"):
            body += client.read_once()
    return parsed(body.decode())


def total(page: dict[str, Family], name: str, **labels: str) -> float:
    return value_of(page[name.removesuffix("_count").removesuffix("_sum")], name, **labels)


def lives(*stamps: list[float]) -> Latencies:
    """Finished requests that began at 0, with tokens at these moments."""
    seen = Latencies()
    for one in stamps:
        life = Life(0.0)
        for stamp in one:
            seen.token(life, stamp)
        seen.finish(life, len(one), "stop")
    return seen


def test_each_metric_is_what_vllm_means_by_it() -> None:
    seen = lives([0.5, 0.75, 1.5], [2.0])
    assert (sum(seen.ttft.counts), seen.ttft.total) == (2, 2.5)
    assert (sum(seen.itl.counts), seen.itl.total) == (2, 1.0)
    assert (sum(seen.e2e.counts), seen.e2e.total) == (2, 3.5)
    assert (sum(seen.tpot.counts), seen.tpot.total) == (1, 0.5), "of two tokens or more"


def test_a_value_on_a_bound_lies_within_it_and_none_is_too_large() -> None:
    buckets = Buckets((1.0, 2.0))
    for value in (0.0, 1.0, 1.5, 2.0, 2.5, 1e9):
        buckets.add(value)
    assert buckets.counts == [2, 2, 2]


def test_a_page_of_nothing_is_whole() -> None:
    page = parsed(exposition(Engine(small()), Latencies()).decode())
    assert set(HISTOGRAMS) == {name for name, family in page.items() if family.kind == "histogram"}
    assert all(value == 0 for family in page.values() for value in family.samples.values())


def test_buckets_hold_all_below_them() -> None:
    page = parsed(exposition(Engine(small()), lives([0.5, 0.75, 1.5], [0.02])).decode())
    ttft = page["vllm:time_to_first_token_seconds"]
    told = {
        le: value_of(ttft, "vllm:time_to_first_token_seconds_bucket", le=le) for le in ("0.01", "0.02", "0.5", "+Inf")
    }
    assert told == {"0.01": 0, "0.02": 1, "0.5": 2, "+Inf": 2}


def test_a_models_name_is_escaped() -> None:
    page = exposition(Engine(small(model='a "quoted" \\ name\nin two lines')), Latencies()).decode()
    (labels,) = {dict(own)["model_name"] for family in parsed(page).values() for _, own in family.samples}
    assert labels == 'a \\"quoted\\" \\\\ name\\nin two lines'


@pytest.mark.process
def test_ends_are_told_by_their_reason() -> None:
    with serving(small(base_ms=2.0, max_num_seqs=1, max_waiting=0, max_model_len=1024)) as server:
        with RawClient(server.port) as client:
            client.post(max_tokens=5).until(b"0\r\n\r\n")
            client.post(max_tokens=500).until(b"0\r\n\r\n")
            client.post(max_tokens=900, ignore_eos=True).until(b"river")
            with RawClient(server.port) as refused:
                refused.post().until(b"0\r\n\r\n")
        while not server.server.engine.counters.aborted:
            pass
        page = page_of(server)
    ends = {why: total(page, "vllm:request_success_total", finished_reason=why) for why in ("stop", "length", "abort")}
    assert ends == {"stop": 1, "length": 1, "abort": 1}
    assert total(page, "vllm:admission_rejections_total") == 1
    assert total(page, "vllm:e2e_request_latency_seconds_count") == 2


@pytest.mark.process
@pytest.mark.timing
def test_the_server_measures_what_its_client_measures() -> None:
    tokens, requests, step_s = 12, 5, 0.02
    ttft = e2e = itl = 0.0
    with serving(small(base_ms=step_s * 1e3)) as server:
        with RawClient(server.port) as client:
            for _ in range(requests):
                client.post(max_tokens=tokens, ignore_eos=True).until(b"0\r\n\r\n")
                stamps = [at for at, part in client.reads if b'"content":"' in part]
                ttft, e2e = ttft + stamps[0] - client.asked_at, e2e + stamps[-1] - client.asked_at
                itl += sum(later - earlier for earlier, later in pairwise(stamps))
        page = page_of(server)
    sums = {name: total(page, f"{name}_sum") for name in HISTOGRAMS}
    counts = {name: total(page, f"{name}_count") for name in HISTOGRAMS}
    assert list(counts.values()) == [requests, requests * (tokens - 1), requests, requests]
    assert requests * step_s <= sums[HISTOGRAMS[0]] <= ttft, "a client sees a token later than the server sends it"
    assert requests * tokens * step_s <= sums[HISTOGRAMS[3]] <= e2e
    assert sums[HISTOGRAMS[0]] == pytest.approx(ttft, rel=0.2)
    assert sums[HISTOGRAMS[1]] == pytest.approx(itl, rel=0.1)
    assert sums[HISTOGRAMS[3]] == pytest.approx(e2e, rel=0.1)


def seconds(rows: list[dict[str, str]], column: str) -> float:
    return sum(float(row[column]) for row in rows if row[column])


class Kept(Latencies):
    """Keeps what it was told of each request, in the order they finished."""

    kept: ClassVar[list[tuple[float, float, float]]] = []
    """First token, per token and end to end, in seconds."""

    def finish(self, life: Life, tokens: int, reason: str) -> None:
        super().finish(life, tokens, reason)
        assert life.first_at is not None and life.last_at is not None
        per_token = (life.last_at - life.first_at) / (tokens - 1) if tokens > 1 else 0.0
        self.kept.append((life.first_at - life.begun_at, per_token, life.last_at - life.begun_at))


@pytest.mark.process
@pytest.mark.timing
def test_a_whole_run_and_the_server_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "kept", [])
    with serving(small(base_ms=20.0, max_model_len=2048, max_num_batched_tokens=512)) as server:
        server.server.latencies = Kept()
        ended = run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--steps", "1,4", "--hold", "3s", "--settle", "0s",
            "--think-time", "0", "--max-tokens", "8-24", "--no-report", "--run-dir", str(tmp_path / "run"),
        ])  # fmt: skip
        page = page_of(server)
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    rows, probe = files.rows(rundir.REQUESTS), files.run["probe"]
    assert {row["status"] for row in rows} == {"ok"}
    told: dict[str, Any] = {name: total(page, f"{name}_count") for name in HISTOGRAMS}
    assert told[HISTOGRAMS[3]] == len(rows) + probe["requests"] == len(Kept.kept)
    assert total(page, "vllm:generation_tokens_total") == seconds(rows, "output_tokens") + probe["output_tokens"]
    assert total(page, "vllm:prompt_tokens_total") == seconds(rows, "prompt_tokens") + probe["prompt_tokens"]
    of_the_run = Kept.kept[probe["requests"] :]
    for at, (name, column) in enumerate(
        ((HISTOGRAMS[0], "ttft_s"), (HISTOGRAMS[2], "tpot_s"), (HISTOGRAMS[3], "e2e_s"))
    ):
        assert total(page, f"{name}_sum") == pytest.approx(sum(one[at] for one in Kept.kept)), name
        server_mean = sum(one[at] for one in of_the_run) / len(rows)
        assert server_mean == pytest.approx(seconds(rows, column) / len(rows), rel=0.1), column
