"""The columns of a Locust history under the names of Locust 2, whichever version wrote it.

Knows: old names, what an older Locust did not write. Must not know: rows.

Locust 0.x called the totals `# requests` and `# failures` and wrote no number of users; its sample header even lacked a
closing quote. Percentile columns are whatever `PERCENTILES_TO_REPORT` said. So columns go by name, and one that is
missing is named, never taken for 0.
"""

from collections.abc import Sequence
from pathlib import Path

from loadband.errors import UsageError

OLD_NAMES = {
    "# requests": "Total Request Count",
    "request count": "Total Request Count",
    "# failures": "Total Failure Count",
    "failure count": "Total Failure Count",
    "average response time": "Total Average Response Time",
    "requests failed/s": "Failures/s",
    "user count": "User Count",
    "timestamp": "Timestamp",
    "type": "Type",
    "name": "Name",
    "method": "Type",
}
"""In lower case; what stands under a name of Locust 2 already keeps it."""

EXPLAINED = {
    "User Count": "Locust before 1.0 did not write it, and without it no level can be told",
    "Timestamp": "without it no rate can be told",
}


def renamed(text: str) -> str:
    """The text of a file with its header in the names of Locust 2."""
    line, end, rows = text.partition("\n")
    if line.count('"') % 2:
        line = line.replace('"', "")
    cells = [cell.strip().strip('"') for cell in line.rstrip("\r").split(",")]
    present = set(cells)
    cells = [OLD_NAMES[cell.lower()] if _old(cell, present) else cell for cell in cells]
    return ",".join(f'"{cell}"' for cell in cells) + end + rows


def _old(cell: str, present: set[str]) -> bool:
    return cell.lower() in OLD_NAMES and OLD_NAMES[cell.lower()] not in present


def check_columns(columns: Sequence[str], needed: Sequence[str], path: Path) -> None:
    """Raise UsageError that names what is missing, and why it may be."""
    missing = [name for name in needed if name not in columns]
    if missing:
        why = EXPLAINED.get(missing[0], "it is not a history of Locust, or is damaged")
        raise UsageError(f"{path} has no column {', '.join(missing)}: {why}")
