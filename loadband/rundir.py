r"""The run directory: all that the load half and the analysis half share.

Knows: file names, columns, how a cell is written, and how a file survives a crash.
Must not know: what the numbers mean, Locust, pandas.

UTF-8, `\n`, header first, decimal point, at most 6 decimals, booleans 0 or 1, unknown empty. Files grow by whole
lines and are flushed by the writer's `flush`; a torn last line is dropped with a note. `run.json` is replaced
atomically; without `ended` in it the run was killed. New columns go at the end.

Keys of `run.json`: `schema tool python locust gevent run_id started ended how` (Unix seconds; how the run ended:
`plan`, `failure` (a confirmed one ended a climb, as `--until-failure` asks), `guard` (one fired), `interrupted`,
`terminated`, `stopped`, `target_lost`, `workers_lost` (none was left), `unwritable`), `host api path model` (target,
credentials removed), `scenarios` (list of names), `mix` (scenario -> weight), `prompts` (hash of the pools), `sampling`
(`max_tokens temperature ignore_eos`), `prompt_tokens long_context_tokens turns think_time seed nonce`, `plan` (null, or
`levels rates arrival hold settle_s max_hold_s repeats drain_s warmup_s stop_when_lost until_failure refine grows find
baseline recover spike_s stop_when` with `hold` = `auto`, `90s` or `256req`, and null for an automatic time; an open
loop has `rates` in requests/s and no `levels`), `search` (only with `--find`: `limits n_slo broken_at n_slo_low
n_slo_high levels holds complete`, users), `held` (what each level came to while the run went on: `users seconds ok
failed tokens e2e_sum_s kept confirmed`), `resumed` (absent, or a list of `at run_id was levels lost`), `guards` (of
`--stop-when`, a list of `guard highest fired_at value since`; `highest` null: never known), `recovery` (only after too
much load: the `step` with less of it, and the one before it, `after`; `zombies_most zombies_s`, how many requests more
than users the server said it ran, and until when after the fall, null where it does not tell), `slo` and `abandon`
(text or null), `dataset` (null, or `file requests digest bad_lines`), `labels` (key -> value), `server_args`,
`timeouts` (`connect_s first_token_s idle_s total_s`), `retries` (a number), `estimated` (only when answers were counted
after the run: `tokenizer answers`), `workers` (list of `name host cores reader clock_offset_s clock_error_s`, `reader`
= `thread` or `event loop`: what stamps the reads), `probe` (requests and tokens sent before load), `findings` (list of
sentences about the target), `doctor` (null, or a list of `check mark said next values` with `mark` = `good warn bad
unknown`), `link` (null, or `connect_min_s connect_median_s round_trip_min_s round_trip_median_s`), `server` (what it
told of itself).
"""

import csv
import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from loadband.errors import UsageError
from loadband.record import RECORD_COLUMNS

SCHEMA = 1
"""Version of the layout, in `run.json`. 1 (2026-11): first."""

MESSAGE_LENGTH = 300

_BREAKS = re.compile(r"[\x00\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
"""Whatever some reader takes for the end of a line, or for the end of a file."""

RUN_JSON = "run.json"
REQUESTS = "requests.csv"
SECONDS = "seconds.csv"
HISTOGRAMS = "histograms.csv"
STEPS = "steps.csv"
WORKERS = "workers.csv"
TEXTS = "texts.jsonl"
"""Answers that the server did not count, until a tokenizer has: lines of `id started_at text seconds`, in the order of
their records; `started_at` as in `requests.csv`, for a run that was resumed has ids twice; `seconds` a list of pairs
(Unix second, events). There only with `--tokenizer`, and removed when counted."""
LOCUST_PREFIX = "locust"

EVENT_LOOP = "event loop"
"""`reader` of a worker whose reads no thread of its own stamps."""

REPORT = "report"

COLUMNS: dict[str, tuple[str, ...]] = {
    REQUESTS: RECORD_COLUMNS,
    SECONDS: (
        "second", "scenario", "users", "in_flight", "started", "ok", "failed", "cut", "events",
        "output_tokens_ok", "output_tokens_failed", "output_tokens_cut", "prompt_tokens", "abandoned",
    ),
    HISTOGRAMS: (
        "step", "second_from", "second_to", "scenario", "metric", "count", "sum", "min", "max", "buckets", "worker",
    ),
    STEPS: (
        "step", "repeat", "target", "offered_req_s", "asked_at", "reached_at", "hold_from", "hold_to", "ended_by",
    ),
    WORKERS: ("second", "worker", "users", "in_flight", "lag_p50_s", "lag_p99_s", "cpu", "state"),
}  # fmt: skip
"""File name -> columns.

`seconds.csv`: counters are increments of that second and add up, late rows for a past second are normal;
`output_tokens_cut` are those of cut and of abandoned requests; `users`
and `in_flight` are sums over workers and stand in one row of a second each: `users` in its first, `in_flight`, the mean
over that second, in the row that follows when every worker has told it.
`histograms.csv`: one row per worker, step, second of completion, scenario and metric (`itl`: successes only; `lag`:
the worker's event-loop lag, scenario empty; `read_lag`: that of its reading thread, where it has one); seconds are
whole Unix seconds, both ends inclusive.
`steps.csv`: times are Unix seconds on the master's clock; `ended_by` is one of `hold max_hold not_reached target_lost
failure worker_lost guard stopped cut_off`, `failure` after a whole hold. `workers.csv`: `cpu` is
the share of a core that the busiest part used, the event loop or all other threads; of one core, both together.
"""


def cell(value: Any) -> str:
    """Text of one value: unknown and non-finite are empty, booleans 0 or 1, floats at most 6 decimals.

    A line break becomes a space: a model's name or a finish reason comes from the server too, and one record is
    one line.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        if not math.isfinite(value):
            return ""
        text = f"{value:.6f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return _BREAKS.sub(" ", str(value))


def one_line(message: str, secrets: Iterable[str] = ()) -> str:
    """A server's sentence fit for a cell: secrets and line breaks replaced, at most 300 characters."""
    for secret in sorted({secret.strip() for secret in secrets}, key=len, reverse=True):  # one may be part of another
        if secret:
            message = message.replace(secret, "***")
    return re.sub(r"[\s\x00-\x1f]+", " ", message).strip()[:MESSAGE_LENGTH].rstrip()


class Appender:
    """One growing CSV file. Rows are buffered until `flush`, which hands whole lines to the operating system."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        # "replace": half a surrogate pair from a server's JSON cannot be encoded, and must not end the run
        self._file: TextIO = path.open("a", encoding="utf-8", errors="replace", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._columns = columns
        if self._file.tell() == 0:
            self._writer.writerow(columns)
            self.flush()

    def append(self, values: Sequence[Any]) -> None:
        """Add one row, values in column order."""
        if len(values) != len(self._columns):
            raise ValueError(f"{len(values)} values for {len(self._columns)} columns of {self._file.name}")
        self._writer.writerow([cell(value) for value in values])

    def flush(self) -> None:
        """Give what was appended to the operating system: it then survives a kill of this process."""
        self._file.flush()

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


class RunDirectory:
    """The writing end of one run's directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._appenders: dict[str, Appender] = {}
        self._lines: dict[str, TextIO] = {}

    @classmethod
    def create(cls, path: Path) -> "RunDirectory":
        """A new, empty directory. Raises UsageError when it is not empty or cannot be written."""
        check_usable(path)
        path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    def appender(self, name: str) -> Appender:
        """The open file of that name, made with its header on first use."""
        if name not in self._appenders:
            self._appenders[name] = Appender(self.path / name, COLUMNS[name])
        return self._appenders[name]

    def append_line(self, name: str, value: Any) -> None:
        """Add a line of JSON to a file that is made with its first line."""
        if name not in self._lines:
            self._lines[name] = (self.path / name).open("a", encoding="utf-8", newline="\n")
        self._lines[name].write(json.dumps(value) + "\n")

    def flush(self) -> None:
        """Flush every open file."""
        for appender in self._appenders.values():
            appender.flush()
        for lines in self._lines.values():
            lines.flush()

    def write_run(self, run: Mapping[str, Any]) -> None:
        """Replace `run.json` atomically. What is not finite is unknown: null."""
        values = _finite({"schema": SCHEMA, **run})
        write_atomically(self.path / RUN_JSON, json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def close(self) -> None:
        """Close every open file."""
        for appender in self._appenders.values():
            appender.close()
        for lines in self._lines.values():
            lines.close()
        self._appenders.clear()
        self._lines.clear()


def make_own(path: Path) -> Path:
    """An empty directory of that name, or of the first free of `-2`, `-3`: runs may begin in the same second."""
    number, own = 1, path
    while True:
        try:
            own.mkdir(parents=True)
        except FileExistsError:
            number += 1
            own = path.with_name(f"{path.name}-{number}")
        except OSError as error:
            raise UsageError(
                f"cannot make the run directory {own} ({error.strerror}): choose another with --run-dir"
            ) from error
        else:
            return own


def check_usable(path: Path) -> None:
    """Raise UsageError when a new run cannot live at `path`. Makes nothing: other runs may begin beside it just now."""
    if not path.name:
        raise UsageError("the run directory has no name: choose one with --run-dir")
    try:
        is_directory = path.is_dir()
        taken = any(path.iterdir()) if is_directory else path.exists()
        nearest = next(each for each in (path, *path.parents) if each.exists() or each.is_symlink())
    except OSError as error:
        raise UsageError(
            f"cannot look at the run directory {path} ({error.strerror}): choose another with --run-dir"
        ) from error
    if taken and is_directory:
        raise UsageError(f"run directory {path} is not empty: choose another with --run-dir, or move it away")
    if taken:
        raise UsageError(f"{path} is a file: choose a directory with --run-dir")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot write to the run directory {path} ({error.strerror}): choose another with --run-dir"
        ) from error


def _finite(value: Any) -> Any:
    """JSON knows neither NaN nor infinity."""
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_atomically(path: Path, text: str) -> None:
    """Write a whole file so that a reader sees the old one or the new one, never a half."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_run(path: Path) -> dict[str, Any]:
    """`run.json` of a run directory. Raises UsageError when this is no run directory of a known schema."""
    try:
        run = json.loads((path / RUN_JSON).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(f"{path} holds no {RUN_JSON}: give the directory of a Loadband run") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path / RUN_JSON} ({error}): give the directory of a Loadband run") from error
    schema = run.get("schema") if isinstance(run, dict) else None
    if not isinstance(run, dict) or isinstance(schema, bool) or schema != SCHEMA:
        raise UsageError(
            f"{path / RUN_JSON} is not of schema {SCHEMA}: read it with the Loadband version that wrote it"
        )
    return run


def whole_lines(path: Path) -> tuple[str, bool]:
    """Text of a growing file up to its last line end, and whether a torn last line was dropped."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    return data[:end].decode("utf-8", errors="replace").removeprefix("\ufeff"), end < len(data)
