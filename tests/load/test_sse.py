"""Server-sent events: whatever the cuts, the same events; and each rule of the format."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.sse import Event, EventParser


def parse(*reads: bytes) -> list[Event]:
    """The events of these reads, the n-th read stamped n."""
    parser, events = EventParser(), []
    for stamp, data in enumerate(reads):
        events += parser.feed(float(stamp), data)
    return events + parser.finish()


def said(*reads: bytes) -> list[tuple[bytes, bytes]]:
    return [(event.name, event.data) for event in parse(*reads)]


ROWS: list[tuple[bytes, list[tuple[bytes, bytes]], str]] = [
    (b"data: a\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")], "a blank line ends an event"),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"", b"a"), (b"", b"b")], "lines may end with CR and LF"),
    (b"data: a\r\rdata: b\r\r", [(b"", b"a"), (b"", b"b")], "lines may end with CR alone"),
    (b"data: a\r\n\ndata: b\n\r\n", [(b"", b"a"), (b"", b"b")], "line ends may be mixed"),
    (b"data:{}\n\n", [(b"", b"{}")], "no space is needed after the colon"),
    (b"data:  two\n\n", [(b"", b" two")], "one space goes, a second one is text"),
    (b"data:a\ndata: b\n\n", [(b"", b"a\nb")], "several data lines are joined"),
    (b"data\n\n", [(b"", b"")], "data without a colon is an empty line of data"),
    (b"data: a\ndata\n\n", [(b"", b"a\n")], "data without a colon joins like any other"),
    (b": ping\n\n:\n\ndata: a\n\n", [(b"", b"a")], "comments are no events"),
    (b"data: a\n: ping\ndata: b\n\n", [(b"", b"a\nb")], "a comment inside an event is skipped"),
    (b"event: error\ndata: a\n\ndata: b\n\n", [(b"error", b"a"), (b"", b"b")], "a name holds for one event"),
    (b"event:error\ndata:a\n\n", [(b"error", b"a")], "a name needs no space either"),
    (b"event: ping\n\ndata: a\n\n", [(b"", b"a")], "a name without data is no event, and is forgotten"),
    (b"id: 7\nretry: 100\nfoo: x\ndata: a\n\n", [(b"", b"a")], "other fields are skipped"),
    (b"database: x\ndata: a\n\n", [(b"", b"a")], "a longer field name is another field"),
    (b"\n\n\ndata: a\n\n\n\n", [(b"", b"a")], "blank lines alone are no events"),
    (b"data: a", [(b"", b"a")], "the end of the stream ends the last event"),
    (b"data: a\n\ndata: b\n", [(b"", b"a"), (b"", b"b")], "a last event needs no blank line"),
    (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")], "a byte order mark is no part of the first field"),
    (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [(b"", b"a")], "later on it is, and such a field means nothing"),
    ("data: \u2028\u2029\x85\v\f\n\n".encode(), [(b"", "\u2028\u2029\x85\v\f".encode())], "only CR and LF end lines"),
    (b"", [], "nothing"),
    (b":", [], "half a comment"),
]


@pytest.mark.parametrize(("stream", "events", "sentence"), ROWS, ids=[row[2] for row in ROWS])
def test_a_rule(stream: bytes, events: list[tuple[bytes, bytes]], sentence: str) -> None:
    assert said(stream) == events, sentence
    assert said(*(stream[i : i + 1] for i in range(len(stream)))) == events, "byte by byte"


line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
words = st.text("aé中😀\u2028\x85 :{}", max_size=8).map(lambda word: word.encode())
lines = st.one_of(
    st.builds(lambda space, word: b"data:" + space + word, st.sampled_from([b"", b" "]), words),
    st.just(b"data"),
    words.map(lambda word: b":" + word),
    words.map(lambda word: b"event: " + word),
    st.sampled_from([b"id: 3", b"retry: 10", b"event", b"", b""]),
)
streams = st.builds(
    lambda mark, parts, last: mark + b"".join(line + end for line, end in parts) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(lines, line_ends), max_size=14),
    st.sampled_from([b"", b"data: last", b": half", b"dat"]),
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(streams, st.lists(st.integers(0, 400), max_size=12))
def test_any_split_of_the_bytes_gives_the_same_events(stream: bytes, places: list[int]) -> None:
    assert said(*cut(stream, places)) == said(stream)


def test_the_generated_streams_hold_events() -> None:
    """The property above would also hold of a parser that finds nothing."""
    assert said("data: é中😀\r\rdata:x\n\n".encode()) == [(b"", "é中😀".encode()), (b"", b"x")]


@given(st.lists(words.filter(lambda word: not word.startswith(b" ")), min_size=1, max_size=5), line_ends, line_ends)
def test_what_was_written_is_read(data: list[bytes], end: bytes, blank: bytes) -> None:
    written = b"".join(b"data: " + line + end for line in data)
    blank = end if b"\r" in (end, blank) else blank  # a CR before an LF is one line end, not two
    assert said(written + blank) == [(b"", b"\n".join(data))]


def test_an_event_is_stamped_by_the_read_that_completed_it() -> None:
    events = parse(b"da", b"ta: a\n", b"\nda", b"ta: b\n\ndata: c\n\ndata: d", b"", b"\n: x\n")
    assert [(event.stamp, event.data) for event in events] == [(2.0, b"a"), (3.0, b"b"), (3.0, b"c"), (5.0, b"d")]


def test_a_carriage_return_at_the_end_of_a_read_ends_the_line_at_once() -> None:
    parser = EventParser()
    assert [event.data for event in parser.feed(1.0, b"data: a\r\n\r")] == [b"a"], "its LF may never come"
    assert parser.feed(2.0, b"\ndata: b\n\n") == [Event(2.0, b"", b"b")], "and is no blank line when it does"


def test_comments_are_counted_as_signs_of_life() -> None:
    parser = EventParser()
    parser.feed(0.0, b": one\n:\n\ndata: a\n\n: half")
    assert parser.comments == 2


def test_a_huge_event_costs_time_in_proportion_to_its_size() -> None:
    size, read = 5_000_000, 1024
    stream = b"data: " + b"x" * size + b"\n\n"
    began = time.process_time()
    (event,) = parse(*(stream[i : i + read] for i in range(0, len(stream), read)))
    assert len(event.data) == size
    assert time.process_time() - began < 1.0, "joining at each read would copy twelve gigabytes"
