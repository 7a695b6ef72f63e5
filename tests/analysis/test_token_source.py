"""A server without `usage`: its events stand for tokens, and nothing is called tokens that is none."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadband.analysis.analyse import Analysis, analyse_run
from loadband.record import Record
from reports.console import print_report
from reports.markdown import markdown
from reports.panels import draw_throughput, draw_tpot
from reports.serving_block import serving_block
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import LIMITS

BUILD = Build(levels=(2, 4, 8), hold_s=32.0)


def analysis(path: Path, every: int) -> Analysis:
    """Of a run in which the tokens of one request in `every` are counted events, four tokens each."""

    def uncounted(record: Record) -> Record:
        if int(record.id.removeprefix("w1-")) % every:
            return record
        events = (record.output_tokens or 0) // 4 + 1
        return replace(record, token_source="events", output_tokens=events, events=events, prompt_tokens=None)

    return analyse_run(build_run(path / "run", BUILD, change=uncounted).path, None, LIMITS)


def test_events_are_called_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = analysis(tmp_path, 1)
    for level in found.verdict.levels:
        assert level.grade.valid, level.grade.reasons
        assert "tokens_counted_as_events" in level.grade.marks
        assert "short_answers" not in level.grade.marks
        assert (level.numbers.output_ratio, level.numbers.prompt_tok_s, level.numbers.total_tok_s) == (None, None, None)
    assert found.verdict.confidence == "low"
    assert "tokens counted as events" in found.verdict.confidence_reason
    assert any(note.startswith("the server does not count tokens: events stand for tokens") for note in found.notes)
    assert found.gap_name == "Inter-chunk"
    print_report(found, None)
    shown = capsys.readouterr().out
    block = serving_block(found, found.verdict.levels[0])
    for text in (shown, markdown(found, ()), block):
        assert "events/s" in text
        assert "tokens/s" not in text.replace("events/s", "").partition("== Thresholds")[0]
        assert "TPOT p50" not in text
        assert "Output Token" not in text
    assert "Output event throughput (events/s):" in block
    for draw, label in ((draw_throughput, "output events/s"), (draw_tpot, "time per event")):
        figure = draw(found)
        assert figure is not None
        assert figure.axes[0].get_ylabel() == label


def test_a_rare_answer_without_usage_changes_nothing(tmp_path: Path) -> None:
    found = analysis(tmp_path, 50)
    assert all("tokens_counted_as_events" not in level.grade.marks for level in found.verdict.levels)
    assert not any("does not count" in note for note in found.notes)
