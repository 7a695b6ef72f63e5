"""Recorded requests: every layout, bad lines by their number, the same on every worker, bounded in memory."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.errors import UsageError
from loadband.load import dataset_file, json_list
from loadband.load.dataset import Dataset, Recorded
from loadband.load.dataset_file import REFUSE, SKIP, read_dataset
from loadband.load.json_list import items_of
from loadband.load.trace_columns import Columns, parse_columns

HELLO = [{"role": "user", "content": "hello"}]


def read(path: Path, text: str, columns: str | None = None, bad_lines: str = REFUSE) -> Dataset:
    """The data set of a file with this text."""
    path.write_text(text, encoding="utf-8")
    return read_dataset(path, parse_columns(columns) if columns else Columns(), bad_lines)


LAYOUTS: list[tuple[str, str, str | None, list[Recorded], list[float], str]] = [
    ("a.jsonl", '{"messages": [{"role": "user", "content": "hello"}], "max_tokens": 7}\n\n{"prompt": "hello"}\n', None,
     [Recorded(HELLO, None, 7), Recorded(HELLO, None, None)], [], "JSONL of our own"),
    ("a.jsonl", '{"at": 5, "prompt_tokens": 10}\n{"at": 2.5, "prompt_tokens": 20, "max_tokens": 3}', None,
     [Recorded(None, 20, 3), Recorded(None, 10, None)], [2.5, 5.0], "moments put them in order"),
    ("a.json", '[{"id": "x", "conversations": [{"from": "system", "value": "be kind"}, {"from": "gpt", "value": "hi"}, '
     '{"from": "human", "value": "hello"}, {"from": "gpt", "value": "yes"}]}]', None,
     [Recorded([{"role": "system", "content": "be kind"}, *HELLO], None, None)], [], "ShareGPT"),
    ("a.jsonl", '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}\n', "mooncake",
     [Recorded(None, 6955, 52)], [27.482], "Mooncake"),
    ("a.csv", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
     "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n", "burstgpt",
     [Recorded(None, 472, 18), Recorded(None, 1087, 230)], [5.0, 45.0], "BurstGPT"),
    ("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
     "2023-11-16 18:15:50.9951690,396,109\n", "azure",
     [Recorded(None, 374, 44), Recorded(None, 396, 109)], [1700158546.68059, 1700158550.995169], "Azure 2023"),
    ("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n", "azure",
     [Recorded(None, 2162, 5)], [1715299200.00993], "Azure 2024"),
    ("a.jsonl", '{"t": 3000, "n": 9, "q": "hello"}\n', "at=t:ms,max_tokens=n,prompt=q",
     [Recorded(HELLO, None, 9)], [3.0], "columns of one's own"),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=[row[5] for row in LAYOUTS])
def test_layouts(tmp_path: Path, layout: tuple[str, str, str | None, list[Recorded], list[float], str]) -> None:
    name, text, columns, requests, moments, sentence = layout
    found = read(tmp_path / name, text, columns)
    assert [found.request(place) for place in range(len(found))] == requests, sentence
    assert list(found.moments) == pytest.approx(moments, abs=1e-5)
    assert found.request(len(found)) == requests[0], "round and round"


GOOD = '{"prompt": "hello"}\n'
BAD = [
    ("{torn", "line 2", "no JSON"),
    ("[1]", "line 2", "no object"),
    ('{"text": "hello"}', "line 2", "neither messages nor prompt"),
    ('{"messages": []}', "line 2", "no list of role and content"),
    ('{"messages": [{"role": "user"}]}', "line 2", "no list of role and content"),
    ('{"messages": [{"role": "user", "content": 5}]}', "line 2", "no list of role and content"),
    ('{"prompt": 5}', "line 2", "no text"),
    ('{"prompt": "x", "max_tokens": 0}', "line 2", "max_tokens is 0"),
    ('{"prompt_tokens": "many"}', "line 2", "prompt_tokens is 'many'"),
    ('{"prompt": "x", "at": 5}', "line 2", "some lines have a moment"),
    ('{"prompt": "x", "at": "noon"}', "line 2", "at is 'noon'"),
    ('{"prompt": "x", "at": NaN}', "line 2", "at is nan"),
    ('{"conversations": [{"from": "gpt", "value": "hi"}]}', "line 2", "nothing that a person"),
    ("[" * 100_000, "line 2", "no JSON"),
]


@pytest.mark.parametrize(("line", "where", "why"), BAD, ids=[row[2] for row in BAD])
def test_a_bad_line_is_named_and_refused_or_skipped(tmp_path: Path, line: str, where: str, why: str) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(UsageError) as refused:
        read(path, GOOD + line + "\n" + GOOD)
    assert where in str(refused.value) and why in str(refused.value) and "--bad-lines skip" in str(refused.value)
    assert "\n" not in str(refused.value)
    found = read(path, GOOD + line + "\n" + GOOD, bad_lines=SKIP)
    assert (len(found), found.bad) == (2, 1)
    assert where in found.skipped[0]


def test_messages_are_kept_as_they_are(tmp_path: Path) -> None:
    """An agent's history: without its tool calls and their names a server refuses the answers to them."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = [
        {"role": "user", "content": [{"type": "text", "text": "what is there?"}], "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "a door", "tool_call_id": "c1"},
    ]
    found = read(tmp_path / "a.jsonl", json.dumps({"messages": asked}))
    assert found.request(0).messages == asked


def test_a_line_too_long_is_told_as_such_and_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_file, "LONGEST_LINE", 30)
    text = GOOD + '{"prompt": "' + "x" * 100 + '"}\n' + GOOD + "{torn\n"
    with pytest.raises(UsageError, match=r"line 2 of .* is longer than 30 characters"):
        read(tmp_path / "a.jsonl", text)
    found = read(tmp_path / "a.jsonl", text, bad_lines=SKIP)
    assert (len(found), found.bad) == (2, 2)
    assert "line 4" in found.skipped[1]


@pytest.mark.parametrize("text", ["", "\n\n", "[]", "[", '[{"prompt": "x"}', "[1,"])
def test_a_file_without_a_request_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path / "a.json", text, bad_lines=SKIP)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_dataset(tmp_path / "none.jsonl", Columns(), REFUSE)
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe\x00\x01\n")
    with pytest.raises(UsageError, match="cannot read"):
        read_dataset(tmp_path / "a.jsonl", Columns(), REFUSE)
    with pytest.raises(UsageError, match="cannot read"):
        read_dataset(tmp_path, Columns(), REFUSE)


@pytest.mark.parametrize("text", ["", "vllm", "at=", "when=t", "at=t,at=u", "at=t:years", "max_tokens=n:s", "at=a=b"])
def test_columns_that_are_not_understood(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_columns(text)
    assert "mooncake" in str(refused.value) or "unit" in str(refused.value)


@given(st.lists(st.one_of(st.integers(), st.text(), st.dictionaries(st.text(), st.integers()))), st.integers(1, 9))
def test_the_items_of_a_list_however_it_is_cut(items: list[Any], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_list, "CHUNK", chunk)
        assert list(items_of(io.StringIO(json.dumps(items)))) == items


def test_the_workers_get_what_the_master_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadband.load.dataset.PIECE_BYTES", 1000)
    lines = "".join(f'{{"at": {n}, "prompt": "{"x" * (n % 50)}y"}}\n' for n in range(200))
    master, worker = read(tmp_path / "a.jsonl", lines), Dataset()
    pieces = list(master.pieces())
    assert len(pieces) > 3
    for _ in range(2):  # a second test sends them again
        for piece in pieces:
            worker.add(piece)
    assert (worker.lines, worker.moments) == (master.lines, master.moments)
    assert worker.digest == master.digest
    worker.lines.pop()
    assert worker.digest != master.digest


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_file, "MOST_BYTES", 2**20)
    path = tmp_path / "a.jsonl"
    with path.open("w") as file:
        for _ in range(4000):
            file.write(json.dumps({"prompt": "x" * 500, "answer": "y" * 5000}) + "\n")
    tracemalloc.start()
    with pytest.raises(UsageError, match="cut it"):
        read_dataset(path, Columns(), REFUSE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * 2**20, "of a file of 22 MB"
