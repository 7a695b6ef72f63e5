"""What a run that is over says to the script that called it: its report, and the exit code.

Knows: how a test ended, and whether a report or an SLO is asked for. Must not know: the ladder, files, how a verdict is
reached: `python -m reports` is a process of its own.
"""

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from loadband.errors import ExitCode
from loadband.load.conductor import LOST_TARGET, Conductor

CHECKOUT = Path(__file__).resolve().parents[2]


def code_of(
    conductor: Conductor,
    *,
    report: bool,
    has_slo: bool,
    terminated: bool,
    tokenizer: str | None,
    say: Callable[[str], None],
) -> int:
    """The exit code; the report is made on the way, or where an SLO is to gate without one, the verdict alone.

    What the server did not count is then counted by the `tokenizer`. After SIGTERM there is no time for any of it, and
    an SLO is not judged; nor where a signal, as a second Ctrl-C, ends the report.
    """
    if conductor.unwritable or conductor.path is None:
        return ExitCode.UNANSWERED
    words = [str(conductor.path), *(["--tokenizer", tokenizer] if tokenizer else [])]
    by_hand = f"make the report with: python -m reports {shlex.join(words)}"
    if terminated or not (report or has_slo):
        say(f"files are in {conductor.path}; {by_hand}")
        if conductor.how == LOST_TARGET:
            return ExitCode.UNREACHABLE
        return ExitCode.UNANSWERED if has_slo or conductor.workers_gone else ExitCode.OK
    sys.stderr.flush()
    words[0] = str(conductor.path.resolve())
    command = [sys.executable, "-m", "reports", *words, *([] if report else ["--no-write"])]
    code = subprocess.run(command, cwd=CHECKOUT, check=False).returncode
    if code < 0:
        say(f"the report was broken off; {by_hand}")
        return ExitCode.UNANSWERED
    return code
