"""One finding of the doctor: its mark, its sentence, the next step.

Knows: the four marks and the exit code they make. Must not know: what is checked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from loadband.errors import ExitCode
from loadband.rundir import one_line


class Mark(StrEnum):
    """What a check came to."""

    GOOD = "good"
    WARN = "warn"
    """The run goes, but a number will mean something else than it seems to."""
    BAD = "bad"
    """A run would stumble over it, or a headline number would be wrong."""
    UNKNOWN = "unknown"
    """Could not be found out: no pass."""


@dataclass(frozen=True, slots=True)
class Check:
    """A finding. `values` are its figures, units in their names; None is unknown."""

    name: str
    mark: Mark
    said: str
    step: str = ""
    """What to do next; empty where there is nothing to do."""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The finding and its next step in one line."""
        return f"{self.name}: {self.said}" + (f"; {self.step}" if self.step else "")


def good(name: str, said: str, **values: Any) -> Check:
    """All is well."""
    return Check(name, Mark.GOOD, said, values=values)


def warn(name: str, said: str, step: str, **values: Any) -> Check:
    """Worth knowing before the numbers are read."""
    return Check(name, Mark.WARN, said, step, values)


def bad(name: str, said: str, step: str, **values: Any) -> Check:
    """A run would stumble over it."""
    return Check(name, Mark.BAD, said, step, values)


def unknown(name: str, said: str, step: str = "", **values: Any) -> Check:
    """Could not be found out."""
    return Check(name, Mark.UNKNOWN, said, step, values)


@dataclass(frozen=True, slots=True)
class Examination:
    """All checks, in the order they were made; `ended_by` is set when the target let no more be asked."""

    target: str
    checks: tuple[Check, ...]
    ended_by: ExitCode | None = None

    @property
    def exit_code(self) -> ExitCode:
        """4 no answer from a model, 3 something bad, 0 otherwise. What a run would call wrong use is our 3."""
        if self.ended_by == ExitCode.UNREACHABLE:
            return ExitCode.UNREACHABLE
        if self.ended_by is not None or any(check.mark == Mark.BAD for check in self.checks):
            return ExitCode.UNANSWERED
        return ExitCode.OK


def cleaned(checks: Iterable[Check], secrets: Sequence[str]) -> tuple[Check, ...]:
    """The checks without any secret, whatever the server echoed."""
    return tuple(
        Check(
            check.name, check.mark, one_line(check.said, secrets), one_line(check.step, secrets),
            {key: _clean(value, secrets) for key, value in check.values.items()},
        )
        for check in checks
    )  # fmt: skip


def _clean(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return one_line(value, secrets)
    return [_clean(each, secrets) for each in value] if isinstance(value, list | tuple) else value


def rows_of(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The checks as JSON holds them."""
    return [
        {"check": c.name, "mark": str(c.mark), "said": c.said, "next": c.step, "values": dict(c.values)} for c in checks
    ]


def findings_of(checks: Iterable[Check], known: Sequence[str] = ()) -> list[str]:
    """Sentences for the report of what is not well; those that are `known` already are left out."""
    return [check.sentence for check in checks if check.mark in (Mark.WARN, Mark.BAD) and not {check.said} & set(known)]
