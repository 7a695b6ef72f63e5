"""A run that is killed in the middle of a level, and resumed: each level once, and the books balance."""

import json
import time
from pathlib import Path

import pytest

from loadband import rundir
from loadband.errors import UsageError
from loadband.load.resumption import past_of
from tests.process.running import WITHIN_S, Files, run, start
from tests.sim.profiles import small
from tests.sim.serving import serving

pytestmark = pytest.mark.process


def until_held(path: Path, step: str) -> None:
    """Wait until the hold of a step has begun."""
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        if (path / rundir.STEPS).is_file():
            rows = Files(path).rows(rundir.STEPS)
            if rows and rows[-1]["step"] == step and not rows[-1]["ended_by"]:
                return
        time.sleep(0.05)
    raise AssertionError(f"step {step} was never held")


def test_a_killed_run_is_resumed_without_repeating_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with serving(small(base_ms=20.0, max_num_seqs=16)) as server:
        words = [
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--steps", "1,2,4,6,8", "--hold", "1s", "--settle",
            "0s", "--warmup", "1s", "--think-time", "0", "--max-tokens", "10-80", "--prompt-tokens", "20-60",
            "--no-doctor", "--run-dir", str(path),
        ]  # fmt: skip
        first = start(words)
        until_held(path, "3")
        time.sleep(0.6)
        with pytest.raises(UsageError, match="another process is writing"):
            past_of(path)
        first.kill()
        first.communicate()
        before = Files(path).rows(rundir.REQUESTS)
        ended = run([*words, "--resume"])
    with pytest.raises(UsageError, match="has come to the end of its plan"):
        past_of(path)
    files = Files(path)
    rows = files.rows(rundir.REQUESTS)
    assert [(row["step"], row["target"], row["ended_by"]) for row in files.steps] == [
        ("1", "1", "hold"), ("2", "2", "hold"), ("3", "4", "hold"), ("4", "6", "hold"), ("5", "8", "hold"),
    ], ended.err  # fmt: skip
    assert rows[: len(before)] == before, "what was on disk stays"
    assert len({row["id"] for row in rows}) == len(rows)
    assert files.total("started") == len(rows) == sum(files.statuses.values())
    assert files.total("ok") == files.statuses["ok"]
    assert all(level["seconds"] for level in files.run["held"]), "also of a level whose users were there before it"
    (part,) = files.run["resumed"]
    assert (files.run["how"], part["was"], part["lost"]) == ("plan", None, files.statuses["lost"])
    assert part["levels"] in (1, 2), "a level whose last requests were in flight is not whole"
    assert sum(row["step"] in "12" and row["hold_to"] != "" for row in files.rows(rundir.STEPS)) == 4 - part["levels"]
    verdict = json.loads((path / "report" / "verdict.json").read_text())
    assert [level["users"] for level in verdict["levels"]] == [1, 2, 4, 6, 8]
    assert "resumed at " in ended.out


def test_without_a_directory_or_with_the_page_nothing_is_resumed() -> None:
    for words, sentence in (
        (["--headless"], "name its directory with --run-dir"),
        (["--run-dir", "x"], "add --headless"),
    ):
        ended = run(["-H", "http://127.0.0.1:9", "--steps", "1", "--resume", *words])
        assert (ended.code, sentence in ended.err, "Traceback" in ended.err) == (2, True, False), ended.err
