import json
from pathlib import Path

import jsonschema
import pytest

from loadband.analysis.breakdown import ScenarioPart, TurnPart
from loadband.analysis.verdict_json import as_json
from reports.__main__ import main
from reports.parts import shown_level
from tests.analysis.build_run import Build, build_run
from tests.analysis.make_levels import ladder, level, outage, verdict_of

SCHEMA = json.loads((Path(__file__).parents[2] / "reports" / "verdict.schema.json").read_text())
SHARP = {1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0, 16: 81.0, 32: 81.0}


@pytest.mark.parametrize(
    ("xs", "users"),
    [(SHARP, 8), ({1: 10.0, 2: 20.0, 4: 40.0}, 4), ({8: 10.0, 16: 10.0, 32: 10.0}, 8), ({4: 40.0, 8: 80.0}, 8)],
    ids=["the operating point", "not reached", "the first level", "none: the highest"],
)
def test_the_level_that_is_shown(xs: dict[int, float], users: float) -> None:
    shown = shown_level(verdict_of(ladder(xs)))
    assert shown is not None
    assert shown.users == users


def test_of_repeats_the_median_is_shown() -> None:
    levels = [level(8, x, repeat=n, step=n) for n, x in ((1, 80.0), (2, 90.0), (3, 84.0))]
    shown = shown_level(verdict_of(levels))
    assert shown is not None
    assert shown.numbers.repeat == 3


def test_no_valid_level_shows_none() -> None:
    assert shown_level(verdict_of([level(8, 10, grade=outage())])) is None


def test_a_mix_is_shown_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = build_run(
        tmp_path / "run",
        Build(levels=(2, 4, 8, 16, 32), hold_s=30.0),
        scenario=lambda rng, _level: "long_context" if rng.random() < 0.2 else "interactive",
        run={"mix": {"interactive": 8.0, "long_context": 2.0}},
    )
    assert main([str(built.path)]) == 0
    said = capsys.readouterr().out
    assert "By scenario at 16 users" in said
    assert [line.split()[0] for line in said.splitlines() if "context" in line or "interactive" in line] == [
        "interactive", "long_context",
    ]  # fmt: skip
    text = (built.path / "report" / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|") and "long\\_context" in line]
    assert [row.split("|")[1].strip() for row in rows] == ["2", "4", "8", "16", "32"]
    assert "First token by turn" not in text
    verdict = json.loads((built.path / "report" / "verdict.json").read_text())
    jsonschema.validate(verdict, SCHEMA)
    assert [part["scenario"] for part in verdict["levels"][0]["scenarios"]] == ["interactive", "long_context"]


def test_parts_are_plain_numbers_under_the_schema() -> None:
    part = ScenarioPart("long_context", 3, 2, 1, 1 / 3, 10.0, 0.1, 0.2, 0.01, None)
    one = level(8, 10, scenarios=(part,), turns=(TurnPart(1, 2, 0.1, None),), failures={"http_500": 1})
    data = as_json(verdict_of([one]))
    jsonschema.validate(data, SCHEMA)
    told = data["levels"][0]
    assert told["scenarios"][0]["error_rate"] == 0.333333
    assert told["turns"] == [{"turn": 1.0, "n": 2.0, "ttft_p50_s": 0.1, "ttft_p95_s": None}]
    assert told["failures"] == {"http_500": 1.0}
