"""Answers that the server did not count are counted after the run: each text once, booked where its events came."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadband.analysis import estimate
from loadband.analysis.analyse import Analysis, analyse_run
from loadband.analysis.estimate import count_waiting
from loadband.analysis.run_files import read_run_files
from loadband.errors import UsageError
from loadband.record import Record, TokenSource, spread
from loadband.rundir import REQUESTS, SECONDS, TEXTS, cell, read_run
from reports.__main__ import main
from tests.analysis.build_run import EPOCH, Build, build_run
from tests.analysis.make_levels import LIMITS

BUILD = Build(levels=(2, 4, 8), hold_s=32.0)
END = EPOCH + len(BUILD.levels) * (BUILD.settle_s + BUILD.hold_s)
PER_EVENT = 4
"""Tokens that an event really brings."""


def words(texts: list[str]) -> list[int]:
    """A token for each word; a special token that begins a text is not asked for."""
    return [len(text.split()) for text in texts]


def uncounted(record: Record) -> Record | None:
    """As booked when the server tells no usage: events stand for tokens; none after the last second."""
    if record.started_at + (record.duration_s or 0.0) >= END:
        return None
    events = (record.output_tokens or 0) // PER_EVENT + 1
    tpot = None if events < 2 else (record.e2e_s or 0.0) - (record.ttft_s or 0.0)
    return replace(record, token_source="events", output_tokens=events, events=events, tpot_s=tpot)


def seconds_of(record: Record) -> Counter[int]:
    """Second -> events, as `build_run` deals them."""
    events, first = record.output_tokens or 0, record.started_at + (record.ttft_s or 0.0)
    gap = (record.started_at + (record.duration_s or 0.0) - first) / max(events - 1, 1)
    return Counter(int(first + event * gap) for event in range(events))


def line_of(record: Record, text: str, seconds: list[tuple[int, int]]) -> dict[str, Any]:
    """A line of `texts.jsonl`."""
    return {"id": record.id, "started_at": cell(record.started_at), "text": text, "seconds": seconds}


def waiting(path: Path) -> tuple[Path, list[Record]]:
    """A run whose answers wait to be counted: `PER_EVENT` words an event."""
    built = build_run(path / "run", BUILD, change=uncounted)
    with (built.path / TEXTS).open("w") as file:
        for record in built.records:
            if record.status in ("ok", "cut") and record.output_tokens:
                text = "so " * PER_EVENT * record.output_tokens
                line = line_of(record, text, list(seconds_of(record).items()))
                file.write(json.dumps(line) + "\n")
    return built.path, built.records


def analysed(path: Path) -> Analysis:
    return analyse_run(path, None, LIMITS)


def total(path: Path) -> int:
    seconds = read_run_files(path).seconds
    return int(seconds[["output_tokens_ok", "output_tokens_failed", "output_tokens_cut"]].sum().sum())


def test_counts_come_into_records_seconds_and_report(tmp_path: Path) -> None:
    path, records = waiting(tmp_path)
    before = analysed(path)
    assert any("wait to be counted: python -m reports" in note for note in before.notes)
    assert all("tokens_counted_as_events" in level.grade.marks for level in before.verdict.levels)
    events = total(path)
    answers = count_waiting(path, words, "a tokenizer.json")
    after = read_run_files(path)
    assert not (path / TEXTS).exists()
    assert read_run(path)["estimated"] == {"tokenizer": "a tokenizer.json", "answers": answers}
    assert total(path) == PER_EVENT * events
    assert len(after.requests) == len(records)
    counted = after.requests[after.requests["token_source"] == TokenSource.ESTIMATED]
    assert len(counted) == answers
    ok = counted[counted["status"] == "ok"]
    assert (ok["output_tokens"] == PER_EVENT * ok["events"]).all()
    tpot = (ok["e2e_s"] - ok["ttft_s"]) / (ok["output_tokens"] - 1)
    assert (ok["tpot_s"] - tpot).abs().max() < 1e-6
    found = analysed(path)
    assert all("tokens_counted_as_events" not in level.grade.marks for level in found.verdict.levels)
    (note,) = [note for note in found.notes if "estimated" in note]
    assert "a tokenizer.json counted their whole texts after the run" in note
    for level, was in zip(found.verdict.levels, before.verdict.levels, strict=True):
        assert level.numbers.output_tok_s == pytest.approx(PER_EVENT * (was.numbers.output_tok_s or 0.0), rel=0.02)


def test_counting_twice_is_counting_once(tmp_path: Path) -> None:
    path, _ = waiting(tmp_path)
    count_waiting(path, words, "t")
    files = {name: (path / name).read_bytes() for name in (REQUESTS, SECONDS)}
    assert estimate.estimate(path, "./nowhere") == 0, "nothing waits, so no tokenizer is needed"
    assert {name: (path / name).read_bytes() for name in files} == files


def test_a_run_that_was_killed_is_counted_as_far_as_it_was_written(tmp_path: Path) -> None:
    path, _ = waiting(tmp_path)
    for name in (REQUESTS, SECONDS, TEXTS):
        data = (path / name).read_bytes()
        (path / name).write_bytes(data[: len(data) - 7])
    lines = (path / TEXTS).read_text().count("\n")
    assert count_waiting(path, words, "t") in (lines, lines - 1)
    assert (read_run_files(path).requests["token_source"] == TokenSource.ESTIMATED).sum() >= lines - 1


def test_one_batch_at_a_time_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = waiting(tmp_path)
    monkeypatch.setattr(estimate, "BATCH_CHARACTERS", 2_000)
    sizes = []

    def count(texts: list[str]) -> list[int]:
        sizes.append(sum(map(len, texts)))
        return words(texts)

    count_waiting(path, count, "t")
    longest = 3 * PER_EVENT * (BUILD.server.tokens[1] // PER_EVENT + 1)
    assert len(sizes) > 10
    assert max(sizes) < 2_000 + longest


def test_an_answer_in_one_piece_is_booked_at_its_end_and_a_lump_is_called_one(tmp_path: Path) -> None:
    def changed(record: Record) -> Record:
        if record.id.endswith("-1"):
            return replace(record, ttft_s=None, events=0, output_tokens=None, token_source=None, tpot_s=None)
        return replace(record, e2e_s=record.ttft_s, events=1, output_tokens=1, token_source="events", tpot_s=None)

    built = build_run(tmp_path / "run", BUILD, levels=(1,), change=changed)
    whole, lump = (next(r for r in built.records if r.id.endswith(end)) for end in ("-1", "-2"))
    lines = [
        line_of(whole, "one two three", []), line_of(lump, "a b c d e f g h i", [(int(lump.started_at), 1)]),
    ]  # fmt: skip
    (built.path / TEXTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = total(built.path)
    assert count_waiting(built.path, words, "t") == 2
    assert total(built.path) == before + 3 + 8
    rows = read_run_files(built.path).requests.set_index("id")
    assert rows.loc[whole.id, "output_tokens"] == 3
    assert rows.loc[lump.id, "flags"] == "buffered"


@pytest.mark.parametrize("line", ["no json\n", "{}\n", '{"id":"w1-1","started_at":"1","text":7,"seconds":[]}\n'])
def test_damaged_texts_are_one_sentence_and_change_nothing(tmp_path: Path, line: str) -> None:
    path, _ = waiting(tmp_path)
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    (path / TEXTS).write_text(line)
    with pytest.raises(UsageError, match=r"are damaged .* events stand for tokens"):
        count_waiting(path, words, "t")
    left = {each.name: each.read_bytes() for each in path.iterdir()}
    assert left | {TEXTS: b""} == before | {TEXTS: b""}


def test_a_tokenizer_that_is_not_there_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, _ = waiting(tmp_path)
    assert main([str(path), "--tokenizer", "./nowhere", "--no-write"]) == 2
    assert "--tokenizer ./nowhere cannot be used: there is no tokenizer at ./nowhere" in capfd.readouterr().err
    assert (path / TEXTS).exists(), "it can be tried again"


@given(st.integers(0, 500), st.dictionaries(st.integers(0, 50), st.integers(1, 40), max_size=8))
def test_tokens_are_spread_whole(tokens: int, seconds: dict[int, int]) -> None:
    dealt = spread(tokens, seconds)
    assert sum(dealt.values()) == (tokens if seconds else 0)
    assert set(dealt) <= set(seconds)
    assert all(share > 0 for share in dealt.values())


def test_a_run_that_was_resumed_has_ids_twice_and_each_text_finds_its_own(tmp_path: Path) -> None:
    """The first part ended with its answers counted by the server; the second begins its ids anew."""
    built = build_run(tmp_path / "run", BUILD, levels=(1,), change=uncounted)
    lines = (built.path / REQUESTS).read_text().splitlines(keepends=True)
    again = lines[1].split(",")
    place = lines[0].rstrip("\n").split(",").index("started_at")
    again[place] = cell(float(again[place]) + 1000.0)
    (built.path / REQUESTS).write_text("".join([*lines, ",".join(again)]))
    told = {"id": again[0], "started_at": again[place], "text": "one two three", "seconds": []}
    (built.path / TEXTS).write_text(json.dumps(told) + "\n")
    assert count_waiting(built.path, words, "t") == 1
    counted = read_run_files(built.path).requests
    assert list(counted["token_source"] == TokenSource.ESTIMATED) == [False] * (len(lines) - 1) + [True]
