"""Prompts of real processes: distinct over users and workers, the same again, the cache emptied before each pass."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loadband import rundir
from tests.oracle import Log, Oracle, Request, rule, tokens
from tests.oracle.faults import json_body
from tests.process.running import ROOT, Files, environment, finish, run, start

pytestmark = pytest.mark.process

USERS = 100
RESET = "/reset_prefix_cache"
CHAT = rule(tokens(ttft_ms=20, itl_ms=1, n=3), path="/v1/chat/completions")

REFUSALS = """
import json, sys
from types import SimpleNamespace
import locustfile
from loadband.errors import UsageError
from loadband.load.choice import check_settings
from loadband.load.scenario_options import settings_of

users = {name: getattr(locustfile, name) for name in locustfile.__all__ if name.endswith("User")}
said = []
for running, setting in json.load(sys.stdin):
    shares = dict.fromkeys(running, 1.0)
    try:
        check_settings(SimpleNamespace(available_user_classes=users), shares, settings_of([setting]))
        said.append(None)
    except UsageError as error:
        said.append(str(error))
json.dump(said, sys.stdout)
"""

SETTINGS = [
    (["interactive"], "interactive.max_tokens=9", None),
    (["interactive"], "interactive.kinds=zh", None),
    (["multi_turn"], "multi_turn.turns=3", None),
    (["long_context"], "long_context.prompt_tokens=9000", None),
    (["interactive"], "interactive.turns=3", "--set: turns means nothing to interactive, which takes "),
    (["long_context"], "long_context.kinds=zh", "--set: kinds means nothing to long_context, which takes "),
    (["multi_turn"], "multi_turn.prompt_tokens=9", "--set: prompt_tokens means nothing to multi_turn, which takes "),
    (["replay"], "replay.prompt_tokens=9", "--set: prompt_tokens means nothing to replay, which takes "),
    (["interactive"], "long_context.max_tokens=9", "--set: long_context does not run: leave it out, or name it in"),
    (["interactive"], "nobody.max_tokens=9", "--set: there is no scenario nobody: choose of interactive, "),
]


RUNS = {"new": (4, "run"), "four": (4, "fixed"), "two": (2, "fixed"), "one": (1, "fixed")}
"""Name of a run -> workers, nonce."""


def starts(url: str, path: Path, name: str) -> "subprocess.Popen[str]":
    """A run whose users ask once: the pause after the first answer is longer than any run. A header bears its name."""
    workers, nonce = RUNS[name]
    processes = ["--processes", str(workers)] if workers > 1 else []
    return start(
        ["--headless", "-H", url, "--steps", str(USERS), "-r", str(USERS), "--hold", "60s", "--settle", "0s",
         "--warmup", "0s", "--think-time", "900", "--drain", "0s", "--no-doctor", "--no-report", "--nonce", nonce,
         "--session-header", f"X-{name}", "--run-dir", str(path / name), *processes]
    )  # fmt: skip


def of_users(log: Log) -> list[Request]:
    """What no probe asked."""
    return [request for request in log.requests if any(f"x-{name}" in request.headers for name in RUNS)]


def test_a_hundred_users_ask_a_hundred_prompts_and_the_same_with_any_number_of_workers(
    oracle: Oracle, tmp_path: Path
) -> None:
    """All runs at once, told apart by their headers, which no probe sends."""
    oracle.script(CHAT)
    processes = [starts(oracle.url, tmp_path, name) for name in RUNS]
    oracle.wait_until(lambda log: log.ends["done"] >= len(RUNS) * USERS and len(of_users(log)) >= len(RUNS) * USERS, 60)
    for process in processes:
        os.killpg(process.pid, signal.SIGINT)
    for process in processes:
        ended = finish(process)
        assert "Traceback" not in ended.err, ended.err
    requests = of_users(oracle.log())
    bodies = {name: [json.dumps(r.body, sort_keys=True) for r in requests if f"x-{name}" in r.headers] for name in RUNS}
    assert {name: len(asked) for name, asked in bodies.items()} == dict.fromkeys(RUNS, USERS)
    texts = {name: set(asked) for name, asked in bodies.items()}
    assert {name: len(asked) for name, asked in texts.items()} == dict.fromkeys(RUNS, USERS), "no prompt twice"
    assert texts["four"] == texts["two"] == texts["one"]
    assert not texts["new"] & texts["four"], "the nonce of a run is its own"


def test_the_cache_is_emptied_before_the_first_level_and_between_passes(oracle: Oracle, tmp_path: Path) -> None:
    """The second time the server refuses: that is said, and the run goes on."""
    oracle.script(rule(json_body({}), path=RESET, times=1), CHAT)
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "2", "--hold", "1s", "--settle", "0s", "--warmup", "0s",
         "--repeats", "2", "--think-time", "0.1", "--reset-cache", "--no-doctor", "--no-report",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    files = Files(tmp_path / "run")
    paths = [request.path for request in oracle.log().requests]
    resets = [place for place, path in enumerate(paths) if path == RESET]
    counts = [sum(row["repeat"] == str(repeat) for row in files.rows(rundir.REQUESTS)) for repeat in (1, 2)]
    assert min(counts) > 0
    probes = files.run["probe"]["requests"]
    assert resets == [probes, probes + 1 + counts[0]]
    (finding,) = [each for each in files.run["findings"] if "prefix cache" in each]
    assert finding.startswith(f"before pass 2: {oracle.url} does not empty its prefix cache")
    assert finding.removeprefix("before pass 2: ") in ended.err


def test_a_server_that_empties_no_cache_is_refused_before_load(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(CHAT)
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "1", "--hold", "1s", "--reset-cache", "--no-doctor", "--no-report",
         "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 2, ended.err
    (said,) = [line for line in ended.err.splitlines() if "does not empty its prefix cache" in line]
    assert "/reset_prefix_cache: 404, /flush_cache: 404" in said and "leave out --reset-cache" in said
    assert "Traceback" not in ended.err
    assert not (tmp_path / "run").exists()


def test_a_setting_that_means_nothing_to_a_scenario_is_refused() -> None:
    """The classes that know what they take import Locust, which patches its process: so in one of their own."""
    told = json.dumps([(running, setting) for running, setting, _ in SETTINGS])
    done = subprocess.run(
        [sys.executable, "-c", REFUSALS], cwd=ROOT, env=environment(), input=told, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    for (_, setting, sentence), said in zip(SETTINGS, json.loads(done.stdout), strict=True):
        if sentence is None:
            assert said is None, setting
        else:
            assert said.startswith(sentence), setting
            assert "\n" not in said
