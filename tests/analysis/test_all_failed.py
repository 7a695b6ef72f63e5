"""Levels at which every request failed: no throughput, no curve, and an exit code that says whether it was there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadband.analysis.analyse import analyse_run
from loadband.analysis.verdict import UNREACHED, Verdict
from loadband.errors import ExitCode
from loadband.record import Record
from tests.analysis.build_run import EPOCH, Build, build_run
from tests.analysis.make_levels import LIMITS

BUILD = Build(levels=(2, 4), hold_s=32.0)


def failing(failure_class: str, since: float = 0.0, **changes: Any) -> Build:
    """A run in which every request that starts after so many seconds fails; a server that is there read the prompt."""
    there = failure_class not in UNREACHED

    def fail(record: Record) -> Record:
        if record.started_at < EPOCH + since:
            return record
        return replace(
            record, status="failed", failure_class=failure_class, message="boom", ttft_s=0.05 if there else None,
            output_tokens=1 if there else None, e2e_s=None, tpot_s=None, duration_s=0.1,
        )  # fmt: skip

    return replace(BUILD, change=fail, **changes)


def verdict_of(path: Path, build: Build) -> Verdict:
    return analyse_run(build_run(path / "run", build).path, None, LIMITS).verdict


@pytest.mark.parametrize("kind", ["http_500", "not_a_stream", "empty", "stream_error"])
def test_a_server_that_answers_every_request_with_a_failure_is_there(tmp_path: Path, kind: str) -> None:
    verdict = verdict_of(tmp_path, failing(kind))
    assert verdict.exit_code is ExitCode.UNANSWERED
    assert (verdict.failure.status, verdict.failure.at, verdict.failure.mode) == ("found", 2, "errors")
    for level in verdict.levels:
        numbers = level.numbers
        assert (numbers.output_tok_s, numbers.prompt_tok_s, numbers.total_tok_s) == (None, None, None)
        assert "no request succeeded" in level.grade.faults[0]
        assert f"({kind}: boom)" in level.grade.faults[0]
    assert verdict.metric == "output_tok_s"


@pytest.mark.parametrize("kind", UNREACHED)
def test_a_server_that_cannot_be_reached_is_away(tmp_path: Path, kind: str) -> None:
    assert verdict_of(tmp_path, failing(kind)).exit_code is ExitCode.UNREACHABLE


def test_a_level_that_answers_with_errors_alone_is_a_failure_by_errors_and_no_outage(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, failing("http_500", since=2 * 38 + 1, levels=(2, 4, 8)))
    assert [level.grade.valid for level in verdict.levels] == [True, True, False]
    assert (verdict.failure.after, verdict.failure.at, verdict.failure.mode) == (4, 8, "errors")
    assert verdict.metric == "output_tok_s"


def test_prompt_tokens_are_those_of_requests_that_were_served(tmp_path: Path) -> None:
    """A failed request's prompt was read too; throughput has no part of it."""

    def fail_half(record: Record) -> Record:
        half = record.user is not None and record.user % 2 == 0
        return replace(record, status="failed", failure_class="truncated") if half else record

    built = build_run(tmp_path / "run", BUILD, change=fail_half)
    for level in analyse_run(built.path, None, LIMITS).verdict.levels:
        begin, end = next((b, e) for users, _, b, e in built.holds if users == level.users)
        first = [(r, r.started_at + (r.ttft_s or 0.0)) for r in built.records if r.status == "ok"]
        wanted = sum(r.prompt_tokens or 0 for r, at in first if begin <= at <= end) / (end - begin)
        assert level.numbers.prompt_tok_s == pytest.approx(wanted)
