"""New users of a level begin one after the other: with equal answers they would march in step ever after."""

from pathlib import Path

import pytest

from loadband import rundir
from tests.oracle import Oracle, tokens
from tests.process.probing import after_probe
from tests.process.running import Files, finish, start

pytestmark = pytest.mark.process

USERS, ANSWER_S, TOKENS = 32, 2.0, 21


def busiest_quarter(path: Path) -> float:
    """The largest share of a hold's requests that started in one quarter of the answers' rhythm, wherever it begins."""
    files = Files(path)
    last = files.steps[-1]
    begin, end = float(last["hold_from"]), float(last["hold_to"])
    starts = [float(row["started_at"]) for row in files.rows(rundir.REQUESTS)]
    phases = [start % ANSWER_S for start in starts if begin <= start < end]
    return max(sum((other - phase) % ANSWER_S < ANSWER_S / 4 for other in phases) for phase in phases) / len(phases)


def test_equal_answers_do_not_bunch_the_starts(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(*after_probe(tokens(ttft_ms=0, itl_ms=1000 * ANSWER_S / (TOKENS - 1), n=TOKENS)))
    ramps = {"spread": [], "at once": ["-r", "1000"]}
    runs = [
        start(
            ["--headless", "-H", oracle.url, "--steps", f"1,{USERS}", "--hold", "5s", "--settle", "1s", "--no-doctor",
             "--warmup", "0s", "--think-time", "0", "--no-report", "--run-dir", str(tmp_path / name), *ramp]
        )
        for name, ramp in ramps.items()
    ]  # fmt: skip
    for each in runs:
        ended = finish(each)
        assert ended.code == 0, ended.err
    shares = {name: busiest_quarter(tmp_path / name) for name in ramps}
    print(f"share of the starts in the busiest quarter of {ANSWER_S:g} s: {shares}")
    assert shares["at once"] > 0.8
    assert shares["spread"] < 0.45
