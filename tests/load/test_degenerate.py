"""Which answers no reader would take for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.degenerate import REPEATS, is_degenerate

ROWS: list[tuple[list[str], str | None, bool, bool, str]] = [
    (["The ", "river ", "runs."], "stop", True, False, "an answer"),
    ([], "stop", False, True, "nothing at all"),
    ([], "length", True, False, "cut while it thought"),
    (["a", "\ufffd", "b"], "length", True, True, "a character that is none"),
    (["a", "\ufffd"], "length", True, False, "its end was cut in the middle of a character"),
    (["a", "\ufffd"], "stop", True, True, "it ended so by itself"),
    ([" the"] * 50, "length", True, False, "fifty times the same token"),
    ([" the"] * 51, "length", True, True, "once more"),
    (["x", *[" the"] * 51, "y"], "length", True, True, "in the middle"),
    ([" a", " b"] * 60, "length", True, False, "two in turn"),
    ([" the" * 51], "length", True, True, "in one piece"),
    ([" ".join(f"w{n}" for n in range(80))], "stop", True, False, "a long answer in one piece"),
]


@pytest.mark.parametrize(("pieces", "reason", "said", "degenerate", "sentence"), ROWS, ids=[row[4] for row in ROWS])
def test_degenerate(*, pieces: list[str], reason: str | None, said: bool, degenerate: bool, sentence: str) -> None:
    assert is_degenerate(pieces, reason, said=said) is degenerate, sentence


@given(st.integers(0, 130), st.integers(45, 56), st.integers(0, 60))
def test_a_row_is_seen_wherever_it_stands(before: int, repeats: int, behind: int) -> None:
    pieces = [*(f"a{n}" for n in range(before)), *["x"] * repeats, *(f"b{n}" for n in range(behind))]
    assert is_degenerate(pieces, "stop", said=True) == (repeats > REPEATS)
