"""Plans whose levels are chosen on the way, by real processes: `--refine` and `--find`, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.process.running import Ended, Files, run
from tests.sim.profiles import small
from tests.sim.serving import serving

pytestmark = pytest.mark.process

PLACES = 4


def ask(path: Path, *words: str) -> Ended:
    """A short run on a server of four places, with a queue behind them."""
    with serving(small(base_ms=5.0, max_num_seqs=PLACES)) as server:
        return run([
            "--headless", "-H", f"http://127.0.0.1:{server.port}", "--hold", "3s", "--settle", "0s", "--no-doctor",
            "--warmup", "0s", "--think-time", "0", "--max-tokens", "10-30", "--prompt-tokens", "20-60",
            "--run-dir", str(path), *words,
        ])  # fmt: skip


def test_refining_adds_levels_around_the_optimum_to_the_same_run(tmp_path: Path) -> None:
    ended = ask(tmp_path / "run", "--steps", "1,4,16", "--refine", "--processes", "2")
    files = Files(tmp_path / "run")
    assert "the coarse pass is best near 4 users; now " in ended.err, ended.err
    coarse, fine = ([row for row in files.steps if (row["repeat"] == "1") == first] for first in (True, False))
    assert [row["target"] for row in coarse] == ["1", "4", "16"]
    levels = [int(row["target"]) for row in fine]
    assert levels == sorted({*levels, 4})
    assert all(1 < level < 16 for level in levels)
    assert {row["ended_by"] for row in files.steps} == {"hold"}
    assert set(files.statuses) == {"ok"}, "drained in between: nothing is cut"
    assert files.total("started") == len(files.rows("requests.csv"))
    assert (files.run["plan"]["refine"], files.run["plan"]["grows"], files.run["how"]) == (True, False, "plan")
    verdict = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())
    assert sorted(level["users"] for level in verdict["levels"]) == sorted([1, 4, 16, *levels])


def test_a_search_tells_its_end_to_the_console_run_json_and_verdict(tmp_path: Path) -> None:
    ended = ask(tmp_path / "run", "--find", "ttft_p95<=60ms")
    search = Files(tmp_path / "run").run["search"]
    assert search["complete"], ended.err
    assert PLACES - 1 <= search["n_slo"] < search["broken_at"] <= 3 * PLACES, "who queues waits 50 to 150 ms"
    assert f"N_SLO {search['n_slo']} users: kept there, broken at {search['broken_at']}" in ended.err
    assert f"search: N_SLO {search['n_slo']} users" in ended.out
    verdict = json.loads((tmp_path / "run" / "report" / "verdict.json").read_text())
    assert verdict["search"] == search
    assert verdict["slo"][0]["name"] == "ttft_p95<=60ms"


REFUSED: list[tuple[list[str], str]] = [
    (["--find", "ttft_p95<=1s@8"], "leave out @8"),
    (["--find", "itl_p95<=1s"], "limit tpot"),
    (["--find", "output_tok_s>=9"], "more users do not break"),
    (["--find", "ttft_p95<=1s", "--steps", "1,2"], "leave out --steps"),
    (["--find", "ttft_p95<=1s", "--slo", "ttft_p95<=1s", "--repeats", "2"], "leave out --slo, --repeats"),
    (["--find", "ttft_p95<=1s", "--rates", "1,2"], "leave out --rates"),
    (["--refine", "-t", "9s"], "leave out -t"),
    (["--refine", "--steps", "1,2", "-u", "4"], "leave out -u"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_what_contradicts_itself_is_refused(words: list[str], sentence: str) -> None:
    ended = run(["--headless", "-H", "http://127.0.0.1:9", *words])
    assert (ended.code, "Traceback" in ended.err) == (2, False), ended.err
    assert sentence in ended.err
