"""The verdict that the READMEs show is what the two commands above it print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^```\n(python -m benchmarks\.virtual_run .*)\n(.*)\n```\n\n```\n([^`]*)```", re.M)


@pytest.mark.process
def test_the_example_is_what_the_program_prints(tmp_path: Path) -> None:
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "README.zh-CN.md")]
    found = [match for page in pages if (match := EXAMPLE.search(page))]
    assert [match.groups() for match in found] == [found[0].groups()] * 2
    *commands, block = found[0].groups()
    for command in commands:
        arguments = shlex.split(command.replace("runs/example", str(tmp_path / "run")))[1:]
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    table, words = block.split("\n\n")
    assert " ".join(words.split()) in printed
    missing = [row for row in table.splitlines() if " ".join(row.split()) not in printed]
    assert missing == []
