from pathlib import Path

import pytest

from loadband.analysis.level import STEP_TABLE_COLUMNS
from loadband.analysis.table_file import read_table
from loadband.analysis.verdict import Facts, judge
from loadband.analysis.verdict_json import as_json
from loadband.errors import UsageError
from loadband.slo import parse_slo
from tests.analysis.make_levels import LIMITS

NAMED = """users,output_tok_s,ttft_p99_s,error_rate
1,100,0.10,0
2,198,0.10,0
4,380,0.11,0
8,760,0.13,0
16,1430,0.20,0
32,1460,0.90,0
64,1370,4.00,0
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def test_a_table_gives_levels_and_a_verdict(table: Path) -> None:
    table.write_text(NAMED)
    verdict = judge(read_table(table, None, (), LIMITS), (), LIMITS, Facts())
    assert (verdict.operating.status, verdict.operating.users) == ("found", 16)
    assert verdict.cross_checks.peak == 32
    assert verdict.confidence == "low"


def test_the_order_of_rows_does_not_matter(table: Path) -> None:
    table.write_text(NAMED)
    levels = read_table(table, None, (), LIMITS)
    head, *rows = NAMED.splitlines()
    table.write_text("\n".join([head, *reversed(rows)]) + "\n")
    assert read_table(table, None, (), LIMITS) == levels


def test_a_level_that_fails_is_not_the_peak(table: Path) -> None:
    table.write_text(NAMED.replace("64,1370,4.00,0", "64,3000,4.00,0.3"))
    verdict = judge(read_table(table, None, (), LIMITS), (), LIMITS, Facts())
    assert verdict.operating.users == 16
    assert verdict.cross_checks.peak == 32
    assert verdict.failure.at == 64


@pytest.mark.parametrize(("limit", "at"), [("500ms", 16), ("1s", 32)])
def test_an_slo_over_a_table(table: Path, limit: str, at: float) -> None:
    table.write_text(NAMED)
    slo = parse_slo(f"ttft_p99<={limit}")
    verdict = judge(read_table(table, None, slo, LIMITS), slo, LIMITS, Facts())
    assert (verdict.slo[0].result, verdict.slo[0].judged_at) == ("met", at)


def test_milliseconds_are_seconds(table: Path) -> None:
    table.write_text("users,req_s,e2e_mean_ms,ttft_p95_s\n4,2,1500,0.25\n")
    (level,) = read_table(table, None, (), LIMITS)
    assert (level.numbers.e2e_mean_s, level.numbers.ttft_p95_s) == (1.5, 0.25)
    assert level.numbers.in_flight == 3.0


def test_our_own_step_table_reads_back(table: Path) -> None:
    row = dict.fromkeys(STEP_TABLE_COLUMNS, "")
    row |= {"step": "3", "repeat": "2", "users": "8", "output_tok_s": "100", "valid": "0", "reasons": "users were 7"}
    table.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    (level,) = read_table(table, None, (), LIMITS)
    assert (level.numbers.step, level.numbers.repeat, level.grade.valid) == (3, 2, False)
    assert level.grade.reasons == ("users were 7",)


def test_a_spreadsheet_export_with_a_byte_order_mark(table: Path) -> None:
    table.write_bytes("\ufeffusers , output_tok_s\r\n1,10\r\n\r\n".encode())
    (level,) = read_table(table, None, (), LIMITS)
    assert (level.users, level.numbers.output_tok_s) == (1, 10)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs the columns users"),
        ("concurrency,output_tok_s\n1,2\n", "needs the columns users"),
        ("users,ttft_p95_s\n1,2\n", "one of output_tok_s, total_tok_s, req_s"),
        ("users,req_s\n", "no rows"),
        ("users,req_s\n1,fast\n", r"line 2: req_s is 'fast', not a number"),
        ("users,req_s\n1,nan\n", "not a number"),
        ("users,req_s\n1,-3\n", "cannot be negative"),
        ("users,req_s\n1,1e300\n", "so large or so small"),
        ("users,req_s\n1,1e-300\n", "so large or so small"),
        ("users,req_s\n,3\n", "give the number of users"),
        ("users,req_s\n0,3\n", "give the number of users"),
        ("users,req_s,error_rate\n1,3,12\n", "a share between 0 and 1"),
        ("users,req_s,ttft_p95_s\n1,1,5,0,25\n", "line 2 has 5 cells, the header 3"),
        ("users,req_s,ttft_p95_s\n1,1,0.5\n2,1.9", r"line 3 is torn \(2 of 3 cells\)"),
    ],
)
def test_a_bad_table_is_named_with_its_line(table: Path, text: str, says: str) -> None:
    table.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_table(table, None, (), LIMITS)


def test_a_missing_table(table: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_table(table, None, (), LIMITS)


def test_rows_of_the_same_users_are_repeats(table: Path) -> None:
    table.write_text("users,output_tok_s\n1,10\n2,20\n1,11\n2,19\n2,21\n")
    levels = read_table(table, None, (), LIMITS)
    assert [(level.users, level.numbers.repeat) for level in levels] == [(1, 1), (2, 1), (1, 2), (2, 2), (2, 3)]
    table.write_text("users,output_tok_s,repeat\n1,10,1\n1,11,2\n1,12,2\n")
    assert [level.numbers.repeat for level in read_table(table, None, (), LIMITS)] == [1, 2, 2]


def test_requests_are_the_number_behind_the_error_rate(table: Path) -> None:
    table.write_text("users,req_s,error_rate,requests\n4,2,0.25,200\n")
    (level,) = read_table(table, None, (), LIMITS)
    assert (level.numbers.ok, level.server_failed, level.judged) == (150, 50, 200)
    assert level.numbers.served_req_s == 1.5


def test_few_requests_are_marked(table: Path) -> None:
    table.write_text("users,req_s,error_rate,requests\n50,0.273,0,15\n")
    (level,) = read_table(table, None, (), LIMITS)
    assert level.grade.marks == ("few_rounds", "errors_not_resolved")


def test_columns_that_contradict_are_refused(table: Path) -> None:
    """One answer length is what the load should not change: here it goes from 200 to 700 tokens."""
    rows = [(8, 400, 2), (16, 900, 3), (32, 900, 4), (64, 2300, 5), (128, 1400, 6), (200, 4300, 6.1), (256, 4330, 6.2)]
    table.write_text("users,output_tok_s,req_s\n" + "".join(f"{n},{x},{r}\n" for n, x, r in rows))
    verdict = judge(read_table(table, None, (), LIMITS), (), LIMITS, Facts())
    assert verdict.refused is not None
    assert "contradict" in verdict.refused
    assert (verdict.operating.status, verdict.exit_code) == ("refused", 3)


def test_users_that_were_never_delivered_are_not_valid(table: Path) -> None:
    """A client that never keeps more than 20 requests open, whatever it is asked."""
    rows = [(4, 4, 1.0), (8, 8, 1.0), (16, 16, 1.0), (64, 20, 1.0), (128, 20, 1.0)]
    table.write_text("users,req_s,e2e_mean_s\n" + "".join(f"{n},{x},{r}\n" for n, x, r in rows))
    levels = read_table(table, None, (), LIMITS)
    assert [level.grade.valid for level in levels] == [True, True, True, False, False]
    assert "Little" in levels[-1].grade.reasons[0]


def test_a_pause_that_is_told_is_no_missing_load(table: Path) -> None:
    rows = [(4, 1, 1.0), (8, 2, 1.0), (16, 4, 1.0)]
    table.write_text("users,req_s,e2e_mean_s\n" + "".join(f"{n},{x},{r}\n" for n, x, r in rows))
    assert all(level.grade.valid for level in read_table(table, 3.0, (), LIMITS))
    assert not any(level.grade.valid for level in read_table(table, 0.0, (), LIMITS))
    assert all("little" in level.grade.not_checked for level in read_table(table, None, (), LIMITS))


def test_a_percentile_bounds_the_mean_but_never_confirms_it(table: Path) -> None:
    rows = [(4, 4, 1.0, 1.2), (64, 64, 1.0, 1.2), (256, 64, 1.0, 1.2)]
    table.write_text("users,req_s,e2e_p50_s,e2e_p95_s\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
    levels = read_table(table, None, (), LIMITS)
    assert [level.grade.valid for level in levels] == [True, True, False]
    assert all("little" in level.grade.not_checked for level in levels)


def test_levels_of_two_builds_are_refused(table: Path) -> None:
    table.write_text("users,req_s,build\n1,1,a\n2,2,a\n4,4,b\n")
    verdict = judge(read_table(table, None, (), LIMITS), (), LIMITS, Facts())
    assert verdict.refused is not None
    assert "builds (a, b)" in verdict.refused


def test_a_cold_first_level_is_left_out(table: Path) -> None:
    table.write_text("users,output_tok_s,ttft_p95_ms,error_rate\n1,60,400,0\n2,150,110,0\n4,290,120,0\n8,510,500,0\n")
    levels = read_table(table, None, (), LIMITS)
    assert [level.grade.valid for level in levels] == [False, True, True, True]
    assert "cold first level" in levels[0].grade.reasons[0]


HEADER = "users,output_tok_s,e2e_mean_ms"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEADER}\n1,50,20\n4,19\n8,340,23\n", "line 3 is torn (2 of 3 cells)"),
        (f"{HEADER}\n1,50,20\n64\n", "line 3 is torn (1 of 3 cells)"),
        (f'{HEADER}\n1,50,20\n2,"98,20\n', "line 3 is no CSV"),
        (f"{HEADER}\n1,50,{'9' * 200_000}\n", "line 2 is no CSV (field larger than field limit"),
        ("users,output_tok_s,output_tok_s\n1,50,7\n", "has the column output_tok_s more than once"),
        ("users,output_tok_s,e2e_mean_ms,e2e_mean_s\n1,50,20,20\n", "e2e_mean_s is 20 and e2e_mean_ms is 20"),
        (f"{HEADER}\n1,1_90,20\n", "output_tok_s is '1_90', not a number"),
        (f"{HEADER}\n1,١٩٠,20\n", "not a number"),
        ("users,output_tok_s,repeat\n1,50,1.7\n", "repeat is 1.7: number the repeats 1, 2, 3"),
        ("users,output_tok_s,repeat\n1,50,0\n", "repeat is 0"),
        ("users,output_tok_s,requests\n1,50,5.5\n", "requests is 5.5: it counts"),
        ("users,output_tok_s,step\n1,50,1.5\n", "step is 1.5: it counts"),
    ],
)
def test_what_cannot_be_taken_at_its_word_is_refused_by_its_line(table: Path, text: str, says: str) -> None:
    table.write_text(text)
    with pytest.raises(UsageError) as error:
        read_table(table, None, (), LIMITS)
    assert says in str(error.value)


def test_seconds_and_milliseconds_of_one_value_may_stand_together(table: Path) -> None:
    table.write_text("users,output_tok_s,e2e_mean_ms,e2e_mean_s\n1,50,20.5,0.0205\n\n  \n")
    (level,) = read_table(table, None, (), LIMITS)
    assert level.numbers.e2e_mean_s == pytest.approx(0.0205)


def test_a_pause_longer_than_the_whole_cycle_contradicts(table: Path) -> None:
    """N/X - Z < 0: 1 user at 5 requests/s cannot pause for 5 s."""
    table.write_text("users,req_s,think_s\n1,5,5\n2,9.8,5\n4,19,5\n8,34,5\n16,40,5\n")
    verdict = judge(read_table(table, None, (), LIMITS), (), LIMITS, Facts())
    assert not any(level.grade.valid for level in verdict.levels)
    assert verdict.refused is not None
    assert "the pauses alone take" in verdict.refused


def test_a_pause_that_leaves_next_to_nothing_is_marked(table: Path) -> None:
    table.write_text("users,req_s,think_s\n1,1,0.97\n2,2,0.97\n4,4,0.9\n")
    marks = [level.grade.marks for level in read_table(table, None, (), LIMITS)]
    assert ["little" in each for each in marks] == [False, False, False], "mean pause 0.947"
    table.write_text("users,req_s,think_s\n1,1,0.97\n2,2,0.97\n4,4,0.97\n")
    assert all("little" in level.grade.marks for level in read_table(table, None, (), LIMITS))


@pytest.mark.parametrize(
    ("text", "source", "says"),
    [
        ("users,output_tok_s\n1,50\n2,98\n4,190\n", "constant_length", "assumes answers of constant length"),
        ("users,req_s\n1,5\n2,9\n4,19\n", "response_time_law", "users / requests/s - pause stands for it"),
        (f"{HEADER}\n1,50,0\n2,98,0\n4,190,0\n", "constant_length", "assumes answers of constant length"),
        (f"{HEADER}\n1,50,20\n2,98,20\n4,190,21\n", "measured", None),
    ],
)
def test_what_stands_for_an_unknown_time_is_said(table: Path, text: str, source: str, says: str | None) -> None:
    table.write_text(text)
    verdict = judge(read_table(table, None, (), LIMITS), (), LIMITS, Facts())
    assert as_json(verdict)["e2e_source"] == source
    assert any(says in note for note in verdict.notes) if says else not verdict.notes
