"""Reads that no parser sees say what the parsers would have said, and every other read is parsed."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.answer import Answer
from loadband.load.dialects import dialect_of
from loadband.load.dialects.openai_chat import OpenAIChat
from loadband.load.reads import reads_of
from loadband.load.token_clock import TokenClock
from loadband.record import FailureClass
from tests.load.streams import CHUNKED, DONE, HEAD, LAST_CHUNK, ROLE, Fed, chunk, delta, event, finish, text, usage

WORDS = ["The", " river", " 河", " runs", " é", ".", " and", " on", " and", " on", " to", " the", " sea"]


CALL = {"function": {"name": "look_up", "arguments": "{}"}}


class Counting(Answer):
    """Counts the reads that were parsed."""

    parsed = 0

    def feed(self, stamp: float, data: bytes) -> None:
        self.parsed += 1
        super().feed(stamp, data)


def counted(reads: Sequence[bytes]) -> Counting:
    answer = Counting(OpenAIChat(), TokenClock(0.0))
    answer.feed_all(reads_of([0.1 * (at + 1) for at in range(len(reads))], reads))
    answer.finish()
    return answer


def as_it_is(piece: bytes) -> bytes:
    return piece


ENDED = [finish(), usage(7, len(WORDS)), DONE]


@pytest.mark.parametrize("framed", [chunk, as_it_is], ids=["chunked", "ended by the close"])
def test_tokens_in_reads_of_their_own_are_not_parsed(framed: Callable[[bytes], bytes]) -> None:
    head, end = (CHUNKED, LAST_CHUNK) if framed is chunk else (HEAD + b"\r\n", b"")
    reads = [head + framed(ROLE), *(framed(text(word)) for word in WORDS), b"".join(map(framed, ENDED)) + end]
    answer = counted(reads)
    assert answer.failure() is None
    assert answer.text == WORDS
    assert answer.size == sum(map(len, reads))
    assert answer.parsed == 3, "the head, a first token that is learned from, and the end"


def test_an_odd_read_is_parsed_and_no_further_one() -> None:
    tokens = [chunk(text(word)) for word in WORDS]
    glued = [*tokens[:4], tokens[4] + tokens[5], *tokens[6:8], tokens[8][:30], tokens[8][30:], *tokens[9:]]
    answer = counted([CHUNKED + chunk(ROLE), *glued, b"".join(map(chunk, ENDED)) + LAST_CHUNK])
    assert answer.failure() is None
    assert answer.text == WORDS
    assert answer.parsed == 3 + len(["a half", "the other half", "the first whole one after it"])


def test_several_tokens_in_one_read_came_at_one_moment_and_are_not_parsed() -> None:
    tokens = [chunk(text(word)) for word in WORDS]
    glued = [b"".join(tokens[at : at + 3]) for at in range(1, len(WORDS), 3)]
    reads = [CHUNKED + chunk(ROLE), tokens[0], *glued, b"".join(map(chunk, ENDED)) + LAST_CHUNK]
    answer = counted(reads)
    assert answer.failure() is None
    assert answer.text == WORDS
    assert answer.size == sum(map(len, reads))
    assert answer.parsed == 3
    Fed().feed(list(enumerate(reads)))


@pytest.mark.parametrize("rest", [b"", b"9", b"94", b"94\r", b"zz\r\n", b"fffffff\r\n", b"-5\r\nabc", b"0\r\n\r\n"])
def test_a_read_with_something_behind_its_token_is_parsed(rest: bytes) -> None:
    tokens = [chunk(text(word)) for word in WORDS]
    reads = [CHUNKED + chunk(ROLE), *tokens[:3], tokens[3] + rest]
    answer = counted(reads)
    assert answer.text == WORDS[:4]
    assert answer.parsed == 2 + bool(rest)
    Fed().feed(list(enumerate(reads)))


def test_the_model_is_the_one_that_the_last_event_names() -> None:
    """Also where a fallback answered in between, and its events taught nothing."""
    other = event({"model": "fallback", "choices": [{"delta": {"content": "", "tool_calls": [CALL]}}]})
    tokens = [chunk(text(word)) for word in WORDS]
    answer = Fed().feed(list(enumerate([CHUNKED, *tokens[:4], chunk(other), *tokens[4:], chunk(DONE) + LAST_CHUNK])))
    assert answer.answer.model == "m"


def test_a_length_is_counted_by_the_parser() -> None:
    body = [*(text(word) for word in WORDS), *ENDED]
    head = HEAD + b"Content-Length: %d\r\n\r\n" % sum(map(len, body))
    answer = counted([head, *body])
    assert answer.failure() is None
    assert answer.complete
    assert answer.parsed == len(body) + 1


ODD = {
    "a chunk header that lies": lambda piece: chunk(piece).replace(b"%x" % len(piece), b"%x" % (len(piece) + 1), 1),
    "no line end behind the chunk": lambda piece: chunk(piece)[:-2] + b"xx",
    "no number": lambda piece: b"zz" + chunk(piece)[2:],
}


@pytest.mark.parametrize("spoil", ODD.values(), ids=ODD)
def test_bad_framing_is_found_behind_reads_that_were_not_parsed(spoil: Callable[[bytes], bytes]) -> None:
    tokens = [chunk(text(word)) for word in WORDS[:5]]
    answer = counted([CHUNKED, *tokens, spoil(text(WORDS[1])), *tokens])
    failure = answer.failure()
    assert failure is not None
    assert failure.failure_class == FailureClass.PROTOCOL


def test_other_ways_to_write_a_chunk_header_are_parsed() -> None:
    def loud(piece: bytes) -> bytes:
        return b"%X;ext=1\r\n%b\r\n" % (len(piece), piece)

    answer = counted([CHUNKED, *(loud(text(word)) for word in WORDS), *(loud(each) for each in ENDED), LAST_CHUNK])
    assert answer.failure() is None
    assert answer.text == WORDS
    assert answer.parsed == len(WORDS) + len(ENDED) + 2


def test_lines_of_json_are_taken_as_well() -> None:
    lines = [b'{"model":"m","response":"%b","done":false}\n' % word.encode() for word in WORDS]
    last = b'{"model":"m","response":"","done":true,"done_reason":"stop","eval_count":13}\n'
    fed = Fed(dialect_of("ollama")).feed(
        [(at, read) for at, read in enumerate([CHUNKED, *map(chunk, [*lines, last]), LAST_CHUNK])]
    )
    assert fed.answer.failure() is None
    assert fed.text == "".join(WORDS)


contents = st.one_of(
    st.sampled_from(WORDS), st.text(max_size=8), st.sampled_from(['"', "\\", "\n", "\x7f", "", "河" * 90])
)
events = st.one_of(
    contents.map(text),
    contents.map(text),
    contents.map(lambda said: delta(reasoning_content=said)),
    st.just(b": alive\n\n"),
    st.just(usage(3, 4)),
    st.just(text("torn")[:-1]),
    st.just(b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n'),
)


@given(st.lists(st.tuples(events, st.integers(0, 40), st.booleans()), max_size=30), st.sampled_from([chunk, as_it_is]))
def test_read_at_once_or_one_by_one_they_say_the_same(
    pieces: list[tuple[bytes, int, bool]], framed: Callable[[bytes], bytes]
) -> None:
    """Mostly one event a read, now and then cut in two or glued to the one before."""
    reads = [CHUNKED if framed is chunk else HEAD + b"\r\n"]
    for piece, cut, glue in pieces:
        read = framed(piece)
        if glue and cut < 10:
            reads[-1] += read
        elif cut > 30:
            reads += [read[:cut], read[cut:]]
        else:
            reads.append(read)
    reads.append(b"".join(map(framed, ENDED)) + (LAST_CHUNK if framed is chunk else b""))
    Fed().feed(list(enumerate(reads)))
