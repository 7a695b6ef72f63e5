"""The three ways in: a run directory, a table, Locust's own files, to a verdict.

Knows: the order of the whole pipeline. Must not know: printing, drawing, exit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from loadband import rundir
from loadband.analysis.answers import notes_on_answers
from loadband.analysis.causes import causes_of
from loadband.analysis.client_health import WORKER_LOST, notes_on_readers
from loadband.analysis.cost import Price
from loadband.analysis.guarded import notes_on_guards
from loadband.analysis.level import Level, Numbers
from loadband.analysis.locust_files import HISTORY, read_history
from loadband.analysis.locust_levels import levels_of_history
from loadband.analysis.locust_stretches import SHORTEST_S, falls_of, held, rested
from loadband.analysis.measure import TOKENS_AS_EVENTS, UNCOUNTED_SHARE
from loadband.analysis.ramps import ramp_of_history, ramp_of_run, with_ramp
from loadband.analysis.resumed import notes_on_parts
from loadband.analysis.run_facts import sound_facts
from loadband.analysis.run_files import RunFiles, read_file, read_run_files
from loadband.analysis.run_levels import TARGET_LOST, levels_of_run, missing_steps, recovery_of_run, recovery_step
from loadband.analysis.searched import Search
from loadband.analysis.table_file import read_table
from loadband.analysis.thresholds import Thresholds
from loadband.analysis.tool_results import read_results
from loadband.analysis.validity import NOT_COUNTED
from loadband.analysis.verdict import Facts, Verdict, judge
from loadband.analysis.whole_run import whole_run
from loadband.analysis.windows import Step, flagged, steps_of
from loadband.analysis.work_notes import notes_on_work
from loadband.analysis.workload import meant_by, notes_on_prompts
from loadband.errors import UnansweredError
from loadband.record import Status, TokenSource
from loadband.slo import Limit, parse_slo

TOKENS_PER_EVENT = 1.05
BURSTY, HIDDEN = re.compile("bursty"), re.compile("hidden_reasoning")
"""In `flags`."""
BURSTY_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class Analysis:
    """A verdict with what a reader wants to know beside it."""

    title: str
    verdict: Verdict
    run: dict[str, Any] = field(default_factory=dict)
    """`run.json`; empty of a table."""
    notes: tuple[str, ...] = ()
    """What was wrong with the files."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    """How many requests of the whole run ended how, warm-up and drain among them; empty of a table."""
    whole: Numbers | None = None
    """Of the whole run, when no level was held."""
    gap_name: str = "Inter-token"
    """What ITL is here: `Inter-token`, `Inter-chunk` or `Inter-read` latency."""
    missing_steps: tuple[int, ...] = ()
    """Of which requests tell and `steps.csv` does not."""

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences about the target that were found before load."""
        return tuple(str(each) for each in self.run.get("findings") or ())


def analyse_run(path: Path, slo: str | None, limits: Thresholds, price: Price | None = None) -> Analysis:
    """The verdict of a run directory; `slo` overrides that of the run. Raises UsageError."""
    return analyse_files(read_run_files(path), slo, limits, price)


def analyse_files(files: RunFiles, slo: str | None, limits: Thresholds, price: Price | None = None) -> Analysis:
    """The same of files that were read. Raises UsageError of an SLO that is none."""
    text = slo if slo is not None else files.run.get("slo")
    objectives: tuple[Limit, ...] = parse_slo(str(text)) if text else ()
    levels = levels_of_run(files, objectives, limits)
    ramp = ramp_of_run(files, levels, limits)
    gate_unread = slo is None and "slo" in files.unread
    verdict = judge(
        levels, objectives, limits, replace(_facts(files, levels, limits), gate_unread=gate_unread, price=price)
    )
    verdict = with_ramp(verdict, ramp, planned=bool(files.run.get("plan")))
    model = files.run.get("model") or "model unknown"
    gaps, said = gap_name(files.requests)
    if any(TOKENS_AS_EVENTS in level.grade.marks for level in levels):
        said.append(f"{NOT_COUNTED}, throughput is events/s and TPOT the time per event")
    if gate_unread:
        said.append("the SLO of run.json cannot be read, so its gate is undecided: give it with --slo")
    asked = (*notes_on_prompts(files.requests, meant_by(files.run, files.requests)), *notes_on_work(levels, limits))
    said = [*notes_on_parts(files.run), *notes_on_guards(files.run), *notes_on_readers(files.run), *said]
    notes = (*files.notes, *said, *asked, *notes_on_answers(files.requests, files.run), *unaccounted(files))
    title = f"{model} at {files.run.get('host') or 'host unknown'}"
    counted = {str(status): int(n) for status, n in files.requests["status"].value_counts().items() if status}
    statuses = dict(sorted(counted.items(), key=lambda each: -each[1]))
    whole = None if levels else whole_run(files)
    return Analysis(title, verdict, files.run, notes, statuses, whole, gaps, missing_steps(files))


def analyse_table(
    path: Path, slo: str | None, think_s: float | None, limits: Thresholds, price: Price | None = None
) -> Analysis:
    """The verdict of a table of levels. Raises UsageError."""
    objectives = parse_slo(slo) if slo else ()
    levels = read_table(path, think_s, objectives, limits)
    return Analysis(path.name, judge(levels, objectives, limits, Facts(price=price)))


def analyse_results(
    path: Path, slo: str | None, think_s: float | None, limits: Thresholds, price: Price | None = None
) -> Analysis:
    """The verdict of what another tool saved, a file or a folder. Raises UsageError, UnansweredError."""
    objectives = parse_slo(slo) if slo else ()
    levels, notes = read_results(path, think_s, objectives, limits)
    facts = Facts(ladder=len({level.users for level in levels}) > 1, price=price)
    return Analysis(path.name, judge(levels, objectives, limits, facts), notes=tuple(notes))


def analyse_locust(prefix: Path, slo: str | None, think_s: float | None, limits: Thresholds) -> Analysis:
    """The verdict of Locust's own CSV files, `<prefix>_stats_history.csv`. Raises UsageError, UnansweredError."""
    objectives = parse_slo(slo) if slo else ()
    history = read_history(prefix)
    notes = list(history.notes)
    stretches = held(steps_beside(prefix, notes), history)
    if stretches:
        notes.append("levels are the holds of the run's own steps.csv; all numbers are Locust's")
    levels = levels_of_history(history, stretches or rested(history), think_s, objectives, limits)
    ramp = ramp_of_history(history, levels, think_s, limits)
    if not levels and (ramp is None or ramp.status != "found"):
        wanted = f"hold each level for at least {SHORTEST_S:g} s after settling"
        why = f"; as a ramp, {ramp.reason}" if ramp else ""
        raise UnansweredError(f"no number of users rested in {prefix}{HISTORY}: {wanted}{why}")
    notes += falls_of(history)
    notes.append("Locust's files count no tokens: throughput is successful requests per second")
    if not history.ours:
        notes.append("failed requests are inside the mean times of this file")
    facts = Facts(ladder=len({level.users for level in levels}) > 1)
    verdict = with_ramp(judge(levels, objectives, limits, facts), ramp, planned=False)
    return Analysis(f"Locust's files {prefix}", verdict, notes=tuple(notes))


def steps_beside(prefix: Path, notes: list[str]) -> tuple[Step, ...]:
    """The steps of the run of ours whose files these are, but for one after too much load; empty of any other."""
    path = prefix.with_name(rundir.STEPS)
    if not path.is_file():
        return ()
    told = rundir.read_run(path.parent) if path.with_name(rundir.RUN_JSON).is_file() else {}
    apart = recovery_step(sound_facts(told)[0])
    return tuple(step for step in steps_of(read_file(path, notes), None) if step.step != apart)


def gap_name(requests: pd.DataFrame) -> tuple[str, list[str]]:
    """What ITL really is in this run, and notes when it is not the time between two tokens."""
    needed = ["events", "output_tokens", "reasoning_tokens", "token_source", "flags"]
    ok = requests.loc[requests["status"] == Status.OK, needed]
    hidden = float(ok.loc[flagged(ok, HIDDEN), "reasoning_tokens"].sum())
    events, tokens = float(ok["events"].sum()), float(ok["output_tokens"].sum()) - hidden
    name, notes = "Inter-token", []
    if len(ok) and float((ok["token_source"] == TokenSource.EVENTS).mean()) > UNCOUNTED_SHARE:
        name = "Inter-chunk"
    elif events and tokens / events > TOKENS_PER_EVENT:
        name = "Inter-chunk"
        notes.append(f"ITL is inter-chunk latency here: an event brings {tokens / events:.2f} tokens")
    if len(ok) and float(flagged(ok, BURSTY).mean()) > BURSTY_SHARE:
        name = "Inter-read"
        notes.append("ITL is inter-read latency here: many reads brought several events")
    return name, notes


def unaccounted(files: RunFiles) -> list[str]:
    """Conservation: every request that started ended in one way; of a run that ended none may be without a record."""
    started, recorded = int(files.seconds["started"].sum()), len(files.requests)
    if started == recorded or not started or files.run.get("ended") is None:
        return []
    return [f"the books do not balance: {started:,} requests started, {recorded:,} have a record of how they ended"]


def _blind(files: RunFiles) -> bool:
    """Whether no request is on record, though some were made or nothing tells whether they were."""
    return files.requests.empty and (files.seconds.empty or bool(files.seconds["started"].sum() > 0))


def _baseline(plan: dict[str, Any]) -> int | None:
    """How often the level of a baseline was to be held; None of another plan."""
    repeats = plan.get("repeats")
    return int(repeats) if plan.get("baseline") is True and isinstance(repeats, int | float) else None


def _facts(files: RunFiles, levels: tuple[Level, ...], limits: Thresholds) -> Facts:
    plan = files.run.get("plan") or {}
    missing = missing_steps(files)
    planned = len(plan.get("rates") or plan.get("levels") or ())
    search = Search.of(files.run.get("search"))
    return Facts(
        ladder=search is None and not plan.get("spike_s") and max(planned, len({level.users for level in levels})) > 1,
        search=search,
        baseline=_baseline(plan),
        spiked=bool(plan.get("spike_s")),
        recovery=recovery_of_run(files, limits),
        target_lost=files.run.get("how") == TARGET_LOST,
        causes=causes_of(files),
        blind=_blind(files) or (not levels and bool(missing)),
        missing_steps=missing,
        workers_lost=any(WORKER_LOST in level.grade.marks for level in levels),
    )
