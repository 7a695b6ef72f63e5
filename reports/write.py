"""Write `RUN_DIR/report/`: table, verdict, Markdown, figures.

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
from reports.units import spoken


def write_report(analysis: Analysis, run_dir: Path) -> Path:
    """All files; returns the path of `report.md`. Raises UsageError when they cannot be written."""
    report = run_dir / rundir.REPORT
    try:
        (report / "figures").mkdir(parents=True, exist_ok=True)
        verdict = json.dumps(as_json(analysis.verdict), indent=1, ensure_ascii=False, allow_nan=False)
        rundir.write_atomically(report / "verdict.json", verdict + "\n")
        rundir.write_atomically(report / "step_table.csv", step_table(analysis.verdict.levels))
        rundir.write_atomically(report / "report.md", markdown(analysis, _draw(analysis, report)))
    except OSError as error:
        raise UsageError(
            f"cannot write the report to {report} ({error.strerror}): make it writable or copy the run elsewhere"
        ) from error
    return report / "report.md"


def _draw(analysis: Analysis, report: Path) -> list[tuple[str, str]]:
    """Draw what there is; captions and paths from the report's directory. Matplotlib is slow to import, so only then.

    A figure of an earlier report that has nothing to show any more is removed.
    """
    verdict = analysis.verdict
    something = verdict.causes or any(level.users and level.numbers.requests for level in verdict.levels)
    if not something and not any((report / "figures").iterdir()):
        return []
    from reports.figure import save  # noqa: PLC0415
    from reports.panels import FIGURES  # noqa: PLC0415

    drawn = []
    for name, caption, draw in FIGURES:
        path = report / "figures" / f"{name}.png"
        if (figure := draw(analysis)) is not None:
            save(figure, path)
            drawn.append((spoken(caption, analysis.verdict), f"figures/{name}.png"))
        else:
            path.unlink(missing_ok=True)
            path.with_suffix(".svg").unlink(missing_ok=True)
    return drawn
