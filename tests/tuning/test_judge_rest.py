"""The way to the target, what it tells of itself, and this machine: findings from values alone."""

import pytest

from loadband.errors import ExitCode
from loadband.load.distribution import Distribution
from loadband.tuning.doctor.ask_client import announced_keep_alive_s, ask_limits
from loadband.tuning.doctor.check import Check, Examination, Mark, bad, cleaned, findings_of, good, unknown, warn
from loadband.tuning.doctor.judge_client import descriptors_of, judge_descriptors, judge_keep_alive, judge_ports
from loadband.tuning.doctor.judge_link import judge_link, judge_names, judge_tls
from loadband.tuning.doctor.judge_server import judge_key, judge_models, judge_parallel, judge_refusal, judge_version
from loadband.tuning.doctor.needs import Needs
from loadband.tuning.doctor.seen import Idle, Limits, Link, Names, Reached, Secured
from loadband.tuning.doctor.told import Told

URL = "http://gpu1:8000"


def needs(users: int | None = 64, accelerators: int | None = 1, pause: float = 2.0) -> Needs:
    return Needs(users, 2, Distribution(0.5, pause), Distribution(50, 200), Distribution(64, 448), accelerators)


V4, V6 = Reached("10.0.0.1", 0.001), Reached("fd00::1", 0.001)
V6_DEAD = Reached("fd00::1", None, "network is unreachable")
NAMES = [
    (Names("10.0.0.1", False, 0.0, (V4,)), Mark.GOOD, "10.0.0.1 (IPv4)", "an address"),
    (Names("gpu1", True, 0.01, (V6,)), Mark.GOOD, "gpu1 is fd00::1 (IPv6)", "IPv6 alone"),
    (Names("gpu1", True, 0.01, (V6, V4)), Mark.GOOD, "1 of 1 other address answers", "both"),
    (Names("gpu1", True, 0.01, (V6_DEAD, V4)), Mark.WARN, "first fd00::1: network is unreachable", "IPv6 is dead"),
    (Names("gpu1", True, 0.01, (V6_DEAD,)), Mark.BAD, "cannot reach", "nothing answers"),
    (Names("gpu1", True, 0.9, (V4,)), Mark.WARN, "lookup took 900 ms", "a slow resolver"),
    (Names("gpu9", True, None, (), "name or service not known"), Mark.BAD, "gpu9 is not known", "no such name"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "mark", "words", "sentence"), NAMES, ids=[row[3] for row in NAMES])
def test_names(names: Names, mark: Mark, words: str, sentence: str) -> None:
    check = judge_names(names, URL)
    assert (check.mark, words in check.said) == (mark, True), f"{sentence}: {check}"


def test_a_dead_first_address_is_mended_by_writing_the_live_one() -> None:
    assert judge_names(Names("gpu1", True, 0.01, (V6_DEAD, V4)), URL).step == "write 10.0.0.1 in place of gpu1"
    dead = Reached("10.0.0.1", None, "refused")
    assert judge_names(Names("gpu1", True, 0.01, (dead, V6)), URL).step == "write [fd00::1] in place of gpu1"


def test_tls() -> None:
    assert judge_tls(Secured(0.01, "TLSv1.3", 80.0)).mark == Mark.GOOD
    assert judge_tls(Secured(0.01, "TLSv1.3", None)).mark == Mark.GOOD
    assert "2.0 days" in judge_tls(Secured(0.01, "TLSv1.3", 2.0)).said
    assert judge_tls(Secured(None, fault="the certificate is not trusted")).mark == Mark.BAD


def test_a_slow_link_is_told_with_what_it_adds() -> None:
    assert judge_link(Link((0.0001,), (0.001, 0.0012, 0.0011))).mark == Mark.GOOD
    slow = judge_link(Link((0.03,), (0.08, 0.09, 0.1)))
    assert slow.mark == Mark.WARN
    assert "every TTFT holds these 80 ms" in slow.step
    assert slow.values == {
        "connect_min_s": 0.03, "connect_median_s": 0.03, "round_trip_min_s": 0.08, "round_trip_median_s": 0.09,
    }  # fmt: skip
    assert "swings" in judge_link(Link((0.001,), (0.001, 0.05, 0.06))).said
    assert judge_link(Link()).mark == Mark.BAD


REFUSALS = [
    ("http://x wants a key: set LOADBAND_API_KEY (401: no: key)", "http://x wants a key",
     "set LOADBAND_API_KEY (401: no: key)"),
    ("http://x answers 404 (a: b): check the path", "http://x answers 404 (a: b)", "check the path"),
    ("http://x is not ready (502: a; b); wait until it is", "http://x is not ready (502: a; b)", "wait until it is"),
    ("http://x refuses the key in K (401: no)", "http://x refuses the key in K (401: no)", "look at the server's log"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "said", "step"), REFUSALS)
def test_the_probes_sentence_is_parted_outside_brackets(sentence: str, said: str, step: str) -> None:
    assert judge_refusal("key", sentence) == bad("key", said, step)


def test_key_and_models() -> None:
    assert "needed" in judge_key("K", given=True, needed=True).said
    assert "without it" in judge_key("K", given=True, needed=False).said
    assert judge_key("K", given=False, needed=None).said == "none is wanted (K is not set)"
    assert judge_models("m", ["m"], "m").mark == Mark.GOOD
    assert judge_models("m", None, "m").mark == Mark.WARN
    assert judge_models("m", ["a", "b"], None).step == "choose of a, b"
    assert "answers name b" in judge_models("a", ["a", "b"], "b").said


PARALLEL = [
    (Told(), 1, Mark.UNKNOWN, "nothing told"),
    (Told(slots=4), 1, Mark.UNKNOWN, "slots alone"),
    (Told(slots=4, devices=8), 8, Mark.GOOD, "as said"),
    (Told(devices=8), 1, Mark.WARN, "fewer said than told"),
    (Told(devices=2), 4, Mark.WARN, "more said than told"),
    (Told(replicas=2), 1, Mark.WARN, "two replicas on one device cannot be"),
    (Told(replicas=2), 8, Mark.UNKNOWN, "two replicas on eight devices can"),
    (Told(devices=8), None, Mark.GOOD, "nothing said"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "accelerators", "mark", "sentence"), PARALLEL, ids=[row[3] for row in PARALLEL])
def test_parallel(told: Told, accelerators: int | None, mark: Mark, sentence: str) -> None:
    assert judge_parallel(told, needs(accelerators=accelerators)).mark == mark, sentence


def test_version() -> None:
    assert judge_version(Told("vLLM", "0.32.0", cache_tokens=4096)).said == "vLLM 0.32.0, KV cache of 4,096 tokens"
    assert judge_version(Told("nginx")).mark == Mark.UNKNOWN


def test_descriptors() -> None:
    assert descriptors_of(Limits(1024, 1_048_576, None)) == 10_000, "Locust raises it"
    assert descriptors_of(Limits(1024, 4096, None)) == 1024, "Locust cannot"
    assert descriptors_of(Limits(None, None, None)) is None
    few = judge_descriptors(Limits(256, 256, None), needs(users=2000))
    assert few.mark == Mark.BAD
    assert few.step.startswith("ulimit -n 1064")
    assert judge_descriptors(Limits(256, 256, None), needs(users=384)).mark == Mark.GOOD, "two processes share them"
    assert judge_descriptors(Limits(256, 256, None), needs(users=None)).mark == Mark.GOOD
    assert judge_descriptors(Limits(None, None, None), needs()).mark == Mark.UNKNOWN
    mine = ask_limits()
    assert mine.soft_descriptors is None or mine.soft_descriptors > 0


def test_ports_of_closed_connections_count_for_a_minute() -> None:
    limits = Limits(None, None, 28_000)
    assert judge_ports(limits, needs(2000), closes=False, answer_s=1.0).values["needed"] == 2000
    spent = judge_ports(limits, needs(2000), closes=True, answer_s=0.75)
    assert spent.values["needed"] == 2000 + 2000 * 60 / 2
    assert spent.mark == Mark.BAD
    assert judge_ports(Limits(None, None, None), needs(), closes=None, answer_s=None).mark == Mark.UNKNOWN
    assert judge_ports(limits, needs(None), closes=None, answer_s=None).mark == Mark.GOOD


KEEP = [
    (Idle(False, 5.0, 2.0), 0.1, Mark.GOOD, "outlives", "it lives"),
    (Idle(False, 5.0), 0.1, Mark.GOOD, "says the server", "its word"),
    (Idle(False, 1.0), 0.1, Mark.WARN, "lives 1 s", "its word is too short"),
    (Idle(False, None, None, 1.2), 0.1, Mark.WARN, "lives 1.2 s", "closed while watched"),
    (Idle(False, 5.0, None, 1.2), 0.1, Mark.WARN, "lives 1.2 s", "it promised more"),
    (Idle(False, 1.0), 0.0001, Mark.GOOD, "lives 1 s", "a reconnect that does not show"),
    (Idle(True, 5.0), 0.1, Mark.WARN, "closes after each", "llama.cpp far away"),
    (Idle(True, 5.0), 0.0001, Mark.GOOD, "closes after each", "llama.cpp nearby"),
    (Idle(), 0.1, Mark.UNKNOWN, "does not tell", "nothing known"),
    (Idle(False, None, 1.0), 0.1, Mark.UNKNOWN, "open after 1 s", "not watched for long enough"),
]  # fmt: skip


@pytest.mark.parametrize(("idle", "connect_s", "mark", "words", "sentence"), KEEP, ids=[row[4] for row in KEEP])
def test_keep_alive(idle: Idle, connect_s: float, mark: Mark, words: str, sentence: str) -> None:
    check = judge_keep_alive(idle, needs(), connect_s)
    assert (check.mark, words in check.said) == (mark, True), f"{sentence}: {check}"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("timeout=5, max=100", 5.0), ("max=3; timeout = 75", 75.0), ("", None), ("timeout=x", None), ("5", None)],
)
def test_the_announced_time(header: str, seconds: float | None) -> None:
    assert announced_keep_alive_s(header) == seconds


def code(*checks: Check, ended_by: ExitCode | None = None) -> ExitCode:
    return Examination(URL, checks, ended_by).exit_code


def test_exit_codes() -> None:
    assert code(good("a", "x"), warn("b", "y", "z"), unknown("c", "u")) == ExitCode.OK
    assert code(good("a", "x"), bad("b", "y", "z")) == ExitCode.UNANSWERED
    assert code(bad("b", "y", "z"), ended_by=ExitCode.UNREACHABLE) == ExitCode.UNREACHABLE
    assert code(bad("b", "y", "z"), ended_by=ExitCode.USAGE) == ExitCode.UNANSWERED, "the question was right"


def test_a_secret_is_in_no_part_of_a_check() -> None:
    checks = cleaned([warn("a", "said sk-1", "do sk-1", key="sk-1", more=["sk-1", 2])], ["sk-1"])
    assert "sk-1" not in repr(checks)
    assert checks[0].values["more"] == ["***", 2]


def test_findings_are_what_is_not_well_and_not_known_already() -> None:
    checks = [good("a", "x"), warn("b", "y", "z"), bad("c", "w", ""), unknown("d", "v"), warn("e", "known", "k")]
    assert findings_of(checks, ["known"]) == ["b: y; z", "c: w"]
