"""OpenAI's two dialects on a real llama.cpp, streaming and in one piece: the same counts from all four."""

import pytest

from loadband.load.connection import Connection, parse_address
from loadband.load.dialects import dialect_of
from loadband.load.exchange import Exchange
from loadband.load.request import request_head, whole_request
from loadband.load.says import Sampling
from loadband.record import Status
from tests.engines.engine import LlamaCpp
from tests.load.asking import PATIENT

pytestmark = pytest.mark.process


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "one piece"])
@pytest.mark.parametrize("api", ["openai-chat", "openai-completions"])
def test_an_answer_has_its_length(llamacpp: LlamaCpp, api: str, stream: bool) -> None:
    dialect, address = dialect_of(api, stream=stream), parse_address(llamacpp.url)
    asked = [{"role": "user", "content": "what is a river?"}]
    body = dialect.body(Sampling(llamacpp.model, ignore_eos=True), asked, 20)
    exchange = Exchange(Connection(address, 10), dialect, PATIENT)
    exchange.run(whole_request(request_head(dialect.path(llamacpp.model), address, None), body))
    assert (exchange.status, exchange.answer.usage.output_tokens) == (Status.OK, 20)
    assert exchange.answer.finish_reason == "length"
    timing = exchange.tokens.timing()
    assert (timing.ttft_s is not None) == stream
    assert timing.e2e_s is not None
    assert (timing.events > 1) == stream
