"""Plans with a purpose of their own, by real processes: `--baseline`, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.process.running import Files, run
from tests.sim.profiles import small
from tests.sim.serving import serving

pytestmark = pytest.mark.process

SHORT = (
    "--settle", "0s", "--no-doctor", "--warmup", "0s", "--think-time", "0", "--max-tokens", "10-30",
    "--prompt-tokens", "20-60",
)  # fmt: skip


def test_a_baseline_holds_one_level_again_and_says_within_what_the_next_lies(tmp_path: Path) -> None:
    with serving(small(base_ms=5.0)) as server:
        ended = run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "-u", "4", "--hold", "4s", *SHORT,
            "--baseline", "2", "--label", "gpu=none", "--run-dir", str(tmp_path / "run"),
        ])  # fmt: skip
    files = Files(tmp_path / "run")
    assert [(row["repeat"], row["target"], row["ended_by"]) for row in files.steps] == [
        ("1", "4", "hold"), ("2", "4", "hold"),
    ]  # fmt: skip
    assert set(files.statuses) == {"ok"}, "drained in between: nothing is cut"
    assert (files.run["plan"]["baseline"], files.run["plan"]["repeats"]) == (True, 2)
    told = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())["baseline"]
    assert (told["users"], told["asked"]) == (4, 2)
    if told["holds"] == 2:  # a busy machine may spoil one
        assert round(told["factor"], 1) == 15.6
        assert "Baseline of 2 holds at 4 users" in ended.out, ended.out
    assert ended.code == (0 if told["stands"] else 3)


REFUSED: list[tuple[list[str], str]] = [
    (["--baseline", "1"], "from 2 to 99"),
    (["--baseline", "3", "--steps", "1,2"], "holds one level, 2 are given"),
    (["--baseline", "3", "--refine", "--repeats", "2"], "leave out --refine, --repeats"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_what_contradicts_itself_is_refused(words: list[str], sentence: str) -> None:
    ended = run(["--headless", "-H", "http://127.0.0.1:9", *words])
    assert (ended.code, "Traceback" in ended.err) == (2, False), ended.err
    assert sentence in ended.err
