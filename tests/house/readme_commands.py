"""The commands of the READMEs, and what stands for each when a test runs it: smaller, and against a server here.

Knows: how a README writes commands, and every change that is made to them. Must not know: how they are run.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
"""The other language has the same blocks: `test_readme.py`."""

TOOLS = frozenset({"make", "python", "locust", ".", "export", "docker", "curl", "git", "pip", "cd", "helm", "kubectl"})
"""A block whose first word is one of these holds commands, one a line."""

EXAMPLES = ("qwen2.5-32b-q4 at ", "http://127.0.0.1:18325\n")
"""How a block begins that shows what a command prints."""

SMALL = (
    (r"http://gpu1:8000", "{server}", "the reader's server is a simulated one"),
    (r"--port 8000", "--port 0", "any free port"),
    (r" --hold \S+", "", "see the next but one"),
    (r"--steps \S+", "--steps 1,2,4", "few levels"),
    (r"--rates \S+", "--rates 2,4,6", "few levels"),
    (r"(--headless .*)", r"\1 --hold 4s --settle 1s --warmup 0s", "short levels"),
    (r"(--run-dir runs/a100)", r"\1 --label max_num_seqs=32", "what a later command compares by"),
    (r"runs/before runs/after", "runs/a100 runs/a100", "the run that there is, against itself"),
    (r"curve table\.csv", "curve runs/a100/report/step_table.csv", "a table that there is"),
    (r"old_run/locust", "runs/a100/locust", "Locust's files of the run that there is"),
    (r"@32", "@4", "a limit is judged at a level that there is"),
    (r"^(locust (?!.*--headless).*)", r"\1 --web-port {port}", "any free port"),
    (
        r"^(make demo)( ENGINE=\S+)?.*",
        r'\1\2 STEPS=1,2,4 HOLD=4s ARGS="--settle 1s --warmup 0s --slo error_rate<=50%"',
        "few and short levels",
    ),
)
"""Pattern, what stands instead, why; each is applied to every command, in this order."""

NOT_RUN = (
    (r"^make demo ENGINE=vllm", "installs 2.5 GB: `make test-vllm` loads that engine"),
    (r"--master-bind-host|--worker --master-host", "needs several machines: `tests/process` runs master and workers"),
    (r"curve results/vllm-bench", "needs what another tool saved: `tests/analysis/test_tool_results.py` reads such"),
)
"""Pattern, and why no test types it."""

FOR_EVER = re.compile(r"loadband simulate|^locust (?!.*--headless)")
"""Runs until it is told to end."""

SHELL = re.compile(r"^(\.|export|cd) ")
"""Says something to the reader's shell; every later command is typed into the same."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line of a README."""

    written: str
    run: str
    """What a test runs instead; `{server}` and `{port}` are still open."""
    why_not: str = ""
    """Why none does; empty when one does."""


def blocks(page: str) -> list[str]:
    """The fenced blocks of a page."""
    return re.findall(r"^```\w*\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def holds_commands(block: str) -> bool:
    """Whether a block is typed; False when it is an example of output. Raises ValueError when it is neither."""
    if block.split(maxsplit=1)[0] in TOOLS:
        return True
    if block.startswith(EXAMPLES):
        return False
    raise ValueError(f"neither commands nor a known example: {block.splitlines()[0]!r}")


def commands(page: str) -> list[Command]:
    """All commands of a page, in order; lines that a backslash continues are one."""
    typed = "".join(block for block in blocks(page) if holds_commands(block)).replace("\\\n", " ")
    return [command(line) for line in typed.splitlines() if line.strip() and not line.startswith("#")]


def command(written: str) -> Command:
    """One line, and what is run instead."""
    for pattern, why in NOT_RUN:
        if re.search(pattern, written):
            return Command(written, "", why)
    run = written
    for pattern, instead, _ in SMALL:
        run = re.sub(pattern, instead, run)
    return Command(written, run)
