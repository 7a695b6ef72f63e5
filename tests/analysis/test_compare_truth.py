"""Pairs of virtual runs: equal ones are called equal, unequal ones by their true factor."""

from pathlib import Path

import pytest

from benchmarks.compare_truth import score


@pytest.mark.long
def test_twelve_pairs(tmp_path: Path) -> None:
    told = score(12, tmp_path)
    assert told["throughput"] >= 11 / 12
    assert told["operating point"] >= 11 / 12
    assert told["factor covered"] >= 11 / 12
    assert told["told at 16 and 32"] == 1
