"""After a run: tokens of answers that the server did not count, by one tokenizer pass over each whole text.

Knows: the files of a run directory, and that texts wait there in the order of their records. Must not know: Locust,
sockets, what the counts are good for.

Until then an answer's events stand for its tokens. Here its record gets the count, with the source *estimated* and a
TPOT of it, and `seconds.csv` gets the tokens into the seconds in which the events arrived. One batch of texts is in
memory at a time, however long the run was. Both files are replaced whole, and then the texts are gone.
"""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from loadband import rundir
from loadband.errors import UsageError
from loadband.record import BUFFERED_EVENTS, Status, TokenSource, spread
from loadband.rundir import REQUESTS, SECONDS, TEXTS, cell
from loadband.tokenizing import Tokenizing

BATCH_TEXTS, BATCH_CHARACTERS = 256, 1_000_000
"""A batch ends with either."""

Count = Callable[[list[str]], list[int]]
"""Tokens of each text."""

_COLUMN = {
    Status.OK: "output_tokens_ok", Status.FAILED: "output_tokens_failed", Status.CUT: "output_tokens_cut",
    Status.ABANDONED: "output_tokens_cut",
}  # fmt: skip

Changes = Counter[tuple[str, str, str]]
"""Second, scenario and counter of `seconds.csv`, as text -> by how much it changes."""


NO_COUNTERS = frozenset({"second", "scenario", "users", "in_flight"})
"""Columns of `seconds.csv` that do not add up."""


class Counted(NamedTuple):
    """One answer's count."""

    key: tuple[str, str]
    """Id and start of its request, as in `requests.csv`: a run that was resumed has ids twice."""
    tokens: int
    seconds: dict[int, int]
    """Unix second -> events that arrived in it."""


def estimate(path: Path, tokenizer: str) -> int:
    """Count what waits in a run directory; how many answers that were. Raises UsageError."""
    if not (path / TEXTS).is_file():
        return 0
    with Tokenizing(tokenizer) as process:
        return count_waiting(path, lambda texts: [len(ids) for ids in process.encode(texts)], Path(tokenizer).name)


def count_waiting(path: Path, count: Count, by: str) -> int:
    """The same with any way to count, called `by`."""
    run = rundir.read_run(path)
    changes: Changes = Counter()
    requests, seconds = path / f".{REQUESTS}.counted", path / f".{SECONDS}.counted"
    try:
        with requests.open("w", encoding="utf-8", newline="") as file:
            answers = _write_requests(path / REQUESTS, _counted(path / TEXTS, count), changes, _writer(file))
        with seconds.open("w", encoding="utf-8", newline="") as file:
            _write_seconds(path / SECONDS, changes, _writer(file))
        seconds.replace(path / SECONDS)
        requests.replace(path / REQUESTS)
        run["estimated"] = {"tokenizer": by, "answers": answers}
        rundir.write_atomically(path / rundir.RUN_JSON, json.dumps(run, indent=1, ensure_ascii=False) + "\n")
        (path / TEXTS).unlink()
    except OSError as error:
        raise UsageError(f"cannot count the answers in {path} ({error.strerror}): check its permissions") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"the files in {path} are damaged ({error!r}): remove {TEXTS}, and events stand for tokens"
        ) from error
    finally:
        requests.unlink(missing_ok=True)
        seconds.unlink(missing_ok=True)
    return answers


def _writer(file: TextIO) -> Any:
    return csv.writer(file, lineterminator="\n")


def _whole_lines(file: TextIO) -> Iterator[str]:
    return (line for line in file if line.endswith("\n"))


def _counted(texts: Path, count: Count) -> Iterator[Counted]:
    """Each text that waits, counted, in order."""
    batch: list[tuple[tuple[str, str], str, dict[int, int]]] = []
    size = 0
    with texts.open(encoding="utf-8", newline="\n") as file:
        for line in _whole_lines(file):
            told = json.loads(line)
            batch.append(((told["id"], told["started_at"]), told["text"], dict(told["seconds"])))
            size += len(told["text"])
            if len(batch) >= BATCH_TEXTS or size >= BATCH_CHARACTERS:
                yield from _of_batch(batch, count)
                batch, size = [], 0
    yield from _of_batch(batch, count)


def _of_batch(batch: list[tuple[tuple[str, str], str, dict[int, int]]], count: Count) -> Iterator[Counted]:
    numbers = count([text for _, text, _ in batch]) if batch else []
    for (key, _, seconds), tokens in zip(batch, numbers, strict=True):
        yield Counted(key, tokens, seconds)


def _write_requests(old: Path, counted: Iterator[Counted], changes: Changes, new: Any) -> int:
    """The file again, with the counts; what they change in the seconds. How many answers were counted."""
    answers = 0
    following = next(counted, None)
    with old.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(_whole_lines(file))
        header = next(rows, [])
        new.writerow(header)
        for cells in rows:
            row = dict(zip(header, cells, strict=False))
            if following is not None and (row.get("id"), row.get("started_at")) == following.key:
                if following.tokens and row["status"] in _COLUMN:
                    _book(row, following, changes)
                    answers += 1
                following = next(counted, None)
                new.writerow([row[name] for name in header])
            else:
                new.writerow(cells)
    return answers


def _book(row: dict[str, str], counted: Counted, changes: Changes) -> None:
    """Write a count into its record, and note what it changes in the seconds."""
    column, scenario = _COLUMN[Status(row["status"])], row["scenario"]
    for second, tokens in spread(counted.tokens, counted.seconds).items():
        changes[f"{second}", scenario, column] += tokens
    for second, events in counted.seconds.items():
        changes[f"{second}", scenario, column] -= events
    if not counted.seconds:
        ended = math.floor(float(row["started_at"]) + float(row["duration_s"] or 0.0))
        changes[f"{ended}", scenario, column] += counted.tokens
    first, last = row["ttft_s"], row["e2e_s"]
    at_once = bool(first) and first == last
    flags = [flag for flag in row["flags"].split(";") if flag]
    if at_once and counted.tokens >= BUFFERED_EVENTS and "buffered" not in flags:
        flags.append("buffered")
    paced = bool(first and last) and not at_once and counted.tokens > 1 and "buffered" not in flags
    row["tpot_s"] = cell((float(last) - float(first)) / (counted.tokens - 1)) if paced else ""
    row["output_tokens"], row["token_source"] = cell(counted.tokens), TokenSource.ESTIMATED.value
    row["flags"] = ";".join(flags)


def _write_seconds(old: Path, changes: Changes, new: Any) -> None:
    """The file again with the changes, the counters of one second and scenario in one row.

    Of a run that was killed rows may be missing: then a sum below 0 is 0.
    """
    kept: list[list[str]] = []
    sums: dict[tuple[str, str], Counter[str]] = {}
    with old.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(_whole_lines(file))
        header = next(rows, [])
        counters = [name for name in header if name not in NO_COUNTERS]
        for cells in rows:
            row = dict(zip(header, cells, strict=False))
            if row.get("scenario"):
                counts = {name: int(row[name] or 0) for name in counters}
                sums.setdefault((row["second"], row["scenario"]), Counter()).update(counts)
            else:
                kept.append(cells)
    for (second, scenario, column), by in changes.items():
        sums.setdefault((second, scenario), Counter())[column] += by
    for (second, scenario), counts in sums.items():
        told = {"second": second, "scenario": scenario}
        kept.append([told.get(name, str(max(counts[name], 0)) if name in counters else "") for name in header])
    new.writerow(header)
    new.writerows(sorted(kept, key=lambda cells: float(cells[0] or 0)))
