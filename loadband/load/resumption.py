"""`--resume`: a run that was cut off, and what of it stands.

Knows: the files of a run directory, which levels are whole, what must be as it was. Must not know: Locust, the ladder.

A level is whole when its hold ended, its figures are in `run.json`, and no request that started before its end is lost:
tokens of a request are told when it ends, so a kill takes them from the seconds in which they arrived. Of the levels in
their order those before the first that is not whole stand; all others are held again, under the same numbers of steps.
Their old rows stay where they are, before the new holds: what is measured is taken by time.
"""

import csv
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loadband import rundir
from loadband.errors import UsageError
from loadband.load.books import COUNTED, Balance, Told, balance
from loadband.load.claim import Claim
from loadband.load.course import Held
from loadband.load.step import EndedBy
from loadband.record import Record, Status
from loadband.rundir import RunDirectory

OVER = {
    "plan": "has come to the end of its plan",
    "failure": "has come to its end: a failure was confirmed",
    "guard": "was ended by a guard",
    "target_lost": "lost its target, and that is its result",
}
"""`how` of runs that are finished."""

SAME = (
    "tool", "host", "model", "api", "stream", "plan", "scenarios", "mix", "settings", "prompts", "dataset",
    "prompt_tokens", "long_context_tokens", "turns", "think_time", "sampling", "seed", "nonce", "shared_prefix",
    "adapters", "abandon", "timeouts", "retries", "slo", "reset_cache", "labels", "server_args",
)  # fmt: skip
"""Keys of `run.json` that a part must have as the run has them."""

NOBODY = "gone"
"""Stands for the worker of a request that was in flight."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a run that was cut off has left. Nothing in its directory was changed yet, but that it is claimed."""

    path: Path
    run: Mapping[str, Any]
    held: tuple[Held, ...]
    """What the levels that stand came to, in order."""
    repeated: tuple[tuple[str, ...], ...]
    """The last row in `steps.csv` of each level that is held again."""
    balance: Balance
    place: tuple[int, int]
    """Step and pass of the newest request."""
    first_request: int
    """Number from which workers count their requests."""
    claim: Claim

    def refuse_unlike(self, now: Mapping[str, Any]) -> None:
        """Raise UsageError when what is asked for now is not what the run was begun with."""
        for key in SAME:
            there, here = (json.dumps(run.get(key), sort_keys=True, ensure_ascii=False) for run in (self.run, now))
            if there == here:
                continue
            name, there, here = _part(key, self.run.get(key), now.get(key), there, here)
            raise UsageError(
                f"{self.path} was begun with {name} {there[:80]}, now it is {here[:80]}: give what it was begun with, "
                "or choose another --run-dir without --resume"
            )

    def facts(self, now: Mapping[str, Any], at: float) -> dict[str, Any]:
        """`run.json` of the whole, when this part begins at Unix second `at` with facts of its own."""
        before, own = self.run.get("probe") or {}, now.get("probe") or {}
        part = {"at": at, "run_id": now.get("run_id"), "was": self.run.get("how"), "levels": len(self.held)}
        return {
            **self.run, **now, "run_id": self.run.get("run_id"), "started": self.run.get("started"),
            "held": [asdict(each) for each in self.held],
            "workers": self.run.get("workers"), "search": self.run.get("search"), "ended": None, "how": None,
            "findings": list(dict.fromkeys([*(self.run.get("findings") or ()), *(now.get("findings") or ())])),
            "probe": {key: (before.get(key) or 0) + (own.get(key) or 0) for key in {**before, **own}},
            "resumed": [*(self.run.get("resumed") or ()), {**part, "lost": len(self.balance.lost)}],
        }  # fmt: skip

    def sentence(self) -> str:
        """For a console."""
        lost = len(self.balance.lost)
        cut = f"; {lost} requests that were in flight when it was cut off are booked as lost" if lost else ""
        return f"going on with {self.path}: {len(self.held)} levels are there{cut}"

    @property
    def parts(self) -> int:
        """Parts that the run has had."""
        return 1 + len(self.run.get("resumed") or ())

    def settle(self, directory: RunDirectory) -> None:
        """Balance the books, and tell of the levels that are held again. Raises OSError."""
        for name in (*rundir.COLUMNS, rundir.TEXTS):
            _cut_torn_line(self.path / name)
        columns = rundir.COLUMNS[rundir.SECONDS]
        for second, scenario, name, by in self.balance.counters:
            row = {"second": second, "scenario": scenario, "users": None, "in_flight": None, name: by}
            directory.appender(rundir.SECONDS).append([row.get(column, 0) for column in columns])
        step, repeat = self.place
        for number, (second, scenario) in enumerate(self.balance.lost, self.first_request):
            lost = Record(
                id=f"{NOBODY}-{number}", worker=NOBODY, scenario=scenario, kind=None, step=step, step_end=None,
                repeat=repeat, user=None, conversation=None, turn=None, started_at=float(second), status=Status.LOST,
            )  # fmt: skip
            directory.appender(rundir.REQUESTS).append(lost.values())
        for row_of_step in self.repeated:
            directory.appender(rundir.STEPS).append([*row_of_step[:6], None, None, EndedBy.CUT_OFF])
        directory.flush()


def _part(key: str, there: Any, here: Any, *texts: str) -> tuple[str, str, str]:
    """The part of a value that differs: `plan.hold` of `plan`."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in {**there, **here}:
            one, other = json.dumps(there.get(name)), json.dumps(here.get(name))
            if one != other:
                return f"{key}.{name}", one, other
    return key, *texts  # type: ignore[return-value]


def past_of(path: Path) -> Past:
    """The past of a run that can be gone on with. Raises UsageError."""
    if not path.is_dir():
        raise UsageError(f"there is no run directory {path}: leave out --resume to begin one")
    run = rundir.read_run(path)
    if run.get("how") in OVER:
        raise UsageError(f"the run in {path} {OVER[run['how']]}: choose another --run-dir without --resume")
    if not isinstance(run.get("plan"), dict) or not isinstance(run.get("held"), list):
        raise UsageError(f"the run in {path} has no plan that could be gone on with: choose another --run-dir")
    if run["plan"].get("recover") or run["plan"].get("spike_s"):
        raise UsageError("--recover and --spike look at what follows at once: their run begins anew, without --resume")
    for name, columns in rundir.COLUMNS.items():
        if (header := next(_rows(path / name), None)) is not None and tuple(header) != columns:
            raise UsageError(f"{path / name} has other columns than this version writes: choose another --run-dir")
    claim = Claim(path)
    try:
        return _read(path, run, claim)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        claim.release()
        raise UsageError(f"the files in {path} are damaged ({error}): choose another --run-dir") from None


def _read(path: Path, run: Mapping[str, Any], claim: Claim) -> Past:
    requests = list(_table(path / rundir.REQUESTS))
    told = [_told(row) for row in requests]
    counted, last = [], 0
    for row in _table(path / rundir.SECONDS):
        second = int(row["second"])
        last = max(last, second)
        counted.append((second, row["scenario"], [int(row[name] or 0) for name in COUNTED]))
    balanced = balance(told, counted, last)
    steps = {int(row[0]): tuple(row) for row in list(_rows(path / rundir.STEPS))[1:]}
    held = [Held.of(each) for each in run["held"]]
    untold = [second for second, _ in balanced.lost]
    untold += [request.started for request in told if request.ended >= balanced.told_until]
    whole = 0
    while whole < len(held) and _is_whole(steps[whole + 1], min([last + 1, *untold])):
        whole += 1
    newest = max(requests, key=lambda row: float(row["started_at"]), default={"step": "0", "repeat": "1"})
    return Past(
        path, run, tuple(held[:whole]), tuple(row for step, row in sorted(steps.items()) if step > whole), balanced,
        (int(newest["step"] or 0), int(newest["repeat"] or 1)),
        1 + max((int(row["id"].rpartition("-")[2]) for row in requests), default=0), claim,
    )  # fmt: skip


def _is_whole(step: tuple[str, ...], until: int) -> bool:
    """Whether all was told up to the end of a step's hold; `until`: Unix second up to which all was."""
    hold_to = dict(zip(rundir.COLUMNS[rundir.STEPS], step, strict=True))["hold_to"]
    return not hold_to or float(hold_to) <= until


def _told(row: Mapping[str, str]) -> Told:
    started, duration = float(row["started_at"]), float(row["duration_s"] or row["e2e_s"] or 0)
    return Told(row["scenario"], row["status"], math.floor(started), math.floor(started + duration))


def _rows(path: Path) -> Iterator[list[str]]:
    """Whole lines of a file; none of one that is not there."""
    if path.is_file():
        yield from csv.reader(io.StringIO(rundir.whole_lines(path)[0]))


def _table(path: Path) -> Iterator[dict[str, str]]:
    rows = _rows(path)
    header = next(rows, [])
    return (dict(zip(header, row, strict=True)) for row in rows)


def _cut_torn_line(path: Path) -> None:
    """What stands behind the last line end of a growing file was never whole."""
    if path.is_file():
        data = path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.truncate(path, end)
