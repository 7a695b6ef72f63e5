"""The real engine: it streams, counts what it streams, and obeys `ignore_eos`."""

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.engines.engine import LlamaCpp, engine_python, launcher
from tests.oracle.rawclient import RawClient

pytestmark = pytest.mark.process

LAUNCHER = launcher("llamacpp")

END_OF_TURN = 2
"""The token that ends an answer: the third of the special ones."""


def stream(engine: LlamaCpp, **fields: Any) -> tuple[bytes, list[Any]]:
    """The head and the events of one streamed answer, read to the end of the connection."""
    with RawClient(engine.port, timeout_s=30) as client:
        got = client.post(stream_options={"include_usage": True}, **fields).to_end()
    head, _, body = got.partition(b"\r\n\r\n")
    lines = [line for line in body.replace(b"\r\n", b"\n").split(b"\n") if line.startswith(b"data: {")]
    assert body.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    return head, [json.loads(line[6:]) for line in lines]


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it comes true within two seconds: the engine books an answer just after its last byte."""
    until = time.monotonic() + 2
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


def test_it_streams_and_its_counters_agree_with_its_usage(llamacpp: LlamaCpp) -> None:
    before = llamacpp.metrics()
    total = 0
    for length in (3, 40):
        _, events = stream(llamacpp, prompt=f"{length} rivers", max_tokens=length, ignore_eos=True)
        (usage,) = [event["usage"] for event in events if event.get("usage")]
        assert usage["completion_tokens"] == length
        total += length
        assert len([e for e in events if e["choices"] and e["choices"][0]["delta"].get("content")]) <= length

    def counted() -> float:
        name = "llamacpp:tokens_predicted_total"
        return llamacpp.metrics()[name] - before[name]

    assert eventually(lambda: counted() == total), counted()


def test_ignore_eos_decides_whether_the_model_may_end(llamacpp: LlamaCpp) -> None:
    def ends(**fields: Any) -> tuple[int, str]:
        choice = llamacpp.ask(
            "/v1/chat/completions",
            messages=[{"role": "user", "content": "hello"}],
            max_tokens=30,
            **fields,
        )
        return choice["usage"]["completion_tokens"], choice["choices"][0]["finish_reason"]

    eager_to_end = {str(END_OF_TURN): 100}
    assert ends(logit_bias=eager_to_end) == (1, "stop")
    assert ends(logit_bias=eager_to_end, ignore_eos=True) == (30, "length")


def test_it_closes_after_a_stream_although_it_promises_not_to(llamacpp: LlamaCpp) -> None:
    head, _ = stream(llamacpp, max_tokens=2)
    assert b"Keep-Alive: timeout=5" in head
    assert b"Connection: close" not in head
    with RawClient(llamacpp.port) as client:
        for _ in range(2):
            assert client.post(max_tokens=1, stream=False).json()["usage"]["completion_tokens"] == 1


def test_a_slot_has_room_for_a_prompt_and_its_answer(llamacpp: LlamaCpp) -> None:
    _, events = stream(llamacpp, prompt="word " * 200, max_tokens=448, ignore_eos=True)
    (usage,) = [event["usage"] for event in events if event.get("usage")]
    assert usage["completion_tokens"] == 448
    assert usage["prompt_tokens"] > 200


@pytest.mark.parametrize("text", ["你好，世界", "naïve café 日本語 🎉", "def f(x):\n\treturn x ** 2\n"])
def test_any_text_survives_the_tokenizer(llamacpp: LlamaCpp, text: str) -> None:
    ids = llamacpp.ask("/tokenize", content=text)["tokens"]
    assert llamacpp.ask("/detokenize", tokens=ids)["content"] == text


def test_it_ends_with_its_parent(llamacpp: LlamaCpp) -> None:
    assert LlamaCpp("--slots", "1").stop() == 0


def test_a_missing_package_is_one_line_with_the_command_to_type() -> None:
    done = subprocess.run([sys.executable, "-S", str(LAUNCHER)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "pip install -r deploy/engines/requirements-llamacpp.txt" in done.stderr


def test_a_taken_port_is_one_line(llamacpp: LlamaCpp) -> None:
    arguments = [engine_python("llamacpp"), str(LAUNCHER), "--port", str(llamacpp.port)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert f"is port {llamacpp.port} taken?" in done.stderr


@pytest.fixture
def tiny_gguf(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, without the engine's packages: nothing here is trained or written."""
    monkeypatch.syspath_prepend(LAUNCHER.parent)
    for package in ("gguf", "tokenizers"):
        monkeypatch.setitem(sys.modules, package, MagicMock())
    for module in ("tiny_model", "tiny_gguf"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return importlib.import_module("tiny_gguf")


def test_many_at_once_make_the_model_once_and_never_see_half_of_it(
    tiny_gguf: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = []

    class Slow:
        def save(self, path: str) -> None:
            made.append("tokenizer")
            Path(path).write_text("{}")

    def write(path: Path, _tokenizer: object, _size: object) -> None:
        made.append("model")
        with path.open("w") as file:
            for _ in range(5):
                file.write("part\n")
                file.flush()
                time.sleep(0.01)

    monkeypatch.setattr("tiny_model.train_tokenizer", Slow)
    monkeypatch.setattr(tiny_gguf, "write_gguf", write)
    with ThreadPoolExecutor(4) as pool:
        files = list(pool.map(lambda _: tiny_gguf.model_file(tmp_path, "tiny"), range(4)))
    assert made == ["tokenizer", "model"]
    assert {file.read_text() for file in files} == {"part\n" * 5}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", files[0].name, "tokenizer-1.json"]
