"""A file of recorded requests, checked line by line: JSONL, a JSON list, CSV; ShareGPT's conversations among them.

Knows: formats, what a request needs, what a bad line is. Must not know: what is done with the requests.

All that is kept of a request is its messages or its length, `max_tokens` and its moment: at most `MOST_BYTES` of text
and `MOST_REQUESTS` requests, in the order of their moments.
"""

import csv
import json
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loadband.errors import UsageError
from loadband.load.dataset import Dataset
from loadband.load.json_list import items_of
from loadband.load.trace_columns import Columns, parse_columns

MOST_BYTES = 128 * 2**20
MOST_REQUESTS = 1_000_000
LONGEST_LINE = 16 * 2**20

REFUSE, SKIP = "refuse", "skip"


class BadLineError(ValueError):
    """Why a line is no request."""


def dataset_of(options: Any) -> Dataset | None:
    """The data set that the options name; None without one. Raises UsageError."""
    if options.dataset is None:
        if options.columns or options.bad_lines == SKIP:
            raise UsageError(
                "--columns and --bad-lines say how a data set is read: give --dataset FILE, or leave them out"
            )
        return None
    columns = parse_columns(options.columns) if options.columns else Columns()
    return read_dataset(Path(options.dataset), columns, options.bad_lines)


def read_dataset(path: Path, columns: Columns, bad_lines: str) -> Dataset:
    """All requests of a file. Raises UsageError that names the first bad line, unless `bad_lines` is `skip`."""
    found = Dataset()
    size = 0
    moments: list[float] = []
    try:
        for where, row in _rows(path):
            try:
                line, at = _request(row, columns)
                if found.lines and (at is None) != (not moments):
                    raise BadLineError("some lines have a moment (at) and some have none")
            except BadLineError as error:
                _bad(found, f"{where} of {path}: {error}", bad_lines)
                continue
            found.lines.append(line)
            size += len(line)
            if at is not None:
                moments.append(at)
            if size > MOST_BYTES or len(found.lines) > MOST_REQUESTS:
                raise UsageError(
                    f"{path} holds more than {MOST_BYTES >> 20} MiB of text or {MOST_REQUESTS:,} requests: cut it, "
                    "for example with head -n 100000"
                )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the data set {path} ({reason}): give a JSONL, JSON or CSV file") from None
    if not found.lines:
        raise UsageError(f"{path} holds no request" + (f" ({found.skipped[0]})" if found.skipped else ""))
    if moments:
        order = sorted(range(len(moments)), key=moments.__getitem__)
        found.lines = [found.lines[place] for place in order]
        found.moments = array("d", (moments[place] for place in order))
    return found


def _bad(found: Dataset, sentence: str, bad_lines: str) -> None:
    if bad_lines == REFUSE:
        raise UsageError(f"{sentence}; mend it, or leave such lines out with --bad-lines skip")
    found.bad += 1
    if len(found.skipped) < 3:
        found.skipped.append(sentence)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Where each row stands, and the row. A row that is no JSON is the error itself."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix.lower() == ".csv":
            reader = csv.DictReader(file)
            for row in reader:
                yield f"line {reader.line_num}", row
            return
        begin = file.read(4096).lstrip()[:1]
        file.seek(0)
        if begin == "[":
            for number, item in enumerate(items_of(file), start=1):
                yield f"entry {number}", item
            return
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), start=1):
            if line.strip():
                yield f"line {number}", _json(line)
            rest = line
            while _is_torn(rest):
                rest = file.readline(LONGEST_LINE)


def _is_torn(line: str) -> bool:
    return len(line) == LONGEST_LINE and not line.endswith("\n")


def _json(line: str) -> Any:
    if _is_torn(line):
        return BadLineError(f"is longer than {LONGEST_LINE:,} characters")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return BadLineError(f"is no JSON ({error})")


def _request(row: Any, columns: Columns) -> tuple[bytes, float | None]:
    """The line that is kept of a row, and its moment. Raises BadLineError."""
    if isinstance(row, BadLineError):
        raise row
    if not isinstance(row, dict):
        raise BadLineError("is no object with names")
    messages = _messages(row, columns)
    tokens = None if messages is not None else _count(columns.get(row, "prompt_tokens"), "prompt_tokens")
    if messages is None and tokens is None:
        raise BadLineError("has neither messages nor prompt nor prompt_tokens (--columns names them)")
    kept = [messages, tokens, _count(columns.get(row, "max_tokens"), "max_tokens")]
    at = columns.get(row, "at")
    try:
        moment = None if at is None else columns.seconds(at)
    except (ValueError, TypeError, OverflowError):
        raise BadLineError(f"at is {at!r:.40}, no time in {columns.unit}") from None
    if moment is not None and not abs(moment) < 1e12:
        raise BadLineError(f"at is {at!r:.40}, no time")
    return json.dumps(kept, separators=(",", ":")).encode(), moment


def _messages(row: Mapping[str, Any], columns: Columns) -> list[dict[str, Any]] | None:
    """Messages of a row: its own, its prompt, or the first question of a ShareGPT conversation; None of none."""
    told, prompt = columns.get(row, "messages"), columns.get(row, "prompt")
    if told is not None:
        if not isinstance(told, list) or not told or not all(map(_is_message, told)):
            raise BadLineError("messages is no list of role and content")
        return told
    if prompt is not None:
        if not isinstance(prompt, str):
            raise BadLineError("prompt is no text")
        return [{"role": "user", "content": prompt}]
    turns = row.get("conversations", row.get("conversation"))
    return None if turns is None else _first_question(turns)


def _is_message(told: Any) -> bool:
    """Whether it has a role, and content or the tools that it calls in place of it."""
    if not isinstance(told, dict) or not isinstance(told.get("role"), str):
        return False
    content = told.get("content") or told.get("tool_calls")
    return isinstance(content, str | list) and bool(content)


def _first_question(turns: Any) -> list[dict[str, Any]]:
    """What a person said first, with the system's words before it, if any."""
    said: list[dict[str, Any]] = []
    for turn in turns if isinstance(turns, list) else ():
        speaker, text = (turn.get("from"), turn.get("value")) if isinstance(turn, dict) else (None, None)
        if not isinstance(text, str) or not text:
            continue
        if speaker == "system":
            said = [{"role": "system", "content": text}]
        if speaker in ("human", "user"):
            return [*said, {"role": "user", "content": text}]
    raise BadLineError("conversations holds nothing that a person (human, user) said")


def _count(told: Any, name: str) -> int | None:
    if told is None:
        return None
    try:
        count = float(told)
    except (TypeError, ValueError):
        count = 0.0
    if isinstance(told, bool) or not 1 <= count <= 1e8 or not count.is_integer():
        raise BadLineError(f"{name} is {told!r:.40}: a whole number from 1 up is wanted")
    return int(count)
