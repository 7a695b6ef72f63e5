from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.analyse import Analysis, analyse_run
from reports.__main__ import main
from reports.serving_block import serving_block
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS, level, verdict_of

LEVEL = level(
    8, 100.0, n=1000, failed=20, req_s=20.0, prompt_tok_s=50.0, total_tok_s=150.0, itl_mean_s=0.0101, itl_p50_s=0.01,
    itl_p99_s=0.05, ttft_mean_s=0.25, ttft_p50_s=0.2, ttft_p99_s=1.5, tpot_mean_s=0.011, tpot_p50_s=0.01,
    tpot_p99_s=0.02,
)  # fmt: skip
BLOCK = """\
============ Serving Benchmark Result ============
Successful requests:                     980
Failed requests:                         20
Benchmark duration (s):                  60.00
Total input tokens:                      3000
Total generated tokens:                  6000
Request throughput (req/s):              19.60
Output token throughput (tok/s):         100.00
Total token throughput (tok/s):          150.00
---------------Time to First Token----------------
Mean TTFT (ms):                          250.00
Median TTFT (ms):                        200.00
P99 TTFT (ms):                           1500.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          11.00
Median TPOT (ms):                        10.00
P99 TPOT (ms):                           20.00
---------------Inter-token Latency----------------
Mean ITL (ms):                           10.10
Median ITL (ms):                         10.00
P99 ITL (ms):                            50.00
=================================================="""


def test_the_block_is_that_of_vllm() -> None:
    assert serving_block(Analysis("m", verdict_of([LEVEL])), LEVEL) == BLOCK


@pytest.mark.parametrize(("name", "short"), [("Inter-chunk", "ICL"), ("Inter-read", "IRL")])
def test_gaps_are_called_what_they_are(name: str, short: str) -> None:
    said = serving_block(Analysis("m", verdict_of([LEVEL]), gap_name=name), LEVEL)
    assert f"{name} Latency".center(50, "-") in said
    assert f"Mean {short} (ms):" in said
    assert "ITL" not in said


def test_what_is_not_known_is_left_out() -> None:
    said = serving_block(Analysis("m", verdict_of([LEVEL])), level(8, 100.0, n=10))
    assert "Successful requests:                     10" in said
    assert "TTFT" not in said
    assert "input" not in said


def test_the_block_of_the_operating_point_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(tmp_path / "run", Build(levels=(2, 4, 8, 16, 32), hold_s=30.0))
    main([str(built.path)])
    said = capsys.readouterr().out
    text = (built.path / "report" / "report.md").read_text()
    shown = next(each for each in analyse_run(built.path, None, LIMITS).verdict.levels if each.users == 16)
    row = f"Successful requests:                     {shown.numbers.ok:.0f}"
    assert "At 16 users:" in said and row in said
    assert "## At 16 users\n\n```text\n=====" in text and row in text


@pytest.mark.parametrize(
    ("change", "name", "says"),
    [
        ({"events": 10}, "Inter-chunk", "an event brings"),
        ({"flags": "bursty"}, "Inter-read", "several events"),
        ({}, "Inter-token", ""),
    ],
)
def test_what_the_gaps_of_a_run_are(tmp_path: Path, change: dict[str, object], name: str, says: str) -> None:
    built = build_run(
        tmp_path / "run",
        Build(levels=(4,), hold_s=30.0),
        change=lambda record: replace(record, **change),
    )
    analysis = analyse_run(built.path, None, LIMITS)
    assert analysis.gap_name == name
    assert any(says in note for note in analysis.notes) is bool(says)
