"""What is asked before load is answered at once, where the answers of a test take seconds.

Knows: by what a probe's requests are told from those of users. Must not know: any test.
"""

from loadband.load.probe import ANSWER_TOKENS
from tests.oracle import Rule, Tokens, rule, tokens

PROBE = rule(tokens(ttft_ms=2, itl_ms=1), equals=("max_tokens", ANSWER_TOKENS))
"""Goes first. For runs with `--no-doctor`, which asks more, and whose users ask for more tokens."""


def after_probe(answer: Tokens) -> tuple[Rule, Rule]:
    """The rules of a server that answers so, but for the probe."""
    return PROBE, rule(answer)
