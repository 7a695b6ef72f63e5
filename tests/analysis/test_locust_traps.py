"""Files of other people's Locust: each trap with its right value, and what cannot be known is said."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from loadband.analysis.analyse import Analysis, analyse_locust
from loadband.analysis.locust_files import prefix_of, read_history
from loadband.errors import UnansweredError, UsageError
from tests.analysis.make_levels import LIMITS

BEGIN = 1_795_961_000
HEADER = (
    "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,Total Request Count,Total Failure Count,"
    "Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time"
)
NEEDED = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time"


def wrote(where: Path, rows: Sequence[str], header: str = NEEDED, stats: str = "") -> Analysis:
    (where / "x_stats_history.csv").write_bytes(("\r\n".join([header, *rows]) + "\r\n").encode())
    if stats:
        (where / "x_stats.csv").write_text(stats)
    return analyse_locust(where / "x", None, None, LIMITS)


def row(second: int, users: int, count: float, *told: float, kind: str = ",Aggregated") -> str:
    """`told`: failures (0), mean response time in ms (500)."""
    failed = told[0] if told else 0.0
    mean_ms = told[1] if len(told) > 1 else 500.0
    return f"{BEGIN + second},{users},{kind},{count:.0f},{failed:.0f},{mean_ms}"


def is_like(analysis: Analysis, rates: dict[float, float], rel: float = 1e-6) -> bool:
    """Whether the levels and their requests/s are these."""
    levels = [(level.users, level.numbers.req_s) for level in analysis.verdict.levels]
    return [users for users, _ in levels] == list(rates) and [rate for _, rate in levels] == pytest.approx(
        list(rates.values()), rel=rel
    )


def test_a_column_that_freezes_is_not_read(tmp_path: Path) -> None:
    """Eight users, 8/s, while the column still remembers the 20/s of before."""
    rows = [f"{BEGIN + n},8,,Aggregated,20.000000,3.000000,1000,2000,{8 * n},0,900,1000,5,1200" for n in range(40)]
    assert is_like(wrote(tmp_path, rows, HEADER), {8: 8.0})


@pytest.mark.parametrize("full", [True, False])
def test_which_kind_of_percentiles_a_file_holds_is_said(tmp_path: Path, full: bool) -> None:
    entry = "POST,/v1/chat/completions"
    rows = [line for n in range(40) for line in (
        *([f"{BEGIN + n},8,{entry},8.0,0.0,700,900,{8 * n},0,700,750,5,900"] if full else []),
        f"{BEGIN + n},8,,Aggregated,8.0,0.0,700,900,{8 * n},0,700,750,5,900",
    )]  # fmt: skip
    analysis = wrote(tmp_path, rows, HEADER)
    kind = "over some ten seconds (--csv-full-history)" if full else "since the start"
    assert f"percentiles of this file are {kind}: of no level, and used for none" in analysis.notes
    assert all(level.numbers.e2e_p95_s is None for level in analysis.verdict.levels)


def test_a_percentile_since_the_start_does_not_say_how_slow_a_level_is(tmp_path: Path) -> None:
    """100 ms at 4 users for long, then 4 s at 16 users: the file's p95 still says 100, what is older lasts 8 s."""
    first = [f"{BEGIN + n},4,,Aggregated,0,0,100,100,{40 * n},0,100,100,5,120" for n in range(100)]
    counts = [3960 + 4 * n for n in range(40)]
    means = [(3960 * 100 + 4 * n * 4000) / count for n, count in enumerate(counts)]
    second = [f"{BEGIN + 100 + n},16,,Aggregated,0,0,100,100,{count},0,100,{mean},5,4000"
              for n, (count, mean) in enumerate(zip(counts, means, strict=True))]  # fmt: skip
    levels = wrote(tmp_path, first + second, HEADER).verdict.levels
    assert levels[1].numbers.e2e_mean_s == pytest.approx(4.0, rel=0.01)
    assert levels[1].numbers.hold_s == pytest.approx(31, abs=1.5), "40 s without the first 8"


def test_zeros_and_not_available_mean_nothing(tmp_path: Path) -> None:
    """Two users, 12 s each: percentiles and rates of 0 between the ends, N/A before the first."""
    rows = []
    for n in range(72):
        shown = "N/A,N/A" if n < 12 else "12000,12000" if n % 12 < 2 else "0,0"
        rows.append(f"{BEGIN + n},2,,Aggregated,0.000000,0.000000,{shown},{2 * (n // 12)},0,12000,12000,12000,12000")
    (level,) = wrote(tmp_path, rows, HEADER).verdict.levels
    assert level.numbers.req_s == pytest.approx(2 / 12, rel=0.01)
    assert level.numbers.e2e_mean_s == 12.0
    assert level.numbers.in_flight == pytest.approx(2.0, rel=0.01)


def test_metrics_that_were_fired_as_requests_stay_out(tmp_path: Path) -> None:
    """10 requests/s of 2 s each beside TTFT, TPOT and a number of tokens: Aggregated says 40/s of 604 ms."""
    rows = []
    for n in range(40):
        for kind, mean in (("POST", 2000), ("TTFT", 300), ("TPOT", 17), ("TOKENS", 100)):
            rows.append(row(n, 20, 10 * n, 0, mean, kind=f"{kind},/v1/chat/completions"))
        rows.append(row(n, 20, 40 * n, 0, 604.25))
    analysis = wrote(tmp_path, rows)
    assert is_like(analysis, {20: 10.0})
    assert analysis.verdict.levels[0].numbers.e2e_mean_s == pytest.approx(2.0)
    said = "rows of TOKENS, TPOT, TTFT are no requests and stay out of all numbers; their unit is unknown"
    assert said in analysis.notes


def test_several_addresses_are_added_and_failures_with_them(tmp_path: Path) -> None:
    """Chat 6/s of 1 s, completions 2/s of 3 s with every tenth failed, beside a custom row."""
    rows = []
    for n in range(60):
        rows += [
            row(n, 8, 6 * n, 0, 1000, kind="POST,/v1/chat/completions"),
            row(n, 8, 2 * n, n // 5, 3000, kind="POST,/v1/completions"),
            row(n, 8, 8 * n, 0, 9, kind="tokens,x"), row(n, 8, 16 * n, n // 5, 700),
        ]  # fmt: skip
    (level,) = wrote(tmp_path, rows).verdict.levels
    assert level.numbers.req_s == pytest.approx(8.0)
    assert level.numbers.e2e_mean_s == pytest.approx(1.5)
    assert level.numbers.error_rate == pytest.approx(0.1 * 2 / 8, abs=0.005)


def test_custom_rows_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    """A history without entries; that metrics were fired as requests shows in the totals beside it."""
    stats = (
        "Type,Name,Request Count,Failure Count,Average Response Time,Requests/s\n"
        "POST,/v1/chat/completions,100,0,2000,10.0\nTTFT,/v1/chat/completions,100,0,300,10.0\n,Aggregated,200,0,1150,20.0\n"
    )
    with pytest.raises(UnansweredError, match="holds only Aggregated rows, and these count TTFT as requests"):
        wrote(tmp_path, [row(n, 8, 20 * n) for n in range(40)], stats=stats)


def test_aggregated_is_counted_once(tmp_path: Path) -> None:
    """Twice in the same second, and beside its own entries: neither doubles the rate."""
    rows = [line for n in range(40) for line in (
        row(n, 8, 5 * n, kind="GET,/x"), row(n, 8, 5 * n), row(n, 8, 5 * n, kind=",Aggregated"),
    )]  # fmt: skip
    assert is_like(wrote(tmp_path, rows), {8: 5.0})


def test_counts_that_are_reset_in_mid_run_go_on(tmp_path: Path) -> None:
    """`--reset-stats` begins anew at each change of users: 4 users do 4/s, 8 users 8/s, 16 users 10/s."""
    rows, at = [], 0
    for users, rate, mean in ((4, 4, 1000), (8, 8, 1000), (16, 10, 1600)):
        rows += [row(at + n, users, rate * n, 0, mean) for n in range(40)]
        at += 40
    analysis = wrote(tmp_path, rows)
    assert is_like(analysis, {4: 4.0, 8: 8.0, 16: 10.0}, rel=0.02)
    assert [level.numbers.e2e_mean_s for level in analysis.verdict.levels] == pytest.approx([1.0, 1.0, 1.6], rel=0.02)
    assert "the counts were reset 2 times in mid-run (--reset-stats): the parts are added up" in analysis.notes


def test_of_several_tests_in_one_file_the_last_counts(tmp_path: Path) -> None:
    """The web UI writes on into the same file: users go, counts fall, users come."""
    first = [row(n, 32, 20 * n) for n in range(40)] + [row(40 + n, 0, 800) for n in range(20)]
    second = [row(60 + n, 8, 6 * n) for n in range(40)] + [row(100 + n, 0, 240) for n in range(5)]
    third = [row(105 + n, 4, 3 * n) for n in range(40)]
    analysis = wrote(tmp_path, first + second + third)
    assert is_like(analysis, {4: 3.0})
    assert "3 tests follow each other in this file: only the last is used" in analysis.notes


def test_old_names_of_columns(tmp_path: Path) -> None:
    header = (
        '"Type","Name","Timestamp","User count","# requests","# failures","Requests/s","Requests Failed/s",'
        '"Average response time'
    )
    rows = [f",Aggregated,{BEGIN + n},8,{7 * n},{n},0.70,0.10,500" for n in range(40)]
    (level,) = wrote(tmp_path, rows, header).verdict.levels
    assert level.numbers.req_s == pytest.approx(7.0)
    assert level.numbers.error_rate == pytest.approx(1 / 7)


def test_a_column_that_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no column User Count: Locust before 1\.0 did not write it"):
        wrote(tmp_path, ["7"], '"Type","Name","Timestamp","# requests","# failures","Average response time"')
    with pytest.raises(UsageError, match="has no column Total Average Response Time: it is not a history of Locust"):
        wrote(tmp_path, ["7"], "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count")


def test_other_percentile_columns(tmp_path: Path) -> None:
    """Percentiles are what somebody configured: without a 95 % the settling is told from mean times, which is said."""
    rows = [f"{BEGIN + n},8,,Aggregated,900,999,{8 * n},0,1000" for n in range(40)]
    header = (
        "Timestamp,User Count,Type,Name,50%,99.9%,Total Request Count,Total Failure Count,Total Average Response Time"
    )
    analysis = wrote(tmp_path, rows, header)
    assert is_like(analysis, {8: 8.0})
    assert any("has no 95% percentile" in note for note in analysis.notes)


def test_a_torn_line_is_dropped_with_a_note(tmp_path: Path) -> None:
    wrote(tmp_path, [row(n, 8, 5 * n) for n in range(40)])
    with (tmp_path / "x_stats_history.csv").open("a") as file:
        file.write(f"{BEGIN + 40},8,,Aggregated,8.0000")
    analysis = analyse_locust(tmp_path / "x", None, None, LIMITS)
    assert "the torn last line of x_stats_history.csv was dropped" in analysis.notes


def test_users_that_are_told_late_are_in_no_level(tmp_path: Path) -> None:
    """Distributed: 16 users are there from t = 40 on, the file says 8 until 43. 8 users do 8/s, 16 do 30/s."""
    counts = [8 * n if n < 40 else 320 + 30 * (n - 40) for n in range(80)]
    rows = [row(n, 8 if n < 43 else 16, count) for n, count in enumerate(counts)]
    assert is_like(wrote(tmp_path, rows), {8: 8.0, 16: 30.0})


def test_a_worker_that_is_lost_takes_its_seconds_with_it(tmp_path: Path) -> None:
    """10 users do 20/s; half of them die at t = 20, the file says so at 26; counts come every 3 s."""
    rows = []
    for n in range(60):
        told = n - n % 3
        rows.append(row(n, 10 if n < 26 else 5, 20 * told if told <= 20 else 400 + 10 * (told - 20)))
    analysis = wrote(tmp_path, rows)
    assert is_like(analysis, {10: 20.0, 5: 10.0})
    assert "users fell from 10 to 5 in mid-run: a worker was lost, or users were taken away" in analysis.notes


def test_a_ramp_of_one_user_a_second_is_no_ladder(tmp_path: Path) -> None:
    """Answers of 9 s: users have nearly doubled before one ends."""
    with pytest.raises(UnansweredError, match=r"no number of users rested .* a spawn rate below"):
        wrote(tmp_path, [row(n, n + 1, n * n / 2, 0, 9000) for n in range(60)])


def test_before_a_quick_server_it_is_an_indication_and_no_ladder(tmp_path: Path) -> None:
    verdict = wrote(tmp_path, [row(n, n + 1, n * n / 2) for n in range(60)]).verdict
    assert verdict.levels == ()
    assert verdict.ramp is not None
    assert verdict.ramp.status == "found"


def test_what_the_totals_count_more_is_said(tmp_path: Path) -> None:
    stats = "Type,Name,Request Count,Failure Count,Average Response Time\nPOST,/x,210,0,500\n,Aggregated,210,0,500\n"
    analysis = wrote(tmp_path, [row(n, 8, 5 * n) for n in range(40)], stats=stats)
    assert "x_stats.csv counts 210 requests, the history ends at 195" in analysis.notes


def test_totals_alone_tell_no_level(tmp_path: Path) -> None:
    (tmp_path / "x_stats.csv").write_text("Type,Name,Request Count\n,Aggregated,210\n")
    assert prefix_of(tmp_path / "x") == prefix_of(tmp_path / "x_stats.csv") == tmp_path / "x"
    with pytest.raises(UnansweredError, match="holds totals since the start and no course of them"):
        analyse_locust(tmp_path / "x", None, None, LIMITS)


def test_tokens_are_absent_and_not_zero(tmp_path: Path) -> None:
    analysis = wrote(tmp_path, [row(n, 8, 5 * n) for n in range(40)])
    numbers = analysis.verdict.levels[0].numbers
    assert (numbers.output_tok_s, numbers.ttft_p50_s, numbers.tpot_mean_s) == (None, None, None)
    assert analysis.verdict.metric == "req_s"


def test_a_run_that_never_had_a_success(tmp_path: Path) -> None:
    analysis = wrote(tmp_path, [row(n, 8, 50 * n, 50 * n, 5) for n in range(40)])
    (level,) = analysis.verdict.levels
    assert (level.numbers.ok, level.numbers.error_rate, level.grade.valid) == (0, 1.0, False)


def test_a_history_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnansweredError, match="no number of users rested"):
        wrote(tmp_path, [row(n, 0, 0) for n in range(40)])
    assert read_history(tmp_path / "x").requests.count[-1] == 0
