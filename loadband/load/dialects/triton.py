"""Triton's generate extension: `/v2/models/MODEL/generate_stream`, as its vLLM and TensorRT-LLM backends fill it.

Knows: this dialect's JSON. Must not know: sockets, HTTP framing, stamps.

Nothing says the end, and no tokens are counted. The field names are those of the vLLM backend; another backend's go
into `extra_body`.
"""

from typing import Any

from loadband.load.dialects.dialect import Dialect, Messages, as_prompt
from loadband.load.says import Chunk, Sampling
from loadband.load.server_json import dict_in, event_object, json_bytes, text_in


class Triton(Dialect):
    """`generate_stream` of one model."""

    name = "triton"
    usual_path = "/v2/models/{model}/generate_stream"
    last_word = False
    takes_ignore_eos = True

    def path(self, model: str) -> str:
        """Where requests for the model go."""
        return self._path.replace("{model}", model)

    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON; `exclude_input_in_output` keeps the prompt out of the answer."""
        parameters: dict[str, Any] = {"stream": True, "exclude_input_in_output": True, "max_tokens": max_tokens}
        if sampling.temperature is not None:
            parameters["temperature"] = sampling.temperature
        if sampling.ignore_eos:
            parameters["ignore_eos"] = True
        extra = dict(sampling.extra_body or {})
        parameters |= dict_in(extra.pop("parameters", None))
        return json_bytes({"text_input": as_prompt(messages), "parameters": parameters} | extra)

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""
        event = event_object(name, data.strip())
        if isinstance(event, Chunk):
            return event
        return Chunk(text=text_in(event.get("text_output")))
