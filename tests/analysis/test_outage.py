from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadband.analysis.level import Evidence
from loadband.analysis.outage import outage_of
from loadband.analysis.windows import Hold

HOLD = Hold(0.0, 60.0)


def found(
    good: list[float],
    bad: Sequence[tuple[float, str, str]] = (),
    *,
    tokens: float = 0.0,
    e2e: float = 1.0,
    next_asked: float | None = None,
) -> Evidence | None:
    """Successes by their end, failures by end, class and message; users are there in every second."""
    rows: list[dict[str, Any]] = [
        {"ended_at": at, "status": "ok", "failure_class": "", "message": "", "e2e_s": e2e} for at in good
    ]
    rows += [
        {"ended_at": at, "status": "failed", "failure_class": kind, "message": message, "e2e_s": np.nan}
        for at, kind, message in bad
    ]
    columns = ["ended_at", "status", "failure_class", "message", "e2e_s"]
    requests = pd.DataFrame(rows, columns=columns).sort_values("ended_at")
    requests = requests.astype({"ended_at": np.float64, "e2e_s": np.float64})
    seconds = pd.DataFrame(
        {
            "second": np.arange(60.0), "users": 4.0, "output_tokens_ok": tokens, "output_tokens_failed": 0.0,
            "output_tokens_cut": 0.0, "in_flight": 4.0,
        }
    )  # fmt: skip
    return outage_of(requests, HOLD, seconds, next_asked, None)


STEADY = [float(at) for at in range(60)]


def test_a_steady_level_has_none() -> None:
    assert found(STEADY) is None


def test_silence_is_one_and_says_when() -> None:
    evidence = found([at for at in STEADY if not 10 < at < 45])
    assert evidence is not None
    assert (evidence.mode, evidence.healed) == ("outage", True)
    assert evidence.sentence == "no success for 35 s, from 10 s into the hold"


def test_silence_to_the_end_does_not_heal() -> None:
    evidence = found([at for at in STEADY if at < 25])
    assert evidence is not None
    assert not evidence.healed


def test_a_slow_server_that_still_streams_is_alive() -> None:
    assert found([at for at in STEADY if not 10 < at < 45], tokens=5.0) is None


def test_long_answers_have_long_gaps() -> None:
    """Three times an E2E p99 of 15 s is 45 s of patience."""
    assert found([1.0, 39.0, 59.0], e2e=15.0) is None


def test_a_server_that_answers_with_errors_is_there() -> None:
    failing = [(10.0 + n, "http_500", "boom") for n in range(50)]
    assert found([at for at in STEADY if at < 10], failing) is None


def test_a_last_error_before_silence_does_not_excuse_it() -> None:
    evidence = found([at for at in STEADY if at < 10], [(11.0, "stream_error", "boom")])
    assert evidence is not None
    assert evidence.sentence == "no success for 49 s, from 11 s into the hold"


def test_no_success_at_all() -> None:
    assert found([]) is not None


def test_refused_connections_and_nothing_else_for_two_seconds() -> None:
    refused = [(20.0 + n / 4, "connect", "refused") for n in range(20)]
    evidence = found([at for at in STEADY if at < 20 or at > 25], refused)
    assert evidence is not None
    assert evidence.sentence == "the target refused connections from 20 s into the hold"
    assert evidence.healed


def test_one_refusal_among_successes_is_a_full_backlog() -> None:
    assert found(STEADY, [(20.5, "connect", "refused"), (20.6, "connect", "refused")]) is None


def test_a_refusal_right_after_the_hold_speaks_of_its_level() -> None:
    evidence = found(STEADY, [(61.0 + n, "connect", "refused") for n in range(4)])
    assert evidence is not None
    assert "after the begin of the hold" in evidence.sentence


def test_a_refusal_while_the_next_levels_users_come_is_theirs() -> None:
    refused = [(61.0 + n, "connect", "refused") for n in range(4)]
    assert found(STEADY, refused, next_asked=60.5) is None
    assert found(STEADY, refused, next_asked=65.0) is not None


@pytest.mark.parametrize(
    "words", ["EngineCore encountered an issue", "CUDA out of memory. Tried to allocate", "the engine has died"]
)
def test_last_words_without_a_success_after_them(words: str) -> None:
    failures = [(50.0 + n, "stream_error", words) for n in range(5)]
    evidence = found([at for at in STEADY if at < 50], failures)
    assert evidence is not None
    assert words[:20] in evidence.sentence
    assert found(STEADY, failures) is None
