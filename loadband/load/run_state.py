"""`run.json` of a test while it goes on: who takes part, what the levels came to, how it ended.

Knows: the keys that change, and when the file is replaced. Must not know: Locust, the ladder's ways, other files.

It is replaced at the start, when a worker is first heard, when a level ends and at the end: so a kill leaves on disk
what the levels came to, and the run can be gone on with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from loadband.load.course import Held
from loadband.load.search import answer_of
from loadband.plan import Plan
from loadband.rundir import RunDirectory
from loadband.slo import parse_slo

UNWRITABLE = "unwritable"
"""`how` of a test whose disk took no more."""


class RunState:
    """The facts of one test."""

    def __init__(self, directory: RunDirectory, facts: Mapping[str, Any]) -> None:
        """`facts`: all that is known at the start."""
        self._directory = directory
        self._facts = dict(facts)
        self._heard: dict[str, dict[str, Any]] = {}
        self._before = [worker for worker in facts.get("workers") or () if isinstance(worker, dict)]
        """Workers of the parts of the run that were cut off."""
        self.write()

    @property
    def how(self) -> str | None:
        """How the test ended, as far as it is known."""
        how: str | None = self._facts["how"]
        return how

    def write(self, **facts: Any) -> None:
        """Replace the file, with these facts too. Raises OSError."""
        self._facts |= facts
        self._directory.write_run(self._facts)

    def hear(self, report: Mapping[str, Any]) -> None:
        """A report of a worker, perhaps its first. Raises OSError."""
        name = report["worker"]
        if name in self._heard:
            return
        kept = ("host", "cores", "reader", "clock_offset_s", "clock_error_s")
        self._heard[name] = {"name": name, **{key: report.get(key) for key in kept}}
        before = [worker for worker in self._before if worker.get("name") not in self._heard]
        self.write(workers=[*before, *(self._heard[key] for key in sorted(self._heard))])

    def find(self, sentence: str) -> None:
        """One finding more."""
        self._facts["findings"] = [*self._facts.get("findings", []), sentence]

    def levels_came_to(self, held: Sequence[Held], plan: Plan | None) -> None:
        """What the levels held so far came to. Raises OSError."""
        if plan is not None and plan.find is not None:
            self._facts["search"] = answer_of(held, parse_slo(plan.find)).as_json()
        self.write(held=[asdict(each) for each in held])

    def ends(self, how: str) -> None:
        """How the test ends, unless that is known; a disk that takes no more has the last word."""
        self._facts["how"] = how if how == UNWRITABLE else self._facts["how"] or how
