"""New users of a level begin one after the other: with equal answers they would march in step ever after."""

from collections import Counter
from pathlib import Path

import pytest

from loadband import rundir
from tests.oracle import Oracle, tokens
from tests.process.running import Files, run

pytestmark = pytest.mark.process

USERS, ANSWER_S = 32, 4.0


def busiest_second(path: Path) -> float:
    """The largest share of a hold's requests that started in one second of the answers' rhythm."""
    files = Files(path)
    last = files.steps[-1]
    begin, end = float(last["hold_from"]), float(last["hold_to"])
    starts = [float(row["started_at"]) for row in files.rows(rundir.REQUESTS)]
    phases = Counter(int((start - begin) % ANSWER_S) for start in starts if begin <= start < end)
    return max(phases.values()) / phases.total()


def test_equal_answers_do_not_bunch_the_starts(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=0, itl_ms=1000 * ANSWER_S / 40, n=41))
    shares = {}
    for name, ramp in (("spread", []), ("at once", ["-r", "1000"])):
        ended = run(
            ["--headless", "-H", oracle.url, "--steps", f"1,{USERS}", "--hold", "9s", "--settle", "1s",
             "--warmup", "0s", "--think-time", "0", "--no-report", "--run-dir", str(tmp_path / name), *ramp]
        )  # fmt: skip
        assert ended.code == 0, ended.err
        shares[name] = busiest_second(tmp_path / name)
    print(f"share of the starts in the busiest second of {ANSWER_S:g}: {shares}")
    assert shares["at once"] > 0.8
    assert shares["spread"] < 0.45
