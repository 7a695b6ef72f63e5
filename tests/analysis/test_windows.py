import numpy as np
import pandas as pd
import pytest

from loadband.analysis import windows
from loadband.analysis.windows import Hold
from loadband.histogram import Histogram

HOLD = Hold(100.5, 103.25)


def requests(*spans: tuple[float, float]) -> pd.DataFrame:
    """Requests from begin to end."""
    frame = pd.DataFrame({"started_at": [a for a, _ in spans], "duration_s": [b - a for a, b in spans]})
    return windows.with_end(frame.assign(e2e_s=np.nan, flags="", id=[str(n) for n in range(len(spans))]))


def seconds(rows: list[tuple[float, float | None, float | None, float]]) -> pd.DataFrame:
    columns = ["second", "users", "in_flight", "output_tokens_ok"]
    frame = pd.DataFrame(rows, columns=columns).astype(np.float64)
    return windows.by_second(frame.assign(scenario="", output_tokens_cut=0.0))


def test_a_request_belongs_to_the_hold_in_which_it_ended() -> None:
    table = requests((90, 100.4), (90, 100.5), (101, 102), (103, 103.25), (103, 103.3))
    assert list(windows.ended_inside(table, HOLD)["ended_at"]) == [100.5, 102, 103.25]


@pytest.mark.parametrize(
    ("flags", "counts"), [("warmup", False), ("bursty;warmup", False), ("warmup;no_done", False), ("bursty", True)]
)
def test_a_request_of_the_warm_up_is_of_no_level(flags: str, counts: bool) -> None:
    table = requests((101, 102)).assign(flags=flags)
    assert windows.ended_inside(table, HOLD).empty is not counts


def test_conservation_weighs_the_time_open_inside() -> None:
    table = requests((90, 101.5), (101, 102), (103, 200), (0, 1))
    assert windows.open_seconds(table, HOLD) == pytest.approx(1.0 + 1.0 + 0.25)


def test_a_request_that_never_ended_is_in_no_level() -> None:
    table = requests((101, np.nan))
    assert windows.ended_inside(table, HOLD).empty
    assert windows.open_seconds(table, HOLD) == 0


def test_prompt_tokens_count_where_the_first_token_came_and_of_one_piece_where_it_ended() -> None:
    table = requests((100, 102), (100, 102), (100, 104), (100, 104))
    told = table.assign(status="ok", prompt_tokens=[1.0, 10.0, 100.0, 1000.0], ttft_s=[1.0, np.nan, 3.5, np.nan])
    assert windows.prompt_tokens_inside(told.assign(e2e_s=[2.0, 2.0, 4.0, 4.0]), HOLD) == 11.0


def test_edge_seconds_count_by_their_covered_share() -> None:
    inside = windows.seconds_inside(seconds([(s, 1, 1, 100) for s in range(98, 106)]), HOLD)
    assert list(inside["weight"]) == pytest.approx([0.5, 1, 1, 0.25])
    assert windows.per_second(inside, HOLD, "output_tokens_ok") == pytest.approx(100)


def test_rates_divide_by_the_hold_not_by_the_seconds_on_record() -> None:
    inside = windows.seconds_inside(seconds([(101, 1, 1, 275)]), HOLD)
    assert windows.per_second(inside, HOLD, "output_tokens_ok", "output_tokens_cut") == pytest.approx(100)
    assert list(windows.series(inside, HOLD, "output_tokens_ok")) == [275, 0]


def test_late_rows_add_up_and_leave_the_users_alone() -> None:
    rows: list[tuple[float, float | None, float | None, float]] = [
        (101, 8, 7.5, 10), (102, 8, 7.9, 5), (101, None, None, 32), (101, None, None, 8),
    ]  # fmt: skip
    table = seconds(rows)
    assert list(table["output_tokens_ok"]) == [50, 5]
    assert list(table["users"]) == [8, 8]
    assert list(table["in_flight"]) == [7.5, 7.9]


def steps(*rows: tuple[float, float, float | None, float | None, str]) -> pd.DataFrame:
    names = ["step", "target", "hold_from", "hold_to", "ended_by"]
    frame = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(names[:-1], np.float64))
    return frame.assign(repeat=1.0, offered_req_s=np.nan, asked_at=0.0)


def test_of_several_rows_for_a_step_the_last_counts() -> None:
    found = windows.steps_of(steps((2, 4, 20, 30, "hold"), (1, 2, 5, None, ""), (1, 2, 5, 15, "hold")), 99)
    assert [(step.step, step.hold) for step in found] == [(1, Hold(5, 15)), (2, Hold(20, 30))]


def test_a_step_that_was_never_held_has_no_hold() -> None:
    assert windows.steps_of(steps((1, 2, None, None, "not_reached")), 99)[0].hold is None
    assert windows.steps_of(steps((1, 2, 50, 50, "stopped")), 99)[0].hold is None


def test_a_hold_of_years_is_a_damaged_cell() -> None:
    assert windows.steps_of(steps((1, 2, 0, 1.8e9, "hold")), 99)[0].hold is None
    assert windows.steps_of(steps((1, -2, 5, 15, "hold")), 99)[0].users is None


def test_a_hold_that_the_run_did_not_survive_ends_with_what_was_written() -> None:
    step = windows.steps_of(steps((1, 2, 50, None, "")), 80)[0]
    assert step.hold == Hold(50, 80)
    assert step.unfinished


def test_a_step_without_an_end_gives_way_to_the_next() -> None:
    """The row of its end was torn: what follows is of another level."""
    table = steps((1, 2, 50, None, ""), (2, 4, 90, 120, "hold")).assign(asked_at=[44.0, 80.0])
    assert [step.hold for step in windows.steps_of(table, 125)] == [Hold(50, 80), Hold(90, 120)]


def test_gaps_of_the_seconds_inside_are_merged_over_workers() -> None:
    def row(second: int, worker: str, value: float) -> dict[str, object]:
        one = Histogram([value])
        cells = {"count": 1.0, "sum": value, "min": value, "max": value, "buckets": one.encode()}
        return {"second_from": second, "second_to": second, "metric": "itl", "scenario": "a", "worker": worker} | cells

    table = pd.DataFrame([row(100, "w1", 9.0), row(101, "w1", 1.0), row(102, "w2", 2.0), row(103, "w1", 9.0)])
    damaged = {**row(101, "w1", 1.0), "buckets": "torn:"}
    table = pd.concat([table, pd.DataFrame([damaged])], ignore_index=True)
    merged = windows.merged_histograms(table, HOLD, "itl")["itl"]
    assert (merged.count, merged.maximum) == (2, 2.0)
    assert set(windows.merged_histograms(table, HOLD, "itl", by="worker")) == {"w1", "w2"}
