"""Plans with a purpose of their own, by real processes: `--baseline`, `--spike`, `--recover`, and what they refuse."""

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


def test_after_a_spike_the_load_falls_without_a_drain_and_the_report_tells_of_both(tmp_path: Path) -> None:
    with serving(small(base_ms=5.0, max_num_seqs=2)) as server:
        ended = run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--hold", "5s", *SHORT, "--spike", "2:8:4s",
            "--run-dir", str(tmp_path / "run"),
        ])  # fmt: skip
    files = Files(tmp_path / "run")
    assert [(row["repeat"], row["target"], row["ended_by"]) for row in files.steps] == [
        ("1", "2", "hold"), ("1", "8", "hold"), ("1", "2", "hold"),
    ]  # fmt: skip
    assert files.run["recovery"]["step"] == 3
    assert files.run["recovery"]["zombies_most"] in (0, None), "the simulator frees what is hung up at once"
    assert 0 < files.statuses["cut"] <= 6, "who leaves hangs up"
    assert files.total("started") == len(files.rows("requests.csv"))
    verdict = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())
    assert [level["users"] for level in verdict["levels"]] == [2, 8]
    assert (verdict["recovery"]["fell_from"], verdict["recovery"]["fell_to"]) == (8, 2)
    assert "Spike from 2 to 8 users for 4 s: inside " in ended.out
    assert "Recovery, from 8 to 2 users: " in ended.out


def test_a_server_that_dies_for_good_is_said_to_be_dead_in_bounded_time(tmp_path: Path) -> None:
    """What its prompts cost is counted before, with eight requests at once, and must not kill it."""
    with serving(small(base_ms=5.0, max_num_seqs=16, blocks=300, reserve_blocks=20, when_full="die")) as server:
        ended = run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--hold", "6s", "--max-hold", "7s", *SHORT,
            "--steps", "2,16", "--recover", "--run-dir", str(tmp_path / "run"),
        ])  # fmt: skip
    files = Files(tmp_path / "run")
    assert [row["target"] for row in files.steps] == ["2", "16", "2"]
    assert files.steps[-1]["ended_by"] == "target_lost"
    assert "the target did not come back: the run ends here" in ended.err
    verdict = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())
    assert verdict["recovery"]["status"] == "none"
    assert "the server did not come back" in ended.out


REFUSED: list[tuple[list[str], str]] = [
    (["--baseline", "1"], "from 2 to 99"),
    (["--baseline", "3", "--steps", "1,2"], "holds one level, 2 are given"),
    (["--spike", "8:4:9s"], "does not rise"),
    (["--spike", "4:8:9s", "--steps", "1,2", "--recover"], "leave out --steps, --recover"),
    (["--recover", "--steps", "6,8"], "give a level of at most 4 too"),
    (["--recover", "-u", "8"], "--recover follows a climb"),
    (["--baseline", "3", "--refine", "--repeats", "2"], "leave out --refine, --repeats"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_what_contradicts_itself_is_refused(words: list[str], sentence: str) -> None:
    ended = run(["--headless", "-H", "http://127.0.0.1:9", *words])
    assert (ended.code, "Traceback" in ended.err) == (2, False), ended.err
    assert sentence in ended.err
