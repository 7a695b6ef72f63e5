"""Every row of the table of exit codes in docs/verdict.md, run as a user meets it."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.virtual_run import virtual_ramp
from loadband.record import Record
from reports.__main__ import main
from tests.analysis.build_run import EPOCH, Build, Server, build_run

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<situation>[^|]+) \| (?P<code>[0-4]) \|$", re.MULTILINE)
BUILD = Build(levels=(2, 4, 8, 16, 32), hold_s=30.0, server=Server(slots=8))
ONE = Build(levels=(8,), hold_s=30.0)
AGAIN = replace(ONE, repeats=3, run={"plan": {"levels": [8], "repeats": 3, "baseline": True}})
SOUND = "users,output_tok_s\n1,100\n2,198\n4,380\n8,760\n16,1430\n32,1460\n"

Arguments = list[str]


def of_run(build: Build, *more: str) -> Callable[[Path], Arguments]:
    return lambda path: [str(build_run(path / "run", build).path), *more]


def of_table(text: str, *more: str) -> Callable[[Path], Arguments]:
    def write(path: Path) -> Arguments:
        (path / "table.csv").write_text(text)
        return ["curve", str(path / "table.csv"), *more]

    return write


def a_foreign_directory(path: Path) -> Arguments:
    (path / "run.json").write_text('{"name": "something else"}')
    return [str(path)]


def a_column_is_missing(path: Path) -> Arguments:
    built = build_run(path / "run", ONE)
    text = (built.path / "requests.csv").read_text()
    (built.path / "requests.csv").write_text(text.replace("status", "state", 1))
    return [str(built.path)]


def no_room_for_the_report(path: Path) -> Arguments:
    built = build_run(path / "run", ONE)
    (built.path / "report").write_text("in the way")
    return [str(built.path)]


def no_level_was_held(path: Path) -> Arguments:
    built = build_run(path / "run", ONE)
    (built.path / "steps.csv").unlink()
    return [str(built.path)]


def no_request_on_record(path: Path) -> Arguments:
    built = build_run(path / "run", replace(BUILD, run={"how": "target_lost"}))
    (built.path / "requests.csv").unlink()
    return [str(built.path)]


def a_worker_was_lost(path: Path) -> Arguments:
    built = build_run(path / "run", BUILD)
    text = (built.path / "workers.csv").read_text()
    (built.path / "workers.csv").write_text(text.replace("running", "missing", 20))
    return [str(built.path)]


def gone_from(second: float) -> Callable[[Record], Record]:
    """The target refuses every request that starts after so many seconds of the run."""

    def refuse(record: Record) -> Record:
        if record.started_at < EPOCH + second:
            return record
        return replace(
            record, status="failed", failure_class="connect", output_tokens=None, ttft_s=None, e2e_s=None,
            tpot_s=None, duration_s=0.01,
        )  # fmt: skip

    return refuse


def still_growing(path: Path) -> Arguments:
    built = build_run(path / "run", replace(BUILD, run={"ended": None, "how": None}))
    with (built.path / "requests.csv").open("a") as file:
        file.write("w1-99,w1,interactive,,,")
    return [str(built.path)]


def a_ramp_at(users_s: float) -> Callable[[Path], Arguments]:
    def write(path: Path) -> Arguments:
        virtual_ramp("vllm-small", path / "run", 40, users_s)
        return [str(path / "run")]

    return write


def locust_files_that_never_rest(path: Path) -> Arguments:
    (path / "locust_stats_history.csv").write_text(
        "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time\n"
        + "".join(f"{1795961360 + n},{n},,Aggregated,{n * n},0,9000\n" for n in range(60))
    )
    return [str(path / "locust")]


LAST_LEVEL_S = 5 * 36 + 20
FAILING = replace(BUILD, fail_share={16: 0.3, 32: 0.3})
SITUATIONS: dict[str, Callable[[Path], Arguments]] = {
    "a word or an option that is not understood": of_table(SOUND, "--slow"),
    "no such directory, or one that holds no run": lambda path: [str(path / "nowhere")],
    "a directory of something else": a_foreign_directory,
    "a column is missing": a_column_is_missing,
    "`--think` with a run, which knows its own": of_run(ONE, "--think", "1"),
    "a table without `users` or without a throughput": of_table("users,ttft_p95_s\n1,0.2\n"),
    "a table with words, NaN or negative numbers": of_table("users,req_s\n1,-3\n"),
    "the report cannot be written": no_room_for_the_report,
    "a threshold out of its range": of_table(SOUND, "--threshold", "band_power=2"),
    "a row of a table with fewer cells than its header": of_table(SOUND + "64\n"),
    "the target went away, or could not be reached, before any level was valid": of_run(
        replace(ONE, change=gone_from(0), run={"how": "target_lost"})
    ),
    "every request failed, though the server answered": of_run(replace(ONE, fail_share={8: 1.0})),
    "no level was held": no_level_was_held,
    "a ladder of too few valid levels, or too far apart": of_table("users,output_tok_s\n1,100\n2,198\n"),
    "the client was the limit where the answer lies": of_run(replace(BUILD, lag_s=0.2)),
    "Locust's files in which no number of users rests": locust_files_that_never_rest,
    "no plan, and a ramp that was too fast to be read": a_ramp_at(8.0),
    "no plan, and a ramp that can be read: an indication": a_ramp_at(0.5),
    "a worker was lost": a_worker_was_lost,
    "the requests of the run are not on record": no_request_on_record,
    "the SLO of `run.json` cannot be read": of_run(replace(BUILD, run={"slo": 5})),
    "the one level asked for is not valid": of_run(replace(ONE, users_shown={8: 5})),
    "the holds of a baseline differ too much, or one is not valid": of_run(AGAIN, "--threshold", "baseline_ttft_cv=0"),
    "most levels contradict themselves, or come from several builds": of_table(
        "users,req_s,build\n1,1,a\n2,2,a\n4,4,b\n"
    ),
    "an SLO limit is undecided: too few requests, no level at its `@users`": of_run(BUILD, "--slo", "tpot_p95<=1s@20"),
    "an SLO limit is missed": of_run(BUILD, "--slo", "tpot_p95<=1ms"),
    "an SLO limit is missed, another undecided": of_run(BUILD, "--slo", "tpot_p95<=1ms,tpot_p95<=1s@20"),
    "an SLO limit is missed at its `@users` alone": of_run(BUILD, "--slo", "e2e_p50<=500ms@32"),
    "a band was found": of_run(BUILD),
    "a band was found and the SLO is met": of_run(BUILD, "--slo", "tpot_p95<=1s,error_rate<=1%"),
    "the best level is the last or the first: a direction": of_table("users,output_tok_s\n1,100\n2,198\n4,390\n"),
    "a band and a failure point were found: errors": of_run(FAILING),
    "a band and a failure point were found: the target went away at a higher level": of_run(
        replace(BUILD, levels=(2, 4, 6, 8, 16, 32), change=gone_from(LAST_LEVEL_S), run={"how": "target_lost"})
    ),
    "one level was asked for, and it is valid": of_run(ONE),
    "a baseline whose holds are alike": of_run(AGAIN),
    "a run that is still growing, or was killed, with levels enough": still_growing,
}


def documented() -> dict[str, int]:
    """Situation -> code, as the page says."""
    page = (ROOT / "docs" / "verdict.md").read_text()
    section = page.partition("## Exit codes")[2].partition("\n## ")[0]
    return {match["situation"]: int(match["code"]) for match in ROW.finditer(section)}


def test_every_row_of_the_page_is_tested() -> None:
    assert set(documented()) == set(SITUATIONS)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_has_the_code_that_the_page_says(
    situation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(SITUATIONS[situation](tmp_path))
    said = capsys.readouterr()
    assert code == documented()[situation], said.out + said.err
    if said.err:
        assert code in (2, 3)
        assert (said.out, said.err.count("\n")) == ("", 1)
    else:
        assert f"Exit code {code}." in said.out
