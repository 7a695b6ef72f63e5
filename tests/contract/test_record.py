"""The record: its columns, its classes, and that it crosses the wall of files unchanged."""

import csv
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.record import RECORD_COLUMNS, FailureClass, Record, Status, TokenSource, http_class
from loadband.rundir import REQUESTS, Appender, one_line

DESIGNED = (
    "id worker scenario kind step step_end repeat user conversation turn started_at status failure_class http_status "
    "message connect_s sent_s first_byte_s ttft_s ttfa_s tpot_s e2e_s felt_s itl_p50_s itl_p99_s itl_max_s events "
    "output_tokens prompt_tokens reasoning_tokens cached_tokens tool_calls token_source finish_reason schedule_lag_s "
    "think_s worker_in_flight prompt_tokens_asked max_tokens model_answered adapter backend attempts flags"
)
"""The columns that saved runs have; a change here makes old runs unreadable."""


def test_columns_keep_their_names_and_order_and_new_ones_stand_at_the_end() -> None:
    assert f"{' '.join(RECORD_COLUMNS)} ".startswith(f"{DESIGNED} ")


def test_a_record_needs_only_what_every_request_has() -> None:
    record = Record("w1-1", "w1", "interactive", None, None, None, None, None, None, None, 1.8e9, Status.LOST)
    assert all(value is None for value in record.values()[12:])


CLASSES = [
    (429, "throttled", "too many requests"),
    (503, "throttled", "overloaded"),
    (529, "throttled", "overloaded, by another name"),
    (500, "http_500", "a fault of the server"),
    (404, "http_404", "a model that is not there"),
]


@pytest.mark.parametrize(("code", "name", "sentence"), CLASSES, ids=[row[2] for row in CLASSES])
def test_the_class_of_an_http_status(code: int, name: str, sentence: str) -> None:
    assert http_class(code) == name, sentence


lines = st.text(max_size=40).map(one_line)
"""Text as a cell may hold it."""

words = st.none() | lines.filter(bool)
counts = st.none() | st.integers(0, 1 << 40)
seconds = st.none() | st.floats(-1e3, 1e6)


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    text = str(annotation)
    if "float" in text:
        return seconds
    return counts if "int" in text else words


always: dict[str, st.SearchStrategy[Any]] = {
    "id": lines.filter(bool),
    "worker": lines.filter(bool),
    "scenario": lines.filter(bool),
    "started_at": st.floats(1e9, 3e9),
    "status": st.sampled_from(Status),
    "failure_class": st.none() | st.sampled_from(FailureClass),
    "token_source": st.none() | st.sampled_from(TokenSource),
}
records = st.builds(
    Record, **{name: always.get(name, values_of(Record.__annotations__[name])) for name in RECORD_COLUMNS}
)


def read_back(cell: str, like: Any) -> Any:
    """A cell as the type it was written from; an empty cell is unknown."""
    if cell == "":
        return None
    return type(like)(cell) if isinstance(like, int | float) else cell


@given(records)
def test_a_record_survives_its_row(tmp_path_factory: pytest.TempPathFactory, record: Record) -> None:
    path = tmp_path_factory.getbasetemp() / REQUESTS
    path.unlink(missing_ok=True)
    file = Appender(path, RECORD_COLUMNS)
    file.append(record.values())
    file.close()
    assert path.read_bytes().count(b"\n") == 2, "a header and one line"
    with path.open(encoding="utf-8", newline="") as text:
        header, row = csv.reader(text)
    assert tuple(header) == RECORD_COLUMNS
    for name, written, cell in zip(RECORD_COLUMNS, record.values(), row, strict=True):
        read = read_back(cell, written)
        if isinstance(written, float):
            assert read == pytest.approx(written, rel=0, abs=5.1e-7), name
        else:
            assert read == written, name


@given(records)
def test_a_record_is_its_values(record: Record) -> None:
    assert Record.of(record.values()) == record
