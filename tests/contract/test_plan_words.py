"""The shorter words of a plan: repeats, drain, warm-up, labels."""

import pytest

from loadband.errors import UsageError
from loadband.plan import parse_drain, parse_label, parse_repeats, parse_warmup


@pytest.mark.parametrize(("text", "seconds"), [("auto", None), ("0s", 0.0), ("30", 30.0), ("2m", 120.0)])
def test_drain_and_warm_up_are_auto_or_a_time(text: str, seconds: float | None) -> None:
    assert parse_drain(text) == seconds
    assert parse_warmup(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "1d", "nan"])
def test_what_is_neither_is_refused_by_its_word(text: str) -> None:
    with pytest.raises(UsageError, match="drain"):
        parse_drain(text)
    with pytest.raises(UsageError, match="warmup"):
        parse_warmup(text)


def test_repeats_are_whole_and_few() -> None:
    assert [parse_repeats(text) for text in ("1", " 3 ", "999")] == [1, 3, 999]
    for text in ("0", "-1", "1.5", "1000", "three", "", "٣"):
        with pytest.raises(UsageError, match="repeats"):
            parse_repeats(text)


def test_labels_have_a_key_and_a_value() -> None:
    assert parse_label("gpu=a100") == ("gpu", "a100")
    assert parse_label(" max_num_seqs = 64 ") == ("max_num_seqs", "64")
    assert parse_label("flags=--a=b") == ("flags", "--a=b")
    for text in ("gpu", "=a100", "gpu=", "1gpu=x", "g pu=x", ""):
        with pytest.raises(UsageError, match="key=value"):
            parse_label(text)
