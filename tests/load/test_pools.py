"""The pools as they are read: line by line, in one line of an error when damaged, hashed."""

import json
import re
from pathlib import Path

import pytest

from loadband.errors import UsageError
from loadband.load import pools
from loadband.load.pools import KINDS, pool, pools_hash


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [(None, "missing"), ("", "empty"), ("{", "no JSON"), ('{"words":"x"}', "no text in it"), ("[1]", "no object")],
)
def test_a_pool_that_cannot_be_read_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: str | None, sentence: str
) -> None:
    if lines is not None:
        (tmp_path / KINDS["chat"]).write_text(lines)
    monkeypatch.setattr(pools, "POOLS", tmp_path)
    with pytest.raises(UsageError, match="run from a whole checkout"):
        pool.__wrapped__("chat")


def test_a_pools_pieces_are_its_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pieces = ("one\u2028piece", "two 中")
    (tmp_path / KINDS["zh"]).write_text("\n".join(json.dumps({"text": piece}, ensure_ascii=False) for piece in pieces))
    monkeypatch.setattr(pools, "POOLS", tmp_path)
    assert pool.__wrapped__("zh") == pieces


def test_the_pools_have_a_hash() -> None:
    assert re.fullmatch("[0-9a-f]{12}", pools_hash())
