"""The doctor against the oracle: each odd server gets the right finding, and a good one none."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from loadband.load import connection
from loadband.tuning.doctor.ask_link import ask_names
from loadband.tuning.doctor.judge_link import judge_names
from tests.oracle import (
    Oracle,
    answer,
    at,
    content,
    deaf_port,
    done,
    finish,
    glued,
    refused_port,
    role,
    rule,
    tokens,
    usage,
)
from tests.oracle.faults import error, html, json_body, not_http, silent, stalls, unauthorised
from tests.tuning.asking import examined, needs, target
from tests.tuning.forwarding import forwarding

pytestmark = pytest.mark.process

KEY = "sk-planted-8899"
QUICK = tokens(ttft_ms=10, itl_ms=1.5)


def good(oracle: Oracle) -> None:
    oracle.script(replace(QUICK, eos_after=12))


def test_a_good_server_gets_no_finding(oracle: Oracle) -> None:
    good(oracle)
    seen = examined(target(oracle.url))
    assert {name: seen.mark(name) for name in seen.checks if seen.mark(name) not in ("good", "unknown")} == {}
    assert seen.code == 0
    assert seen.said("models").startswith("models: oracle")
    assert "honoured" in seen.said("ignore_eos")
    assert "outlives" in seen.said("keep-alive")
    assert seen.checks["link"].values["round_trip_min_s"] < 0.02
    assert seen.checks["context"].values["limit_tokens"] == 32768


def test_what_the_probe_asked_is_not_asked_again(oracle: Oracle) -> None:
    good(oracle)
    examined(target(oracle.url))
    log = oracle.log()
    assert [r.path for r in log.others].count("/v1/models") == 1
    assert len({r.prompt for r in log.requests}) == len(log.requests) - 3, (
        "three prompts are asked twice, for the cache"
    )


@dataclass(frozen=True)
class Odd:
    """What the server does, what must be found, and the exit code."""

    told: Callable[[Oracle], None]
    check: str
    mark: str
    words: tuple[str, ...]
    code: int
    model: str | None = None
    within_s: float = 5.0
    others: dict[str, str] = field(default_factory=dict)


def burst(n: int, at_ms: float) -> list[bytes]:
    return [role(), *([content(" tok")] * n), finish("length"), usage(10, n), done()]


LONG = [content(" tok")] * 20
NAMED_B = content("x").replace(b'"id"', b'"model":"b","id"')
ODD = {
    "held back by a proxy": Odd(
        lambda o: o.script(answer(glued(400, *burst(64, 400)))), "streams", "bad", ("held back", "proxy"), 3
    ),
    "let through in lumps": Odd(
        lambda o: o.script(
            answer(*(glued(100 * k, *LONG) for k in range(1, 6)), at(520, finish("length"), usage(9, 100), done()))
        ),
        "streams", "bad", ("lumps", "proxy_buffering"), 3,
    ),
    "a whole answer in one piece": Odd(
        lambda o: o.script(
            rule(json_body({"choices": [{"message": {"content": "x"}}], "usage": {}}, after_ms=50))
        ),
        "answer", "bad", ("in one piece",), 4,
    ),
    "no usage": Odd(lambda o: o.script(replace(QUICK, usage="never")), "usage", "warn", ("counts no tokens",), 0,
                    others={"prompt length": "unknown"}),
    "ignore_eos is ignored": Odd(
        lambda o: o.script(replace(QUICK, n=6)), "ignore_eos", "warn", ("not honoured", "stop"), 0
    ),
    "max_tokens is ignored": Odd(
        lambda o: o.script(replace(QUICK, n=12)), "ignore_eos", "bad", ("max_tokens was 8",), 3
    ),
    "ignore_eos is refused": Odd(
        lambda o: o.script(rule(error(400, "unknown field ignore_eos"), has="ignore_eos"), rule(QUICK)),
        "ignore_eos", "warn", ("does not take",), 0,
    ),
    "no list of models, one named": Odd(
        lambda o: o.script(rule(error(404, "Not Found"), method="GET", path="/v1/models"), rule(QUICK)),
        "models", "warn", ("lists none",), 0, model="mine",
    ),
    "no list of models, none named": Odd(
        lambda o: o.script(rule(error(404, "Not Found"), method="GET", path="/v1/models"), rule(QUICK)),
        "models", "bad", ("does not tell its models", "--model"), 3,
    ),
    "a login page": Odd(lambda o: o.script(rule(html())), "answer", "bad", ("no stream", "Sign in"), 4),
    "a wrong path": Odd(lambda o: o.script(rule(error(404, "Not Found"))), "answer", "bad", ("404", "path"), 3),
    "a model that is loading": Odd(
        lambda o: o.script(rule(error(503, "Loading model"), method=None)), "models", "bad", ("Loading model",), 4
    ),
    "an SSH port": Odd(lambda o: o.script(rule(not_http(), method=None)), "http", "bad", ("HTTP", "right port"), 4),
    "a port that is silent": Odd(
        lambda o: o.script(rule(silent(), method=None)), "http", "bad", ("no answer within",), 4, within_s=0.5
    ),
    "a model that hangs": Odd(
        lambda o: o.script(rule(silent())), "answer", "bad", ("no token within",), 4, within_s=0.5
    ),
    "a longer answer that stalls": Odd(
        lambda o: o.script(rule(QUICK, equals=("max_tokens", 8)), rule(stalls(3))),
        "streams", "bad", ("timeout_idle",), 3, within_s=0.7,
    ),
    "another model answers": Odd(
        lambda o: o.script(
            rule(json_body({"data": [{"id": "a"}]}), method="GET", path="/v1/models"),
            rule(answer(at(20, NAMED_B), at(30, finish(), usage(3, 1), done()))),
        ),
        "models", "warn", ("answers name b",), 0,
    ),
    "everyone is sent elsewhere": Odd(
        lambda o: o.script(rule(answer(at(0, b"moved"), status=301, framing="length",
                                       headers=[("Location", "https://gpu1/health")]), method=None)),
        "http", "bad", ("https://gpu1",), 3,
    ),
    "a context that is too short": Odd(
        lambda o: o.script(QUICK, context=500), "context", "bad", ("500 tokens",), 3
    ),
    "a context that is not told": Odd(
        lambda o: o.script(
            rule(json_body({"data": [{"id": "a"}]}), method="GET", path="/v1/models"),
            rule(replace(QUICK, context_limit=500)),
        ),
        "context", "bad", ("maximum context length is 500",), 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_an_odd_server_is_found_out(oracle: Oracle, odd: Odd) -> None:
    odd.told(oracle)
    seen = examined(target(oracle.url, model=odd.model, within_s=odd.within_s))
    assert seen.mark(odd.check) == odd.mark, seen.examination
    for word in odd.words:
        assert word in seen.said(odd.check)
    assert seen.code == odd.code, seen.bad
    assert {name: seen.mark(name) for name in odd.others} == odd.others


@pytest.mark.parametrize("key", [KEY, None], ids=["wrong", "missing"])
def test_a_key_that_is_refused_is_named_by_its_variable_and_never_shown(oracle: Oracle, key: str | None) -> None:
    oracle.script(rule(unauthorised(), method=None))
    seen = examined(target(oracle.url, key=key))
    assert (seen.mark("key"), seen.code) == ("bad", 3)
    assert "LOADBAND_API_KEY" in seen.said("key")
    assert "Incorrect API key provided" in seen.said("key")
    assert KEY not in repr(seen.examination)


def test_a_key_that_is_wanted_is_told_apart_from_one_that_is_not(oracle: Oracle) -> None:
    good(oracle)
    assert "without it" in examined(target(oracle.url, key=KEY)).said("key")
    models = json_body({"data": [{"id": "oracle"}]})
    oracle.script(
        rule(models, method="GET", path="/v1/models", header=f"authorization: Bearer {KEY}"),
        rule(unauthorised(), method="GET", path="/v1/models"),
        rule(QUICK),
    )
    assert "needed" in examined(target(oracle.url, key=KEY)).said("key")


def test_a_closed_port_and_a_deaf_one() -> None:
    with refused_port() as port:
        closed = examined(target(f"http://127.0.0.1:{port}"))
    assert (closed.code, closed.mark("address")) == (4, "bad")
    assert "connection refused" in closed.said("address")
    with deaf_port() as port:
        deaf = examined(target(f"http://127.0.0.1:{port}", within_s=0.3))
    assert deaf.code == 4
    assert "no connection within 0.3 s" in deaf.said("address")


def test_a_name_that_is_none() -> None:
    seen = examined(target("http://no-such-name.invalid:8000"))
    assert (seen.code, list(seen.checks)) == (4, ["address"])
    assert "no-such-name.invalid is not known" in seen.said("address")


def test_a_slow_link_is_not_blamed_on_the_model(oracle: Oracle) -> None:
    good(oracle)
    with forwarding(oracle.port, delay_s=0.04) as port:
        seen = examined(target(f"http://127.0.0.1:{port}"))
    assert seen.mark("link") == "warn"
    assert 0.08 <= seen.checks["link"].values["round_trip_min_s"] < 0.2
    assert "every TTFT holds these" in seen.said("link")


def test_a_server_with_an_ipv6_address_alone(oracle: Oracle) -> None:
    good(oracle)
    with forwarding(oracle.port, "::1") as port:
        seen = examined(target(f"http://[::1]:{port}"))
    assert seen.code == 0, seen.bad
    assert "::1 (IPv6)" in seen.said("address")


def test_a_name_whose_first_address_is_dead(oracle: Oracle) -> None:
    address = connection.parse_address(f"http://gpu1:{oracle.port}")
    infos = [(10, 1, 6, "", ("::1", oracle.port, 0, 0)), (2, 1, 6, "", ("127.0.0.1", oracle.port))]
    check = judge_names(ask_names(address, 1.0, lambda *_: infos), address.url)
    assert check.mark == "warn"
    assert check.step == "write 127.0.0.1 in place of gpu1"


def test_over_tls_and_below_a_base_path(oracle_tls: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(oracle_tls.cafile))
    connection.tls_context.cache_clear()
    models = json_body({"data": [{"id": "below"}]})
    oracle_tls.script(
        rule(models, method="GET", path="/llm/v1/models"), rule(QUICK, path="/llm/v1/chat/completions"),
        rule(json_body({}), method="GET", path="/llm/health"),
    )  # fmt: skip
    try:
        seen = examined(target(f"{oracle_tls.url}/llm/v1"))
    finally:
        connection.tls_context.cache_clear()
    assert seen.code == 0, seen.bad
    assert "TLSv1.3" in seen.said("tls")
    assert seen.checks["tls"].values["days_left"] < 7
    assert seen.said("models") == "models: below"
    assert all(r.path.startswith("/llm/") for r in (*oracle_tls.log().requests, *oracle_tls.log().others))


def test_a_certificate_that_is_not_trusted(oracle_tls: Oracle) -> None:
    connection.tls_context.cache_clear()
    seen = examined(target(oracle_tls.url))
    assert (seen.code, seen.mark("tls")) == (4, "bad")
    assert "not trusted" in seen.said("tls")


def test_a_connection_that_dies_in_the_pause(oracle: Oracle) -> None:
    oracle.script(
        rule(answer(at(0, b"ok"), framing="length", end="quiet", end_after_ms=300), method="GET", path="/health"),
        rule(QUICK),
    )
    seen = examined(target(oracle.url), needs(think="0.1-2"))
    assert seen.checks["keep-alive"].values["died_within_s"] < 1
    assert "pauses last up to 2 s" in seen.said("keep-alive")


def test_prompts_are_counted_without_the_template(oracle: Oracle) -> None:
    oracle.script(replace(QUICK, overhead=40))
    length = examined(target(oracle.url), needs(prompt="500")).checks["prompt length"]
    assert length.values["template_tokens"] == pytest.approx(40, abs=8)
    assert length.values["counted_tokens"] == pytest.approx(540, rel=0.15)


def test_nothing_is_asked_beyond_the_plan(oracle: Oracle) -> None:
    """There are servers that die of it."""
    oracle.script(QUICK, context=300)
    examined(target(oracle.url), needs(prompt="50-100", answer="64-448"))
    asked = [(len(r.body["messages"][0]["content"].split()), r.body["max_tokens"]) for r in oracle.log().requests]
    assert max(words for words, _ in asked) < 350
    assert all(words + answer < 1000 for words, answer in asked)
    assert json.dumps(asked), "every body could be read"
