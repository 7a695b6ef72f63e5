"""The exit code of a run that is over, where a signal ends its report: a second Ctrl-C, say."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ASK = """
import sys, types
from loadband.load.outcome import code_of
from pathlib import Path
run = types.SimpleNamespace(unwritable=False, path=Path(sys.argv[1]), how="plan", workers_gone=0)
sys.executable = sys.argv[2]
sys.exit(code_of(run, report=True, has_slo=False, terminated=False, tokenizer=None, say=print))
"""
"""In a process of its own: importing Locust patches the interpreter."""


def test_a_report_that_a_signal_ends_answers_nothing_and_is_named(tmp_path: Path) -> None:
    interrupted = tmp_path / "python"
    interrupted.write_text("#!/bin/sh\nkill -INT $$\n")
    interrupted.chmod(0o755)
    words = [sys.executable, "-c", ASK, str(tmp_path / "run"), str(interrupted)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 3, ended.stderr
    told = f"the report was broken off; make the report with: python -m reports {tmp_path / 'run'}"
    assert ended.stdout.splitlines() == [told]
