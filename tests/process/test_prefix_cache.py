"""Against a server with a prefix cache: prompts are new in every run and at every level, unless sharing is asked."""

import statistics
from pathlib import Path

import pytest

from loadband import rundir
from tests.oracle import Oracle, rule
from tests.oracle.prefix_cache import CachedTokens
from tests.oracle.tokens import words
from tests.process.running import Files, finish, start

pytestmark = [pytest.mark.process, pytest.mark.timing]

RUNS = {
    "first": ["--prompt-tokens", "200"],
    "again": ["--prompt-tokens", "200"],
    "shared": ["--prompt-tokens", "100", "--shared-prefix", "100"],
}
"""Name of a run -> what it asks: 200 words each, a millisecond each unless known, and 50 before."""

STEPS, EACH = (4, 5, 6), 20


def test_time_to_the_first_token_is_that_of_new_prompts_at_every_level(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(rule(CachedTokens(ttft_ms=50.0, itl_ms=1.0, n=3), path="/v1/chat/completions"))
    processes = [
        start(
            ["--headless", "-H", oracle.url, "--steps", ",".join(map(str, STEPS)), "--hold", f"{EACH}req",
             "--settle", "0s", "--warmup", "0s", "--think-time", "0", "--no-doctor", "--no-report",
             "--session-header", f"X-{name}", "--run-dir", str(tmp_path / name), *asked]
        )
        for name, asked in RUNS.items()
    ]  # fmt: skip
    for process in processes:
        ended = finish(process)
        assert ended.code == 0, ended.err
    medians: dict[str, list[float]] = {}
    for name in RUNS:
        rows = [row for row in Files(tmp_path / name).rows(rundir.REQUESTS) if row["status"] == "ok"]
        of_steps = [[float(row["ttft_s"]) for row in rows if row["step"] == f"{n + 1}"] for n in range(len(STEPS))]
        assert min(map(len, of_steps)) >= EACH
        medians[name] = [round(statistics.median(found), 3) for found in of_steps]
    print("median TTFT by level, s:", medians)
    for name in ("first", "again"):
        assert medians[name] == pytest.approx([0.25] * len(STEPS), rel=0.15)
    assert medians["shared"] == pytest.approx([0.15] * len(STEPS), rel=0.2)
    sent = [each for each in oracle.log().requests if {"x-first", "x-again"} & set(each.headers)]
    beginnings = {tuple(words(each.body["messages"][0]["content"])[:16]) for each in sent}
    print(f"{len(sent)} requests of the first two, {len(beginnings)} distinct beginnings of 16 words")
    assert len(beginnings) == len(sent) >= 2 * len(STEPS) * EACH
