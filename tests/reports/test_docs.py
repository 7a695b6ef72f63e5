"""The pages on metrics and verdicts name what there is: every column, mark, status, remark and mode, and no other."""

import ast
import json
import re
from fnmatch import fnmatch
from pathlib import Path

from loadband.analysis.level import STEP_TABLE_COLUMNS

ROOT = Path(__file__).parents[2]
METRICS = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
VERDICT = (ROOT / "docs" / "verdict.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "reports" / "verdict.schema.json").read_text(encoding="utf-8"))
CODE = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "loadband" / "analysis").glob("*.py")]


def first_words(method: str) -> set[str]:
    """The first argument of all calls of a method with a plain text."""
    calls = [node for tree in CODE for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == method and call.args
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    }


def test_every_column_has_its_formula_and_every_formula_a_column() -> None:
    named = [name for row in re.findall(r"^\| `([^`]+)` \|", METRICS, re.MULTILINE) for name in row.split()]
    named += ["step", "repeat", "offered_req_s"]
    assert "`step` and `repeat`" in METRICS
    assert [c for c in STEP_TABLE_COLUMNS if not any(fnmatch(c, name) for name in named)] == []
    assert [name for name in named if not any(fnmatch(c, name) for c in STEP_TABLE_COLUMNS)] == []


def test_every_mark_is_explained() -> None:
    marks = first_words("mark") | {"few_for_p95", "few_for_p99"}
    assert len(marks) > 10
    assert [mark for mark in sorted(marks) if f"`{mark}`" not in VERDICT] == []


def test_every_word_of_the_schema_is_explained() -> None:
    modes = [mode for mode in SCHEMA["properties"]["failure"]["properties"]["mode"]["enum"] if mode]
    words = [*SCHEMA["$defs"]["status"]["enum"], *modes]
    missing = [word for word in words if f"`{word}`" not in VERDICT]
    assert missing == ["found"]


def test_every_remark_is_in_the_catalogue() -> None:
    source = (ROOT / "loadband" / "analysis" / "gains.py").read_text(encoding="utf-8")
    remarks = set(re.findall(r'return "([^"]+)"', source)) | {"+1.1 % only"}
    remarks |= set(re.findall(r'"(clear gain|no gain|past the peak|too many errors|first level)"', source))
    table = VERDICT.partition("## What a level brings")[2].partition("\n## ")[0]
    rows = {name.strip() for row in re.findall(r"^\| ([^|`]+) \|", table, re.MULTILINE) for name in row.split(",")}
    assert rows - {"remark", "---"} == remarks
