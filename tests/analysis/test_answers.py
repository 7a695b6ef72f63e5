"""What answers tell of server and way: lumps, degenerate ones, another model, limits that cut numbers off."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadband.analysis.analyse import Analysis, analyse_run
from loadband.record import Record
from reports.step_table import step_table
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS

BUILD = Build(levels=(2, 4, 8), hold_s=32.0)


def analysis(path: Path, change: Callable[[Record], Record], **build: Any) -> Analysis:
    built = build_run(path / "run", replace(BUILD, **build), change=change)
    return analyse_run(built.path, None, LIMITS)


def said(found: Analysis, word: str) -> list[str]:
    return [note for note in found.notes if word in note]


def in_lumps(record: Record) -> Record:
    return replace(record, flags="bursty;buffered", tpot_s=None, itl_p50_s=None, itl_p99_s=None, itl_max_s=None)


@pytest.mark.parametrize(
    ("header", "cause"),
    [(None, "a proxy on the way that buffers"), ("nginx/1.22.1", "set proxy_buffering off there")],
    ids=["nobody knows", "the server says what it is"],
)
def test_answers_in_lumps_have_no_speed_and_the_likely_cause_is_named(
    tmp_path: Path, header: str | None, cause: str
) -> None:
    found = analysis(tmp_path, in_lumps, run={"server": {"header": header}})
    (note,) = said(found, "in lumps")
    assert note.startswith("100% of the answers came in lumps")
    assert cause in note
    for level in found.verdict.levels:
        assert level.grade.valid, level.grade.reasons
        assert "buffered" in level.grade.marks
        numbers = level.numbers
        assert (numbers.tpot_mean_s, numbers.tpot_p50_s, numbers.itl_p50_s, numbers.tok_s_user) == (None,) * 4
        assert numbers.ttft_p50_s and numbers.output_tok_s


def test_degenerate_answers_are_told(tmp_path: Path) -> None:
    found = analysis(tmp_path, lambda record: replace(record, flags="no_done;degenerate"))
    assert said(found, "degenerate")[0].startswith("100% of the answers are degenerate")


def test_retries_are_told_and_none_without(tmp_path: Path) -> None:
    def third_again(record: Record) -> Record:
        again = not int(record.id.removeprefix("w1-")) % 3
        return replace(record, attempts=2, felt_s=7.0) if again else record

    (note,) = said(analysis(tmp_path / "again", third_again), "retries")
    total = sum(1 for _ in (tmp_path / "again" / "run" / "requests.csv").open()) - 1
    assert note.startswith(
        f"numbers include retries: {total // 3:,} of {total:,} requests are second or later attempts"
    )
    assert "took their users 7 s at the median" in note
    assert said(analysis(tmp_path / "once", lambda record: record), "retries") == []


@pytest.mark.parametrize(("settle_s", "marked"), [(0.0, True), (6.0, False)], ids=["nothing cut off", "settled"])
def test_an_opening_wave_inside_the_hold_is_told(tmp_path: Path, settle_s: float, marked: bool) -> None:
    seen = set()

    def cold(record: Record) -> Record:
        key = (record.step, record.user)
        if key in seen:
            return record
        seen.add(key)
        return replace(record, ttft_s=40 * (record.ttft_s or 0.0))

    found = analysis(tmp_path, cold, levels=(8, 16), settle_s=settle_s)
    for level in found.verdict.levels:
        assert ("first_wave" in level.grade.marks) is marked
        reasons = [reason for reason in level.grade.reasons if "first request here" in reason]
        assert len(reasons) == int(marked)
        assert not marked or "--warmup auto keep the opening wave out" in reasons[0]


def test_hidden_reasoning_makes_no_chunks_of_events(tmp_path: Path) -> None:
    def thinks(record: Record) -> Record:
        shown = record.output_tokens or 0
        return replace(
            record, events=shown, output_tokens=6 * shown, reasoning_tokens=5 * shown, flags="hidden_reasoning"
        )

    assert analysis(tmp_path, thinks).gap_name == "Inter-token"


def test_another_model_inside_a_run_is_told(tmp_path: Path) -> None:
    def answered(record: Record) -> Record:
        return replace(record, model_answered="small" if record.started_at % 100 > 90 else "large")

    (note,) = said(analysis(tmp_path, answered), "the model changed")
    assert "it began with large, answers name large (" in note
    assert "small (" in note


def test_healthy_answers_are_worth_no_word(tmp_path: Path) -> None:
    found = analysis(tmp_path, lambda record: replace(record, model_answered="m", flags="no_done"))
    for word in ("in lumps", "degenerate", "the model changed"):
        assert not said(found, word)
    assert all(not {"buffered", "at_limit"} & set(level.grade.marks) for level in found.verdict.levels)


@pytest.mark.parametrize(("share", "marked"), [(0.05, True), (0.005, False)])
def test_samples_at_a_limit_are_pointed_out(tmp_path: Path, share: float, marked: bool) -> None:
    every = round(1 / share)

    def long(record: Record) -> Record:
        return replace(record, e2e_s=9.95) if not int(record.id.removeprefix("w1-")) % every else record

    limits = {"connect_s": 10.0, "first_token_s": 120.0, "idle_s": 60.0, "total_s": 10.0}
    found = analysis(tmp_path, long, run={"timeouts": limits})
    level = found.verdict.levels[-1]
    assert ("at_limit" in level.grade.marks) is marked
    if marked:
        (reason,) = [reason for reason in level.grade.reasons if "within 1 %" in reason]
        assert "of the values of e2e_s lie within 1 % of the total limit of 10 s" in reason


def test_failures_stand_in_the_table_by_class(tmp_path: Path) -> None:
    found = analysis(tmp_path, lambda record: record, fail_share={8: 0.2}, failure_class="throttled")
    failures = [row["failures"] for row in csv.DictReader(io.StringIO(step_table(found.verdict.levels)))]
    count = found.verdict.levels[-1].failures["throttled"]
    assert failures == ["", "", f"throttled:{count}"]
