"""Which failures are asked again, and after how long: `--retries`.

Knows: failure classes, what a server says of when to come back. Must not know: connections, answers, Locust.

Asked again is what may go better a moment later and has shown nobody anything: a refusal for load, no connection, one
that broke, a fault of server or gateway, as long as no token came. Not asked again: time-outs (the server may still
be at work on it), what would be refused again, and faults of the client.
"""

import random
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from loadband.errors import UsageError
from loadband.record import FailureClass, http_class

AGAIN = frozenset(
    {FailureClass.THROTTLED, FailureClass.CONNECT, FailureClass.TIMEOUT_CONNECT, FailureClass.RESET}
    | {http_class(code) for code in (408, 500, 502, 504)}
)

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Before the second attempt; doubled with each one more, up to the longest."""

SPREAD = 0.25
"""Users who were refused together come back spread over this share of their wait."""

LONGEST_ASKED_S = 60.0
"""A server that wants to be left alone for longer is: the failure stands."""

MOST = 10


@dataclass(frozen=True, slots=True)
class Retries:
    """How often one request is asked again at most."""

    most: int = 0

    def wait_s(self, attempt: int, failure_class: str | None, retry_after: str, now: float, seed: str) -> float | None:
        """Seconds until the attempt after `attempt` (from 1), of which no token came; None when there is none.

        `retry_after`: the header's value, empty where there was none; `now`: Unix seconds, for a date in it.
        """
        if attempt > self.most or failure_class not in AGAIN:
            return None
        asked = asked_wait_s(retry_after, now)
        if asked is not None:
            return asked if asked <= LONGEST_ASKED_S else None
        wait = min(FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S)
        return wait * (1 - SPREAD * random.Random(f"{seed}/retry/{attempt}").random())


def asked_wait_s(retry_after: str, now: float) -> float | None:
    """Seconds that a `Retry-After` asks for, from 0: a number or a date; None of anything else."""
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", retry_after):
        return float(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def parse_retries(text: str) -> int:
    """A number from 0 to `MOST`. Raises UsageError."""
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > MOST:
        raise UsageError(f"'{text[:60]}' is no number of retries: write 0 for none, or up to {MOST}")
    return int(text)
