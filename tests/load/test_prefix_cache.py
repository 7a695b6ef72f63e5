"""The order to empty the prefix cache: vLLM's, SGLang's, and a server that takes none."""

import pytest

from loadband.errors import UsageError
from loadband.load.connection import parse_address
from loadband.load.prefix_cache import ENDPOINTS, reset_prefix_cache
from tests.oracle import Oracle, rule, tokens
from tests.oracle.faults import json_body

CHAT = rule(tokens(), path="/v1/chat/completions")


@pytest.mark.parametrize(("taken", "asked"), [(ENDPOINTS[0], ENDPOINTS[:1]), (ENDPOINTS[1], ENDPOINTS)])
def test_the_one_that_the_server_has_is_used(oracle: Oracle, taken: str, asked: tuple[str, ...]) -> None:
    oracle.script(rule(json_body({}), path=taken), CHAT)
    reset_prefix_cache(parse_address(oracle.url), "sk-planted")
    requests = oracle.log().requests
    assert [(request.method, request.path) for request in requests] == [("POST", path) for path in asked]
    assert {request.headers["authorization"] for request in requests} == {"Bearer sk-planted"}


def test_a_server_without_one_is_said_in_one_line(oracle: Oracle) -> None:
    oracle.script(CHAT)
    with pytest.raises(UsageError) as refused:
        reset_prefix_cache(parse_address(oracle.url), None)
    said = str(refused.value)
    assert f"{oracle.url} does not empty its prefix cache" in said
    assert "/reset_prefix_cache: 404, /flush_cache: 404" in said
    assert "VLLM_SERVER_DEV_MODE=1" in said and "\n" not in said
