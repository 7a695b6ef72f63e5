"""One examination, for tests: what is asked of the target in few words.

Knows: the doctor's own entrance. Must not know: any test.
"""

from loadband.load.distribution import parse_distribution, parse_token_count
from loadband.load.exchange import Timeouts
from loadband.load.probe import Target
from loadband.tuning.doctor.check import Check, Examination, Mark
from loadband.tuning.doctor.examination import examine
from loadband.tuning.doctor.needs import Needs

VARIABLE = "LOADBAND_API_KEY"


def target(url: str, *, key: str | None = None, model: str | None = None, within_s: float = 5.0) -> Target:
    """The target as the command asks for it."""
    limits = Timeouts(connect_s=within_s, first_token_s=within_s, idle_s=within_s, total_s=4 * within_s)
    return Target(url, model, key, VARIABLE, 0.7, None, limits, "0123456789ab")


def needs(prompt: str = "50-200", answer: str = "64-448", think: str = "0.1", accelerators: int | None = 1) -> Needs:
    """A plan of eight users."""
    return Needs(8, 1, parse_distribution(think), parse_token_count(prompt), parse_token_count(answer), accelerators)


class Seen:
    """What came of it: `checks` by name, and the code."""

    def __init__(self, examination: Examination) -> None:
        self.examination = examination
        self.code = int(examination.exit_code)
        self.checks: dict[str, Check] = {check.name: check for check in examination.checks}

    @property
    def bad(self) -> list[str]:
        """The sentences of what is bad."""
        return [check.sentence for check in self.checks.values() if check.mark == Mark.BAD]

    def mark(self, name: str) -> str:
        """The mark of a check."""
        return str(self.checks[name].mark)

    def said(self, name: str) -> str:
        """The sentence of a check and its next step."""
        return self.checks[name].sentence


def examined(asked: Target, plan: Needs | None = None) -> Seen:
    """Examine a target."""
    return Seen(examine(asked, plan or needs()))
