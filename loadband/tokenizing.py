"""A named tokenizer at work in a process of its own, `python -m loadband.tokenizer`.

Knows: that process. Must not know: what is counted, what for.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from loadband.errors import UsageError

CHECKOUT = Path(__file__).resolve().parents[1]


class Tokenizing:
    """The process, for as long as a `with` lasts."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> "Tokenizing":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loadband.tokenizer", self._name], cwd=CHECKOUT, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The token numbers of each text. Raises UsageError when the tokenizer cannot be used."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(texts) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            told = self._process.communicate()[1].strip().rpartition("\n")[2]
            raise UsageError(f"--tokenizer {self._name} cannot be used: {told or 'it ended without a word'}")
        ids: list[list[int]] = json.loads(line)
        return ids
