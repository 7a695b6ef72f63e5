"""What a person can get wrong: one line that says what and what to do, the right exit code, and no traceback."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.oracle import Oracle, refused_port, rule, tokens
from tests.oracle.faults import error, html, json_body, no_such_model, not_http, silent, unauthorised
from tests.process.running import ROOT, Ended, Files, finish, group_is_gone, run, start

pytestmark = pytest.mark.process

KEY = "sk-planted-4711"


def said(ended: Ended) -> str:
    """The one line of ours on standard error; everything else would be noise."""
    assert "Traceback" not in ended.out + ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("loadband: ")]
    ours = [line for line in lines if not line.startswith("loadband: asking ")]
    assert len(ours) == 1, ended.err
    return ours[0]


def headless(url: str, *words: str) -> list[str]:
    """A short headless run."""
    return ["--headless", "-H", url, "--steps", "1", "--hold", "2s", "--no-report", *words]


def test_a_target_that_is_down() -> None:
    with refused_port() as port:
        ended = run(headless(f"http://127.0.0.1:{port}"))
    assert ended.code == 4
    assert "cannot reach" in said(ended) and "refused" in said(ended)


def test_a_target_that_is_down_with_processes_leaves_no_orphan() -> None:
    with refused_port() as port:
        process = start(headless(f"http://127.0.0.1:{port}", "--processes", "2"))
        ended = finish(process, 30)
    assert ended.code == 4
    assert group_is_gone(process)
    assert "cannot reach" in said(ended)


@dataclass(frozen=True)
class Fault:
    """What the server does, and what must be said of it."""

    told: Callable[[Oracle], None]
    code: int
    words: tuple[str, ...]


FAULTS = {
    "an SSH port": Fault(lambda o: o.script(rule(not_http(), method=None)), 4, ("does not speak HTTP", "port")),
    "a port that is silent": Fault(lambda o: o.script(rule(silent(), method=None)), 4, ("does not answer",)),
    "a wrong path": Fault(lambda o: o.script(rule(error(404, "Not Found"))), 2, ("404", "Not Found", "path")),
    "an unknown model": Fault(lambda o: o.script(rule(no_such_model("m"))), 2, ("404", "does not exist", "--model")),
    "a login page": Fault(lambda o: o.script(rule(html())), 4, ("no stream", "Sign in")),
    "a server that loads its model": Fault(
        lambda o: o.script(rule(error(503, "Loading model"), method=None)), 4, ("503", "Loading model")
    ),
    "no model name": Fault(
        lambda o: o.script(rule(json_body({"data": []}), method="GET", path="/v1/models"), rule(tokens())),
        2,
        ("--model",),
    ),
    "two models": Fault(
        lambda o: o.script(
            rule(json_body({"data": [{"id": "a"}, {"id": "b"}]}), method="GET", path="/v1/models"), rule(tokens())
        ),
        2,
        ("--model", "a, b"),
    ),
    "a refused request": Fault(lambda o: o.script(rule(error(400, "max_tokens too large"))), 2, ("400", "too large")),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_target_that_is_not_fit_is_refused_before_load(oracle: Oracle, fault: Fault) -> None:
    fault.told(oracle)
    ended = run(headless(oracle.url, "--first-token-timeout", "1s"))
    assert ended.code == fault.code, ended.err
    for word in fault.words:
        assert word in said(ended)


@pytest.mark.parametrize("key", [KEY, None], ids=["wrong", "missing"])
def test_a_key_that_is_wrong_or_missing_names_its_variable_and_never_itself(oracle: Oracle, key: str | None) -> None:
    oracle.script(rule(unauthorised(), method=None))
    ended = run(headless(oracle.url), {"LOADBAND_API_KEY": key} if key else None)
    assert ended.code == 2
    assert "401" in said(ended) and "LOADBAND_API_KEY" in said(ended)
    assert KEY not in ended.out + ended.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--steps", "4,2"], "rise"),
        (["--steps", "1:64:x1"], "x1"),
        (["--steps", "one"], "one"),
        (["--hold", "soon"], "256req"),
        (["--settle", "later"], "auto"),
        (["--rates", "2,1"], "rise"),
        (["--abandon", "5%"], "5%@2s"),
        (["--columns", "orca"], "mooncake"),
        (["--arrival", "gamma(20)"], "coefficient of variation"),
        (["--slo", "ttft<1"], "ttft"),
        (["--prompt-tokens", "200-50"], "200-50"),
        (["--max-tokens", "0"], "token"),
        (["--turns", "0-0"], "at least 1 turn"),
        (["--max-hold", "0s"], "above 0 s"),
        (["NobodyUser"], "NobodyUser: choose of InteractiveUser"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_malformed_option_is_refused_by_the_parser(words: list[str], hint: str) -> None:
    ended = run(["--headless", "-H", "http://127.0.0.1:9", *words])
    assert ended.code == 2
    assert hint in ended.err.splitlines()[-1]
    assert "Traceback" not in ended.err


def test_steps_and_users_contradict_each_other() -> None:
    ended = run(headless("http://127.0.0.1:9", "-u", "3"))
    assert ended.code == 2
    assert "-u" in said(ended)


def test_a_run_directory_with_something_in_it_is_left_alone(oracle: Oracle, tmp_path: Path) -> None:
    (tmp_path / "precious.csv").write_text("1\n")
    ended = run(headless(oracle.url, "--run-dir", str(tmp_path)))
    assert ended.code == 2
    assert "not empty" in said(ended) and "--run-dir" in said(ended)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.csv"]
    assert oracle.log().requests == []


def test_a_run_directory_that_cannot_be_written_is_refused_before_load(oracle: Oracle) -> None:
    ended = run(headless(oracle.url, "--run-dir", "/proc/loadband"))
    assert ended.code == 2
    assert "cannot write" in said(ended) and "--run-dir" in said(ended)
    assert oracle.log().requests == []


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--steps", "1,2", "--slo", "ttft_p95<=1s@7"], "7 users"),
        (["--steps", "1", "--slo", "multi_turn.ttft_p95<=1s"], "multi_turn, which does not run"),
        (["-t", "3s", "--hold", "256req"], "-t and --hold"),
        (["--steps", "1", "--tags", "foo"], "no tags"),
        (["--steps", "1", "--reset-stats"], "--reset-stats"),
        (["-u", "-3", "-t", "5s"], "at least 1 user"),
        (["-u", "0"], "at least 1 user"),
        (["--steps", "1", "--run-dir", ""], "run directory"),
        (["--steps", "1,2", "--until-failure", "--on-target-loss", "continue"], "--on-target-loss"),
        (["--steps", "1", "--rates", "1"], "one of them"),
        (["--rates", "1", "-u", "2"], "leave out -u"),
        (["--rates", "1,2", "--slo", "ttft_p95<=1s@3"], "3 requests/s"),
        (["--rates", "1", "--mix", "multi_turn=1"], "leave multi_turn out"),
        (["--steps", "1", "OpenLoopUser"], "--rates"),
        (["--steps", "1", "ReplayUser"], "--dataset"),
        (["--steps", "1", "--dataset", "/nowhere/a.jsonl"], "cannot read the data set"),
        (["--rates", "1", "--arrival", "trace"], "--dataset FILE"),
        (["--steps", "1", "--arrival", "constant"], "give --rates"),
        (["--steps", "1", "--columns", "azure"], "give --dataset FILE"),
        (["--steps", "1", "--mix", "interactive=1,nobody=2"], "nobody"),
        (["--steps", "1", "--mix", "interactive=1", "MultiTurnUser"], "--mix"),
        (["--steps", "1", "--set", "interactive.turns=3"], "turns means nothing to interactive"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_contradicts_itself_is_refused_before_load(oracle: Oracle, words: list[str], hint: str) -> None:
    ended = run(["--headless", "-H", oracle.url, "--no-report", *words])
    assert ended.code == 2, ended.err
    assert hint in said(ended)
    assert oracle.log().requests == []


def test_the_address_may_be_the_base_url_of_other_clients(oracle: Oracle, tmp_path: Path) -> None:
    ended = run(headless(f"{oracle.url}/v1", "--run-dir", str(tmp_path / "run")))
    assert ended.code == 0, ended.err


def test_no_target_at_all() -> None:
    ended = run(["--headless", "--steps", "1"])
    assert ended.code == 2
    assert "-H" in said(ended)


def test_what_cannot_fit_the_servers_context_is_refused_after_asking_it(oracle: Oracle) -> None:
    ended = run(headless(oracle.url, "--max-tokens", "999999"))
    assert ended.code == 2
    assert "--max-tokens 999999" in said(ended) and "takes" in said(ended)


@pytest.mark.parametrize("limit", ["1000s", "1ms"])
def test_an_slo_gates_also_without_a_report(oracle: Oracle, tmp_path: Path, limit: str) -> None:
    """With the verdict's own code, 0 and 1 where the machine has time: on a busy one the client is the limit."""
    oracle.script(tokens(ttft_ms=30, itl_ms=2, n=10))
    words = ["--headless", "-H", oracle.url, "--steps", "2", "--hold", "4s", "--settle", "0s", "--think-time", "0"]
    path = tmp_path / "run"
    ended = run([*words, "--no-report", "--slo", f"ttft_p95<={limit}", "--run-dir", str(path)])
    judged = subprocess.run([sys.executable, "-m", "reports", str(path), "--no-write"], cwd=ROOT, check=False)
    assert ended.code == judged.returncode, ended.out + ended.err
    assert ended.code == (0 if limit == "1000s" else 1) or "client-limited" in ended.out
    assert f"SLO ttft_p95<={limit}" in ended.out
    assert not (path / "report").exists()


def test_variables_and_config_files_say_what_options_say(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=2, n=10))
    config = tmp_path / "night.toml"
    config.write_text(
        f"""[tool.locust]
headless = true
host = "{oracle.url}"
steps = "1"
hold = "2s"
settle = "0s"
report = false
label = ["gpu=a100", "night=1"]
run-dir = "{tmp_path / "run"}"
"""
    )
    told = {"LOADBAND_SEED": "7", "LOADBAND_SLO": "", "LOADBAND_STEP": "4", "LOADBAND_HOLD": "3s"}
    ended = run(["--config", str(config)], told)
    assert ended.code == 0, ended.err
    kept = Files(tmp_path / "run").run
    assert (kept["labels"], kept["seed"], kept["slo"]) == ({"gpu": "a100", "night": "1"}, 7, None)
    assert kept["plan"]["hold"] == "3s", "a variable is nearer than a file"
    assert "LOADBAND_STEP means nothing: did you mean LOADBAND_STEPS?" in ended.err


def test_labels_and_a_plain_config_file(oracle: Oracle, tmp_path: Path) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=2, n=10))
    config = tmp_path / "locust.conf"
    config.write_text(f"headless\nhost = {oracle.url}\nsteps = 1\nhold = 2s\nlabel = [gpu=a100, night=1]\n")
    words = ["--config", str(config), "--settle", "0s", "--no-report", "--run-dir", str(tmp_path / "run")]
    assert run(words).code == 0
    assert Files(tmp_path / "run").run["labels"] == {"gpu": "a100", "night": "1"}
    told = {"LOADBAND_LABEL": "[gpu=h100, day=2]"}
    assert run(headless(oracle.url, "--settle", "0s", "--run-dir", str(tmp_path / "day")), told).code == 0
    assert Files(tmp_path / "day").run["labels"] == {"gpu": "h100", "day": "2"}
