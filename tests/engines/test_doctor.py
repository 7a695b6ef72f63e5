"""The doctor against a real llama.cpp: what it finds is what llama.cpp is known for."""

import pytest

from tests.engines.engine import LlamaCpp
from tests.tuning.asking import examined, needs, target

pytestmark = pytest.mark.process


def test_llamacpp(llamacpp: LlamaCpp) -> None:
    before = llamacpp.counter("llamacpp:tokens_predicted_total")
    seen = examined(target(llamacpp.url), needs(think="0.1"))
    assert seen.code == 0, seen.bad
    assert seen.said("models") == f"models: {llamacpp.model}"
    assert seen.said("version").startswith("version: llama.cpp b")
    assert seen.checks["parallel"].values["slots"] == 4
    assert seen.checks["context"].values["limit_tokens"] == 2048
    assert "closes after each streamed answer" in seen.said("keep-alive")
    assert "on: of a prompt seen before" in seen.said("prefix cache")
    assert seen.mark("usage") == "good"
    assert seen.mark("ignore_eos") == "good"
    assert llamacpp.counter("llamacpp:tokens_predicted_total") > before
