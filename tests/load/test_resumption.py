"""A run that was cut off: which levels stand, what is refused, and that a ladder goes on as if nothing had happened."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from loadband import rundir
from loadband.errors import UsageError
from loadband.load.claim import Claim
from loadband.load.course import Held, Kept
from loadband.load.ladder import Ladder
from loadband.load.ledger import COUNTERS
from loadband.load.resumption import Past, past_of
from loadband.load.step import Step
from loadband.plan import Plan, parse_hold
from loadband.record import Record, Status
from loadband.rundir import RunDirectory
from tests.load.climbing import Run
from tests.load.records import record

HOLD = parse_hold("30s")


def plain(*levels: int, **more: Any) -> Plan:
    return Plan(levels, HOLD, settle_s=0.0, warmup_s=0.0, **more)


PLACES = 20


def comes_to(step: Step) -> Held:
    """A server of so many places: with more users, all wait longer than the limit."""
    ok = 30 * min(step.target, PLACES) + step.step
    e2e_s = max(1.0, step.target / PLACES)
    return Held(seconds=30.0, ok=ok, tokens=100 * ok, e2e_sum_s=ok * e2e_s, kept=(Kept(ok, ok if e2e_s > 1 else 0),))


PLANS = {
    "fixed levels": plain(2, 8, 16),
    "passes": plain(2, 8, repeats=3),
    "rates": Plan((), HOLD, settle_s=0.0, warmup_s=0.0, rates=(1.0, 2.0), repeats=2),
    "a baseline": plain(8, repeats=3, baseline=True),
    "a climb that is refined": plain(4, 16, 64, refine=True),
    "a climb that grows": plain(1, refine=True, grows=True),
    "a search": plain(1, find="ttft_p95<=1s"),
    "passes up to a failure": plain(2, 8, 16, 32, repeats=2, until_failure=True),
}


def climbed(plan: Plan, *held: Held) -> tuple[list[tuple[Any, ...]], list[Held]]:
    """Steps of a run, the first ones of them held before; and what all came to."""
    ladder = Ladder(plan)
    run = Run(ladder, comes_to=comes_to)
    if plan.until_failure:
        run.failing_from, run.failed_share = 16, 0.5
    if held and not ladder.go_on_after(held):
        return [], ladder.held
    steps = run.until_finished(within_s=1e5)
    return [(step.step, step.repeat, step.target, step.rate, step.ended_by) for step in steps], ladder.held


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_ladder_that_is_resumed_after_any_level_holds_the_others_as_it_would_have(plan: Plan) -> None:
    steps, held = climbed(plan)
    assert len(steps) == len(held) > 2
    for done in range(1, len(steps) + 1):
        again, all_held = climbed(plan, *_as_read(held[:done]))
        assert again == steps[done:], f"after {done} levels"
        assert all_held == held


def _as_read(held: list[Held]) -> list[Held]:
    """Through JSON and back."""
    return [Held.of(json.loads(json.dumps(asdict(each)))) for each in held]


RUN = {
    "tool": "1", "how": None, "ended": None, "started": 1000.0, "run_id": "first",
    "plan": {"levels": [1, 2], "hold": "10s"}, "sampling": {"temperature": 0.7}, "seed": 1,
    "probe": {"requests": 2}, "findings": ["a"], "workers": [],
    "held": [{**asdict(Held(users=users, seconds=10.0, ok=10)), "kept": []} for users in (1, 2)],
}  # fmt: skip


def left(path: Path, records: list[Record], started: dict[int, int], **run: Any) -> Path:
    """A run directory after two levels of 10 s, held from 1000 and from 1010 on, and one that was asked for at 1020."""
    directory = RunDirectory(path)
    path.mkdir()
    directory.write_run({**RUN, **run})
    for row in records:
        directory.appender(rundir.REQUESTS).append(row.values())
    for second, count in started.items():
        cells = {"started": count}
        directory.appender(rundir.SECONDS).append([second, "interactive", "", "", *(cells.get(c, 0) for c in COUNTERS)])
    for step, begin, end, how in ((1, 1000.0, 1010.0, "hold"), (2, 1010.0, 1020.0, "hold"), (3, 1021.0, None, None)):
        directory.appender(rundir.STEPS).append([step, 1, step, None, begin - 1, begin, begin, end, how])
    directory.appender(rundir.HISTOGRAMS)
    directory.appender(rundir.WORKERS)
    directory.close()
    return path


def cut(at: float, n: int, **fields: Any) -> Record:
    return record(Status.CUT, id=f"w1-{n}", started_at=at, duration_s=1.0, step=3, **fields)


STANDING: list[tuple[list[float], dict[int, int], int, str]] = [
    ([1005.0, 1022.0], {1005: 1, 1022: 1, 1024: 0}, 2, "nothing is missing"),
    ([1005.0], {1005: 1, 1022: 3, 1024: 0}, 2, "what is lost began after both"),
    ([1005.0], {1005: 1, 1019: 1, 1024: 0}, 1, "a request of the second is lost, so its tokens are"),
    ([], {1005: 1, 1022: 1, 1024: 0}, 0, "one of the first is"),
    ([1005.0], {1005: 1, 1015: 0}, 1, "the seconds of the second were not all written"),
    ([1005.0, 1018.9], {1005: 1, 1018: 1, 1019: 0}, 2, "all were"),
]


@pytest.mark.parametrize(("starts", "started", "stand", "sentence"), STANDING, ids=[row[3] for row in STANDING])
def test_a_level_stands_when_all_of_it_is_on_disk(
    tmp_path: Path, starts: list[float], started: dict[int, int], stand: int, sentence: str
) -> None:
    records = [record("lost", id=f"w0-{n}", started_at=at, duration_s=0.5) for n, at in enumerate(starts, 7)]
    past = past_of(left(tmp_path / "run", records, started))
    assert len(past.held) == stand, sentence
    assert [row[0] for row in past.repeated] == ["1", "2", "3"][stand:]
    assert past.first_request == max([0, *(7 + n for n in range(len(starts)))]) + 1
    past.claim.release()


def test_the_books_balance_afterwards_and_old_rows_stay(tmp_path: Path) -> None:
    path = left(tmp_path / "run", [cut(1021.5, 4), cut(1026.2, 9)], {1021: 1, 1022: 2, 1025: 0})
    with (path / rundir.REQUESTS).open("a") as file:
        file.write("w1-10,w1,intera")
    before = (path / rundir.REQUESTS).read_text()
    past = past_of(path)
    directory = RunDirectory(path)
    past.settle(directory)
    directory.close()
    past.claim.release()
    requests, seconds, steps = (_rows(path / name) for name in (rundir.REQUESTS, rundir.SECONDS, rundir.STEPS))
    assert (path / rundir.REQUESTS).read_text().startswith(before.removesuffix("w1-10,w1,intera"))
    assert [(row["id"], row["status"], row["started_at"], row["step"]) for row in requests[2:]] == [
        ("gone-10", "lost", "1022", "3"), ("gone-11", "lost", "1022", "3"),
    ]  # fmt: skip
    assert sum(int(row["started"]) for row in seconds) == len(requests) == 4
    assert sum(int(row["cut"]) for row in seconds) == 2
    assert (steps[-1]["step"], steps[-1]["hold_from"], steps[-1]["ended_by"]) == ("3", "", "cut_off")
    again = past_of(path)
    assert (again.balance.lost, again.balance.counters, len(again.held)) == ((), (), 2)
    again.claim.release()


def _rows(path: Path) -> list[dict[str, str]]:
    header, *lines = (line.split(",") for line in path.read_text().splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_one_run_json_tells_of_all_parts(tmp_path: Path) -> None:
    past = past_of(left(tmp_path / "run", [], {1022: 2, 1024: 0}, how="interrupted"))
    now = {**RUN, "run_id": "second", "probe": {"requests": 3}, "findings": ["a", "b"], "doctor": []}
    facts = past.facts(now, 2000.0)
    assert (facts["run_id"], facts["started"], facts["how"], facts["ended"]) == ("first", 1000.0, None, None)
    assert (facts["probe"], facts["findings"]) == ({"requests": 5}, ["a", "b"])
    assert facts["resumed"] == [{"at": 2000.0, "run_id": "second", "was": "interrupted", "levels": 2, "lost": 2}]
    assert len(facts["held"]) == 2
    past.claim.release()
    twice = replace(past, run=facts)
    assert (past.parts, twice.parts) == (1, 2)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"how": "plan"}, "has come to the end of its plan"),
    ({"how": "failure"}, "a failure was confirmed"),
    ({"how": "guard"}, "was ended by a guard"),
    ({"how": "target_lost"}, "lost its target"),
    ({"plan": None}, "has no plan"),
    ({"plan": {"levels": [1, 2], "recover": True}}, "their run begins anew"),
    ({"held": None}, "has no plan that could be gone on with"),
    ({"held": [{"users": 1}]}, "are damaged"),
    ({"held": [{"who": 1, "kept": []}]}, "are damaged"),
]


@pytest.mark.parametrize(("run", "sentence"), REFUSED, ids=[row[1] for row in REFUSED])
def test_a_run_that_cannot_be_gone_on_with_is_refused(tmp_path: Path, run: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        past_of(left(tmp_path / "run", [], {1022: 0}, **run))


def test_a_foreign_directory_is_refused_and_nothing_is_written_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no run directory"):
        past_of(tmp_path / "none")
    with pytest.raises(UsageError, match=r"holds no run\.json"):
        past_of(tmp_path)
    assert list(tmp_path.iterdir()) == []
    path = left(tmp_path / "run", [], {1022: 0})
    (path / rundir.STEPS).write_text("step,users\n1,8\n")
    with pytest.raises(UsageError, match="has other columns"):
        past_of(path)


def test_a_run_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    path = left(tmp_path / "run", [], {1022: 0})
    claim = Claim(path)
    with pytest.raises(UsageError, match="another process is writing"):
        past_of(path)
    claim.release()
    past_of(path).claim.release()


UNLIKE: list[tuple[dict[str, Any], str]] = [
    ({"seed": 2}, "was begun with seed 1, now it is 2"),
    ({"plan": {"levels": [1, 2, 4], "hold": "10s"}}, r"with plan.levels \[1, 2\], now it is \[1, 2, 4\]"),
    ({"sampling": {"temperature": 0.0}}, "with sampling.temperature 0.7, now it is 0.0"),
    ({"host": "http://gpu2:8000"}, 'with host null, now it is "http://gpu2:8000"'),
]


@pytest.mark.parametrize(("now", "sentence"), UNLIKE, ids=[row[1] for row in UNLIKE])
def test_other_options_are_refused_by_their_name(tmp_path: Path, now: dict[str, Any], sentence: str) -> None:
    past: Past = past_of(left(tmp_path / "run", [], {1022: 0}))
    past.claim.release()
    past.refuse_unlike(
        {**RUN, "run_id": "second", "findings": [], "doctor": [], "plan": {"hold": "10s", "levels": (1, 2)}}
    )
    with pytest.raises(UsageError, match=sentence):
        past.refuse_unlike({**RUN, **now})
