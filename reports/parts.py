"""The rows of a level by scenario and by turn, and why requests failed, for the console and for `report.md`.

Knows: headers, cells, which level is shown when one must do. Must not know: rich, Markdown, formulas.
"""

from collections.abc import Iterable

from loadband.analysis.curve import throughput
from loadband.analysis.level import Level, people
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.units import spoken

SCENARIO_HEADERS = (
    "scenario", "requests", "errors", "output tokens/s", "TTFT p50", "TTFT p95", "TPOT p50", "E2E p50",
)  # fmt: skip
CAUSE_HEADERS = ("class", "requests", "first at", "first sentence")
TURN_HEADERS = ("turn", "n", "TTFT p50", "TTFT p95")


def shown_level(verdict: Verdict) -> Level | None:
    """The valid level at the operating point, or the next below it; without one the highest. Of repeats the median."""
    valid = sorted((level for level in verdict.levels if level.grade.valid), key=lambda level: level.users)
    upto = verdict.operating.users
    below = [level for level in valid if upto is None or level.users <= upto]
    users = below[-1].users if below else None
    repeats = sorted(
        (level for level in below if level.users == users), key=lambda level: throughput(level, verdict.metric) or 0.0
    )
    return repeats[(len(repeats) - 1) // 2] if repeats else None


def scenario_rows(level: Level) -> list[list[str]]:
    """One row for each scenario, in the order of `SCENARIO_HEADERS`."""
    return [
        [
            part.scenario,
            cells.number(part.requests),
            cells.errors(part.error_rate, None),
            cells.number(part.output_tok_s, digits=4),
            cells.time(part.ttft_p50_s),
            cells.time(part.ttft_p95_s),
            cells.time(part.tpot_p50_s),
            cells.time(part.e2e_p50_s),
        ]
        for part in level.scenarios
    ]


def turn_rows(level: Level) -> list[list[str]]:
    """One row for each turn, in the order of `TURN_HEADERS`."""
    return [
        [str(part.turn), cells.number(part.n), cells.time(part.ttft_p50_s), cells.time(part.ttft_p95_s)]
        for part in level.turns
    ]


def cause_rows(verdict: Verdict) -> list[list[str]]:
    """One row for each failure class, in the order of `CAUSE_HEADERS`."""
    return [
        [
            cause.failure_class,
            f"{cause.count:,}",
            "before the first level" if cause.first_level is None else spoken(people(cause.first_level), verdict),
            cause.sentence or cells.NOTHING,
        ]
        for cause in verdict.causes
    ]


def has_scenarios(levels: Iterable[Level]) -> bool:
    """Whether a mix was run."""
    return any(level.scenarios for level in levels)
