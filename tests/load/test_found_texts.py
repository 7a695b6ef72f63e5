"""Texts found in C are those found in Python, and what a parser would find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.found_texts import Found, NativeTexts, Shape, Texts
from loadband.load.reads import Reads, reads_of
from loadband.load.whole_reads import chunk
from tests.load.native_library import needed

BEFORE, AFTER = b'data: {"content":"', b'"}\n\n'
CHUNKED, BARE = Shape(BEFORE, AFTER, chunked=True), Shape(BEFORE, AFTER, chunked=False)


def event(text: bytes) -> bytes:
    return BEFORE + text + AFTER


def reads(*pieces: bytes) -> Reads:
    return reads_of([float(at) for at in range(len(pieces))], pieces)


def found(shape: Shape, given: Reads, at: int = 0) -> Found:
    """By both, which must be alike."""
    begin = sum(given.sizes[:at])
    one, other = Texts(shape).find(given, at, begin), NativeTexts(shape, needed()).find(given, at, begin)
    assert (one.lines, list(one.counts)) == (other.lines, list(other.counts))
    return other


ROWS = [
    ([chunk(event(b"one")), chunk(event(b"two"))], b"one\ntwo\n", [1, 1], "an event a read"),
    ([chunk(event(b"one")) + chunk(event(b"two")), chunk(event(b"three"))], b"one\ntwo\nthree\n", [2, 1], "two in one"),
    ([chunk(event(b"one")), chunk(event(b""))], b"one\n", [1], "no text"),
    ([chunk(event(b"one")), chunk(event(b"two"))[:-1]], b"one\n", [1], "a chunk cut short"),
    ([chunk(event(b"one")) + b"5"], b"", [], "something behind it"),
    ([chunk(event(b"one")), b"0\r\n\r\n"], b"one\n", [1], "the last chunk"),
    ([b"fffffff\r\n" + event(b"one")], b"", [], "a size beyond the read"),
    ([b"ffffffffffffffffff\r\n" + event(b"one")], b"", [], "a size beyond everything"),
    ([b"-5\r\n" + event(b"one")], b"", [], "no size"),
    ([b"\r\n" + event(b"one")], b"", [], "an empty size"),
    ([chunk(event(b"one") + event(b"two"))], b"", [], "two events in one chunk"),
    ([chunk(event(b"one").upper())], b"", [], "another shape"),
    ([chunk(event("河\\n".encode()))], "河\\n\n".encode(), [1], "as it stands there"),
]


@pytest.mark.parametrize(("pieces", "lines", "counts", "sentence"), ROWS, ids=[row[3] for row in ROWS])
def test_texts_in_chunks(pieces: list[bytes], lines: bytes, counts: list[int], sentence: str) -> None:
    told = found(CHUNKED, reads(*pieces))
    assert (told.lines, list(told.counts)) == (lines, counts), sentence


def test_texts_as_they_are() -> None:
    told = found(BARE, reads(event(b"one"), event(b"two"), chunk(event(b"three"))))
    assert (told.lines, list(told.counts)) == (b"one\ntwo\n", [1, 1])


def test_from_any_read_on() -> None:
    given = reads(b"head", chunk(event(b"one")), chunk(event(b"two")))
    assert found(CHUNKED, given, at=1).lines == b"one\ntwo\n"
    assert found(CHUNKED, given, at=2).lines == b"two\n"
    assert found(CHUNKED, given, at=3).lines == b""


pieces = st.one_of(
    st.binary(max_size=12).map(lambda text: chunk(event(text))),
    st.binary(max_size=12).map(lambda text: chunk(event(text)) * 2),
    st.binary(max_size=40),
    st.sampled_from([b"5\r\n", b"0\r\n\r\n", event(b"x"), BEFORE, AFTER, b"0" * 12 + b"\r\n"]),
)


@given(st.lists(st.tuples(pieces, st.integers(0, 60), st.binary(max_size=1)), max_size=8), st.booleans())
def test_both_find_the_same_in_whatever_comes(spoilt: list[tuple[bytes, int, bytes]], chunked: bool) -> None:
    whole = [piece[:at] + new + piece[at + len(new) :] if len(new) else piece for piece, at, new in spoilt]
    found(CHUNKED if chunked else BARE, reads(*(piece for piece in whole if piece)))
