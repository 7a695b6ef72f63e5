"""The rows of a level by scenario, by turn and by LoRA adapter, and why requests failed, for terminal and `report.md`.

Knows: headers, cells, which level is shown when one must do. Must not know: rich, Markdown, formulas.
"""

from loadband.analysis.curve import throughput
from loadband.analysis.level import Level, people
from loadband.analysis.verdict import Verdict
from reports import cells
from reports.units import spoken
from reports.work_table import share

SCENARIO_HEADERS = (
    "scenario", "requests", "errors", "output tokens/s", "TTFT p50", "TTFT p95", "TPOT p50", "E2E p50", "share asked",
    "of conversations", "of completed",
)  # fmt: skip
ADAPTER_HEADERS = (
    "adapter", "requests", "errors", "tokens/s of a user", "TTFT p50", "TTFT p95", "TPOT p50", "E2E p50",
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
            *(share(each) for each in (part.asked_share, part.conversation_share, part.completed_share)),
        ]
        for part in level.scenarios
    ]


def adapter_rows(level: Level) -> list[list[str]]:
    """One row for each LoRA adapter, in the order of `ADAPTER_HEADERS`."""
    return [
        [
            part.adapter,
            cells.number(part.requests),
            cells.errors(part.error_rate, None),
            cells.number(part.tok_s_user),
            cells.time(part.ttft_p50_s),
            cells.time(part.ttft_p95_s),
            cells.time(part.tpot_p50_s),
            cells.time(part.e2e_p50_s),
        ]
        for part in level.workload.adapters
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
