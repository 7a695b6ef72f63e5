"""After too much load: when is the server as it was on the way up? On hand-made seconds and requests."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loadband.analysis.recovery import Recovery, recovery_of
from loadband.analysis.verdict import Facts
from loadband.analysis.windows import Hold, Step
from loadband.errors import ExitCode
from reports.__main__ import main
from reports.recovery import recovery_sentence, spike_sentences
from tests.analysis.build_run import Build, Server, build_run
from tests.analysis.make_levels import LIMITS, ladder, verdict_of
from tests.reports.test_reports_command import validated

RUN: dict[str, Any] = {"plan": {"recover": True}, "recovery": {"step": 3, "after": 2}}
FELL = 200.0


def steps(end: float = 260.0, ended_by: str = "hold") -> list[Step]:
    """8 users from 100 to 140, 16 from 150 to 190, then 8 again from 200 on."""
    return [
        Step(1, 1, 8, None, 95.0, "hold", Hold(100.0, 140.0)),
        Step(2, 1, 16, None, 145.0, "failure", Hold(150.0, 190.0)),
        Step(3, 1, 8, None, FELL, ended_by, Hold(FELL + 1, end)),
    ]


def files(slow_s: float = 0.0, silent_s: float = 0.0, end: int = 260) -> tuple[pd.DataFrame, pd.DataFrame]:
    """100 tokens/s and a first token after 0.1 s, two a second; after the fall nothing comes for `silent_s`, and TTFT
    is 3 s for `slow_s`."""
    seconds = np.arange(90, end)
    silent = (seconds >= FELL) & (seconds < FELL + silent_s)
    noise = np.where(seconds % 2, 2, -2)
    tokens = np.where(silent, 0, 100 + noise)
    of_second = pd.DataFrame({"second": seconds, "output_tokens_ok": tokens, "output_tokens_cut": 0.0})
    first_at = np.arange(90, end, 0.5)
    first_at = first_at[~((first_at >= FELL) & (first_at < FELL + silent_s))]
    slow = (first_at >= FELL) & (first_at < FELL + slow_s)
    ttft = np.where(slow, 3.0, 0.1 + 0.01 * np.sin(first_at))
    requests = pd.DataFrame({
        "status": "ok", "started_at": first_at - ttft, "ended_at": first_at + 0.4, "ttft_s": ttft,
    })  # fmt: skip
    return requests, of_second


def judged(run: dict[str, Any] | None = None, of: list[Step] | None = None, **changes: Any) -> Recovery:
    found = recovery_of(run or RUN, of or steps(), *files(**changes), LIMITS)
    assert found is not None
    return found


BACK: list[tuple[dict[str, Any], tuple[float, float, float], str]] = [
    ({}, (0, 0, 0), "at once"),
    ({"slow_s": 20.0}, (20, 0, 20), "a queue that has to be worked off"),
    ({"silent_s": 30.0}, (30, 30, 30), "a server that starts anew"),
    ({"silent_s": 10.0, "slow_s": 25.0}, (25, 10, 25), "both"),
]


@pytest.mark.parametrize(("changes", "times", "sentence"), BACK, ids=[row[2] for row in BACK])
def test_how_long_it_takes(changes: dict[str, Any], times: tuple[float, float, float], sentence: str) -> None:
    found = judged(**changes)
    assert found.status == "found", sentence
    told = (found.seconds, found.throughput_s, found.ttft_s)
    assert told == pytest.approx(times, abs=5.0), "no finer than a window"
    assert (found.fell_from, found.fell_to, found.window_s, found.watched_s) == (16, 8, 5, 60)
    assert found.throughput_from == pytest.approx(97, abs=3)
    assert found.ttft_upto == pytest.approx(0.1, abs=0.02)


def test_not_back_while_it_was_watched() -> None:
    found = judged(slow_s=100.0)
    assert (found.status, found.seconds, found.throughput_s, found.ttft_s) == ("not_reached", None, 0, None)
    assert found.reason == "TTFT p50 not back within 60 s"


def test_a_server_that_is_dead_for_good() -> None:
    found = judged(of=steps(end=320.0, ended_by="target_lost"), silent_s=1e9)
    assert (found.status, found.watched_s) == ("none", 120)
    assert found.reason == "nothing was served for 120 s: the server did not come back"


UNKNOWN: list[tuple[dict[str, Any], list[Step], str]] = [
    ({"plan": {"recover": True}}, steps()[:2], "the run ended before the load fell"),
    (RUN, [*steps()[:2], Step(3, 1, 8, None, FELL, "stopped", None)], "the run ended as the load fell"),
    (RUN, steps()[1:], "its level was not held on the way up: nothing to compare with"),
    (RUN, [Step(1, 1, 8, None, 95.0, "hold", Hold(100.0, 103.0)), *steps()[1:]],
     "6 answers in the 3 s at its level on the way up are too few to compare with"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "of", "reason"), UNKNOWN, ids=[row[2] for row in UNKNOWN])
def test_what_cannot_be_told_is_undecided(run: dict[str, Any], of: list[Step], reason: str) -> None:
    found = judged(run, of)
    assert (found.status, found.reason) == ("undecided", reason)


def test_a_run_without_one_has_none() -> None:
    assert recovery_of({"plan": {}}, steps(), *files(), LIMITS) is None


@pytest.mark.parametrize(("status", "code"), [("found", 0), ("not_reached", 0), ("none", 0), ("undecided", 3)])
def test_exit_codes(status: str, code: int) -> None:
    levels = ladder({2: 100, 4: 195, 8: 380, 16: 700, 32: 900, 64: 905}, e2e_mean_s=1.0)
    assert verdict_of(levels, Facts(recovery=Recovery(status))).exit_code == ExitCode(code)


def test_the_report_of_a_recovery(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The synthetic server has no memory: it is back as soon as what waited is served."""
    levels = (2, 4, 8, 16, 32)
    built = build_run(tmp_path / "run", Build(levels=levels, hold_s=30.0, server=Server(slots=8)))
    path = built.path / "run.json"
    run = json.loads(path.read_text())
    rows = (built.path / "steps.csv").read_text().splitlines()
    last = rows[-1].split(",")
    last[0], last[2], last[4:8] = "6", "8", [last[7], last[7], last[7], str(float(last[7]) + 3)]
    (built.path / "steps.csv").write_text("\n".join([*rows, ",".join(last)]) + "\n")
    path.write_text(json.dumps(run | {"recovery": {"step": 6, "after": 5}, "plan": run["plan"] | {"recover": True}}))
    assert main([str(built.path)]) == 0
    told = validated((built.path / "report" / "verdict.json").read_text())
    assert [level["users"] for level in told["levels"]] == list(levels), "the step after the fall is no level"
    assert (told["recovery"]["fell_from"], told["recovery"]["fell_to"]) == (32, 8)
    assert told["recovery"]["status"] in ("not_reached", "none")
    assert "Recovery, from 32 to 8 users: " in capsys.readouterr().out


def test_the_words_of_a_spike() -> None:
    levels = ladder({8: 500, 64: 900}, ttft_p50_s=0.2, ttft_p95_s=1.5)
    spiked = verdict_of(levels, Facts(ladder=False, spiked=True, recovery=Recovery("found", 64, 8, 12.0, 3.0, 12.0)))
    assert spike_sentences(spiked) == [
        "Spike from 8 to 64 users for 60 s: inside 900 output tokens/s, TTFT p50 200 ms, p95 1.5 s, errors 0 of 1,000; "
        "before 500 output tokens/s, TTFT p50 200 ms, p95 1.5 s, errors 0 of 1,000."
    ]
    assert recovery_sentence(spiked).startswith(
        "Recovery, from 64 to 8 users: throughput and TTFT p50 were as before 12 s"
    )
    alone = verdict_of(ladder({8: 500}), Facts(ladder=False, spiked=True))
    assert spike_sentences(alone) == ["The spike was not held: the run ended before it."]


def test_work_for_users_who_had_left_is_told() -> None:
    zombies = judged({**RUN, "recovery": {"step": 3, "after": 2, "zombies_most": 12.0, "zombies_s": 7.0}})
    assert (zombies.zombies_most, zombies.zombies_s) == (12, 7)
    levels = ladder({8: 500, 16: 900})
    assert recovery_sentence(verdict_of(levels, Facts(recovery=zombies))).endswith(
        "Zombie work: until 7 s after the fall the server ran up to 12 requests more than there were users."
    )
    none = judged({**RUN, "recovery": {"step": 3, "after": 2, "zombies_most": 0.0, "zombies_s": 0.0}})
    assert "No zombie work" in recovery_sentence(verdict_of(levels, Facts(recovery=none)))
    assert "ombie" not in recovery_sentence(verdict_of(levels, Facts(recovery=judged())))
