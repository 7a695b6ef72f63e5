"""What the columns are called: tokens, or events where the server counts no tokens; users, or requests/s.

Knows: names of units, which of them change. Must not know: how tokens were counted, where a name is printed.
"""

from loadband.analysis.measure import TOKENS_AS_EVENTS
from loadband.analysis.rates import in_rates, is_open
from loadband.analysis.verdict import Verdict

UNITS = {"output_tok_s": "output tokens/s", "total_tok_s": "tokens/s", "req_s": "successful requests/s"}
INSTEAD = (
    ("time per output token", "time per event"),
    ("Time per Output Token (excl. 1st token)", "Time per Event (excl. 1st event)"),
    ("TPOT", "time/event"),
    ("tokens", "events"),
    ("Output token", "Output event"),
    ("tok/s", "events/s"),
)
"""Words of tokens, and what they are called where events stand for them."""


def counts_events(verdict: Verdict) -> bool:
    """Whether events stand for tokens at a level: then no number of tokens may be called one."""
    return any(TOKENS_AS_EVENTS in level.grade.marks for level in verdict.levels)


def named(text: str, verdict: Verdict) -> str:
    """The text, with events for tokens where they are that."""
    if counts_events(verdict):
        for tokens, events in INSTEAD:
            text = text.replace(tokens, events)
    return text


def axis(verdict: Verdict) -> str:
    """What the levels are numbers of: `users` or `requests/s`."""
    return "requests/s" if is_open(verdict.levels) else "users"


def spoken(text: str, verdict: Verdict) -> str:
    """A sentence about levels, with requests/s for users in an open loop."""
    return in_rates(text) if is_open(verdict.levels) else text


def unit(verdict: Verdict) -> str:
    """The unit of throughput."""
    return named(UNITS[verdict.metric], verdict)
