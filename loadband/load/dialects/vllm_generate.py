"""vLLM's demo server: `/generate`, where each event repeats the prompt and the whole answer so far.

Knows: this dialect's JSON. Must not know: sockets, HTTP framing, stamps.

Events are parted by a line end (by NUL in older versions), nothing says the end, and no tokens are counted.
"""

from typing import Any

from loadband.load.dialects.dialect import Dialect, Messages, as_prompt
from loadband.load.says import Chunk, ProtocolError, Sampling
from loadband.load.server_json import event_object, json_bytes, list_in


class VllmGenerate(Dialect):
    """`/generate` with `stream`."""

    name = "vllm-generate"
    usual_path = "/generate"
    json_lines = True
    last_word = False
    takes_ignore_eos = True
    needs_model = False

    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON."""
        asked: dict[str, Any] = {"prompt": as_prompt(messages), "max_tokens": max_tokens, "stream": True}
        if sampling.temperature is not None:
            asked["temperature"] = sampling.temperature
        if sampling.ignore_eos:
            asked["ignore_eos"] = True
        return json_bytes(asked | dict(sampling.extra_body or {}))

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""
        event = event_object(name, data.strip())
        if isinstance(event, Chunk):
            return event
        texts = list_in(event.get("text"))
        if not texts or not isinstance(texts[0], str):
            raise ProtocolError(f"an event has no list of texts ({data[:80].decode(errors='replace')})")
        return Chunk(so_far=texts[0])

    def echo(self, messages: Messages) -> str:
        """The prompt, which every event repeats."""
        return as_prompt(messages)
