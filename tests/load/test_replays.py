"""What real engines sent, recorded by `deploy/record_streams.py`: the right record and class, however it is cut."""

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.load.dialects import dialect_of
from tests.load.streams import Fed

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "wire"
ENGINES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


class Recording(NamedTuple):
    """One answer as it came."""

    path: str
    ended: str
    reads: tuple[tuple[float, bytes], ...]


class Right(NamedTuple):
    """What must be said of it; a token count of None: the server did not tell."""

    told: str | None
    tokens: int | None = None
    reason: str | None = None
    one_piece: bool = False


@cache
def recordings(engine: str) -> dict[str, Recording]:
    lines = (FOLDER / f"{engine}.jsonl").read_text(encoding="utf-8").splitlines()
    found = {}
    for each in map(json.loads, lines):
        reads = tuple((ms, data.encode("utf-8", errors="surrogateescape")) for ms, data in each["reads"])
        found[each["what"]] = Recording(each["path"], each["ended"], reads)
    return found


GOOD = {
    "chat": Right(None, 8, "length"),
    "chat without usage": Right(None, None, "length"),
    "chat, usage with each token": Right(None, 8, "length"),
    "chat of one token": Right(None, 1, "length"),
    "chat in one piece": Right(None, 8, "length", one_piece=True),
    "completions": Right(None, 8, "length"),
    "no such path": Right("http_404"),
    "left in mid-answer": Right("truncated"),
}
"""What all engines agree on."""
OWN: dict[str, dict[str, Right]] = {
    "llamacpp": {
        "two choices": Right(None, 4, "length"),  # it tells the tokens of one
        "prompt too long": Right("context_length"),
        "no such model": Right(None, None, "length"),  # it answers whatever it is called
        "no JSON": Right("http_400"),
        "no messages": Right("http_400"),
        "overload": Right(None, None, "length"),  # it queues
        "killed in mid-answer": Right("truncated"),
    },
    "simulator": {
        "completions": Right("http_404"),
        "two choices": Right(None, 4, "length"),
        "prompt too long": Right("context_length"),
        "no such model": Right("http_404"),
        "no JSON": Right("http_400"),
        "no messages": Right("http_400"),
        "overload": Right("throttled"),
        "killed in mid-answer": Right("truncated"),
    },
    "transformers": {  # transformers serve, which never says [DONE]
        "ignore_eos": Right("http_422"),
        "chat without usage": Right(None, 8, "length"),  # it counts unasked
        "two choices": Right(None, 4, "length"),
        "no such model": Right("http_400"),
        "no JSON": Right("http_422"),
        "no messages": Right("http_500"),
        "overload": Right(None, 24, "length"),
        "prompt too long": Right("stream_error"),  # its worker dies of it
        "killed in mid-answer": Right("throttled"),  # dead already, and it says 503
    },
    "vllm": {
        "two choices": Right(None, 8, "length"),
        "prompt too long": Right("context_length"),
        "no such model": Right("http_404"),
        "no JSON": Right("http_400"),
        "no messages": Right("http_400"),
        "overload": Right(None, None, "length"),
        "killed in mid-answer": Right("truncated", None, "abort"),  # [DONE] and all
    },
}
RIGHT = [(engine, what, right) for engine in ENGINES for what, right in (GOOD | OWN[engine]).items()]


def replay(recording: Recording, right: Right, reads: list[tuple[float, bytes]]) -> Fed:
    api = "openai-completions" if "chat" not in recording.path else "openai-chat"
    return Fed(dialect_of(api, stream=not right.one_piece)).feed(reads)


def outcome(fed: Fed, recording: Recording) -> tuple[Any, ...]:
    return fed.outcome(ConnectionResetError(104, "Connection reset by peer") if recording.ended == "reset" else None)


@pytest.mark.parametrize(("engine", "what", "right"), RIGHT, ids=[f"{row[0]}: {row[1]}" for row in RIGHT])
def test_a_recording_has_the_right_record_and_class(engine: str, what: str, right: Right) -> None:
    recording = recordings(engine)[what]
    fed = replay(recording, right, list(recording.reads))
    told = outcome(fed, recording)
    failure = fed.answer.failure()
    assert told[0] == right.told, failure
    assert (fed.answer.usage.output_tokens, fed.answer.finish_reason) == (right.tokens, right.reason)
    timing = fed.clock.timing()
    if right.told is None:
        assert fed.answer.model
        assert fed.text
    if right.told is None and not right.one_piece:
        first, last = recording.reads[0][0] / 1e3, recording.reads[-1][0] / 1e3
        assert timing.ttft_s is not None and timing.e2e_s is not None
        assert first <= timing.ttft_s <= timing.e2e_s <= last
        assert timing.events <= 2 * (right.tokens or 99)
    if failure is not None:
        assert failure.message


@given(data=st.data())
def test_any_cut_of_a_recording_gives_the_same_record(data: st.DataObject) -> None:
    engine, what, right = data.draw(st.sampled_from(RIGHT))
    recording = recordings(engine)[what]
    whole = b"".join(read for _, read in recording.reads)
    places = data.draw(st.lists(st.integers(1, max(1, len(whole) - 1)), max_size=20))
    edges = [0, *sorted(places), len(whole)]
    reads = [(float(n), whole[a:b]) for n, (a, b) in enumerate(itertools.pairwise(edges)) if a < b]
    assert outcome(replay(recording, right, reads), recording) == outcome(
        replay(recording, right, [(0.0, whole)]), recording
    )
