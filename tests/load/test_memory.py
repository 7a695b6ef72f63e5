"""Nothing is kept of an answer that was read: the short form of `benchmarks.stream_memory`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.process
def test_stream_after_stream_leaves_memory_flat() -> None:
    command = [sys.executable, "-m", "benchmarks.stream_memory", "--streams", "300", "--large", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("MB at the end") == 2
