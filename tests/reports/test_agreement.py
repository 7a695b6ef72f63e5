"""A real run: its records and Locust's own CSV files tell the same."""

from pathlib import Path

import pytest

from loadband.analysis.analyse import analyse_locust, analyse_run
from reports.__main__ import main
from tests.analysis.make_levels import LIMITS
from tests.oracle import Oracle, tokens
from tests.process.running import run

pytestmark = pytest.mark.process

EDGE_S = 0.003
"""One slow answer at the edge of a hold, that the one way counts and the other not."""


def test_our_records_and_locusts_files_agree_within_five_percent(
    oracle: Oracle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle.script(tokens(ttft_ms=40, itl_ms=4), slots=8)
    ended = run(
        ["--headless", "-H", oracle.url, "--steps", "4,8,16", "--hold", "12s", "--settle", "1s", "--think-time", "0",
         "--max-tokens", "32-64", "--no-report", "--run-dir", str(tmp_path / "run")]
    )  # fmt: skip
    assert ended.code == 0, ended.err
    ours = analyse_run(tmp_path / "run", None, LIMITS).verdict.levels
    theirs = analyse_locust(tmp_path / "run" / "locust", None, None, LIMITS).verdict.levels
    assert [level.users for level in theirs] == [level.users for level in ours] == [4, 8, 16]
    for our, their in zip(ours, theirs, strict=True):
        for name in ("req_s", "e2e_mean_s", "ttft_mean_s", "tpot_mean_s"):
            assert their.numbers.get(name) == pytest.approx(our.numbers.get(name), rel=0.05, abs=EDGE_S), (
                name,
                our.users,
            )
    assert main([str(tmp_path / "run" / "locust")]) in (0, 3)
    assert "successful requests/s" in capsys.readouterr().out
