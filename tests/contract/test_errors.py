"""Exit codes, their order, and that an error is one line."""

import pickle

import pytest

from loadband.errors import (
    ExitCode,
    LoadbandError,
    UnansweredError,
    UnreachableError,
    UsageError,
    complain,
    exit_with,
)


def test_the_first_code_that_applies_stands_first() -> None:
    assert [int(code) for code in ExitCode] == [2, 4, 3, 1, 0]


CODES = [
    (UsageError, 2, "wrong use"),
    (UnreachableError, 4, "a target that does not answer"),
    (UnansweredError, 3, "data that allows no answer"),
]


@pytest.mark.parametrize(("kind", "code", "sentence"), CODES, ids=[row[2] for row in CODES])
def test_each_error_ends_the_process_with_its_code_and_one_line(
    kind: type[UsageError | UnreachableError | UnansweredError],
    code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        exit_with(kind("what is wrong:\n   do this"))
    assert ended.value.code == code, sentence
    written = capsys.readouterr()
    assert written.err == "loadband: what is wrong: do this\n"
    assert written.out == ""


def test_complaining_does_not_end_anything(capsys: pytest.CaptureFixture[str]) -> None:
    complain(UsageError("first\r\nsecond"))
    assert capsys.readouterr().err == "loadband: first second\n"


def test_errors_are_caught_by_their_base() -> None:
    with pytest.raises(LoadbandError) as told:
        raise UnansweredError("too few levels: hold longer")
    assert told.value.code is ExitCode.UNANSWERED


def test_an_error_crosses_a_process() -> None:
    again = pickle.loads(pickle.dumps(UsageError("write 1")))
    assert (str(again), again.code) == ("write 1", ExitCode.USAGE)
