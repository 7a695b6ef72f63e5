"""`python -m loadband doctor` as a person types it: table, JSON, exit codes, and a key that is never shown."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from loadband.load.dialects import DIALECTS
from loadband.tuning.doctor.command import APIS
from tests.oracle import Oracle, answer, glued, refused_port, rule, tokens
from tests.oracle.faults import unauthorised
from tests.process.running import ROOT, environment
from tests.tuning.test_examination import QUICK, burst

pytestmark = pytest.mark.process

KEY = "sk-planted-8899"


def doctor(*words: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "loadband", "doctor", *words], cwd=ROOT, env=environment(env), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_good_server_is_a_table_of_ticks_and_code_0(oracle: Oracle) -> None:
    oracle.script(QUICK)
    ended = doctor(oracle.url, "--steps", "1,2,4", "--think-time", "0.1")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0] == oracle.url
    assert any(line.startswith("✓ streams") for line in lines)
    assert any("needed for 4 users" in line for line in lines)
    assert lines[-1].endswith("Exit code 0.")


def test_a_finding_is_a_cross_with_its_next_step_and_code_3(oracle: Oracle) -> None:
    oracle.script(answer(glued(300, *burst(64, 300))))
    ended = doctor(oracle.url, "--think-time", "0.1")
    assert ended.returncode == 3
    assert "✗ streams" in ended.stdout
    assert "→ look for a proxy" in ended.stdout


def test_a_closed_port_is_code_4_and_one_row() -> None:
    with refused_port() as port:
        ended = doctor(f"http://127.0.0.1:{port}")
    assert ended.returncode == 4
    assert ended.stdout.count("✗") == 1
    assert "→ is the server running" in ended.stdout


def test_json_is_the_same_for_machines(oracle: Oracle) -> None:
    oracle.script(tokens(ttft_ms=10, itl_ms=1.5, usage="never"))
    ended = doctor(oracle.url, "--think-time", "0.1", "--json")
    told: dict[str, Any] = json.loads(ended.stdout)
    assert (told["target"], told["exit_code"], ended.returncode) == (oracle.url, 0, 0)
    rows = {row["check"]: row for row in told["checks"]}
    assert rows["usage"]["mark"] == "warn"
    assert rows["usage"]["next"]
    assert rows["link"]["values"]["round_trip_min_s"] > 0


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_key_is_taken_from_the_environment_and_never_shown(oracle: Oracle, words: tuple[str, ...]) -> None:
    oracle.script(rule(unauthorised(), method=None))
    ended = doctor(oracle.url, "--api-key-env", "MINE", *words, env={"MINE": KEY})
    assert ended.returncode == 3
    assert "MINE" in ended.stdout
    assert KEY not in ended.stdout + ended.stderr
    assert {r.headers.get("authorization") for r in oracle.log().requests} == {f"Bearer {KEY}"}


MISTAKES = [
    ((), "URL"),
    (("ftp://gpu1",), "is no target"),
    (("http://me:secret@gpu1",), "credentials in the address"),
    (("http://127.0.0.1:9", "--steps", "4,2"), "do not rise"),
    (("http://127.0.0.1:9", "--users", "0"), "--users 0: write at least 1"),
    (("http://127.0.0.1:9", "--users", "3", "--steps", "1"), "not allowed with"),
    (("http://127.0.0.1:9", "--prompt-tokens", "many"), "'many' is not understood"),
    (("http://127.0.0.1:9", "--path", "v1 x"), "is no path"),
    (("http://127.0.0.1:9", "--connect-timeout", "0s"), "above 0 s"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES, ids=[" ".join(row[0]) for row in MISTAKES])
def test_a_mistake_is_one_sentence_and_code_2(words: tuple[str, ...], sentence: str) -> None:
    ended = doctor(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_a_key_that_no_header_can_hold_is_refused_without_it() -> None:
    ended = doctor("http://127.0.0.1:9", env={"LOADBAND_API_KEY": f"{KEY}\nX-Other: 1"})
    assert ended.returncode == 2
    assert "LOADBAND_API_KEY holds" in ended.stderr
    assert KEY not in ended.stderr


def test_the_other_commands_do_not_wait_for_what_the_doctor_needs() -> None:
    code = "import sys, loadband.__main__; print([n for n in ('gevent', 'rich', 'locust') if n in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_it_speaks_every_dialect_of_the_load_half() -> None:
    assert set(APIS) == set(DIALECTS)


def test_another_dialect_and_answers_in_one_piece(oracle: Oracle) -> None:
    oracle.script(QUICK)
    completions = doctor(oracle.url, "--api", "openai-completions", "--think-time", "0.1")
    assert completions.returncode == 0, completions.stdout
    assert {r.path for r in oracle.log().requests} == {"/v1/completions"}
    whole = doctor(oracle.url, "--no-stream", "--think-time", "0.1")
    assert whole.returncode == 0, whole.stdout
    assert "not asked for" in whole.stdout
