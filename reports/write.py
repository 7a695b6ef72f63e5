"""Write `RUN_DIR/report/`: table, verdict, Markdown, figure.

Knows: file names. Must not know: what is in them. Each file is replaced whole; a reader never sees a half.
"""

import json
from pathlib import Path

from loadband import rundir
from loadband.analysis.analyse import Analysis
from loadband.analysis.verdict_json import as_json
from loadband.errors import UsageError
from reports.markdown import markdown
from reports.step_table import step_table

FIGURE = "figures/throughput.png"


def write_report(analysis: Analysis, run_dir: Path) -> Path:
    """All files; returns the path of `report.md`. Raises UsageError when they cannot be written."""
    report = run_dir / rundir.REPORT
    try:
        (report / "figures").mkdir(parents=True, exist_ok=True)
        verdict = json.dumps(as_json(analysis.verdict), indent=1, ensure_ascii=False, allow_nan=False)
        rundir.write_atomically(report / "verdict.json", verdict + "\n")
        rundir.write_atomically(report / "step_table.csv", step_table(analysis.verdict.levels))
        drawn = _draw(analysis, report / FIGURE)
        rundir.write_atomically(report / "report.md", markdown(analysis, FIGURE if drawn else None))
    except OSError as error:
        raise UsageError(
            f"cannot write the report to {report} ({error.strerror}): make it writable or copy the run elsewhere"
        ) from error
    return report / "report.md"


def _draw(analysis: Analysis, path: Path) -> bool:
    """Draw the figure when there is something to draw. Matplotlib is slow to import, so only then."""
    if not any(level.numbers.get(analysis.verdict.metric) and level.users for level in analysis.verdict.levels):
        return False
    from reports.figure import draw  # noqa: PLC0415

    draw(analysis, path)
    return True
