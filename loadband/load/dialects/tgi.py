"""Hugging Face's text-generation-inference: `/generate_stream`, one event a token.

Knows: this dialect's JSON. Must not know: sockets, HTTP framing, stamps.

The last event repeats the whole text as `generated_text` and counts the tokens; special tokens (the end) are no text.
"""

from typing import Any

from loadband.load.dialects.dialect import Dialect, Messages, as_prompt
from loadband.load.says import Chunk, Sampling, Usage
from loadband.load.server_json import dict_in, event_object, json_bytes, text_in, token_count


class Tgi(Dialect):
    """`/generate_stream`."""

    name = "tgi"
    usual_path = "/generate_stream"
    needs_model = False

    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON. It refuses a temperature of 0: no sampling is asked for then."""
        parameters: dict[str, Any] = {"max_new_tokens": max_tokens, "details": True}
        if sampling.temperature:
            parameters |= {"do_sample": True, "temperature": sampling.temperature}
        extra = dict(sampling.extra_body or {})
        parameters |= dict_in(extra.pop("parameters", None))
        return json_bytes({"inputs": as_prompt(messages), "parameters": parameters} | extra)

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""
        event = event_object(name, data.strip())
        if isinstance(event, Chunk):
            return event
        token, details = dict_in(event.get("token")), dict_in(event.get("details"))
        reason, generated = details.get("finish_reason"), token_count(details.get("generated_tokens"))
        return Chunk(
            text="" if token.get("special") else text_in(token.get("text")),
            finish_reason=str(reason) if reason else None,
            usage=None if generated is None else Usage(output_tokens=generated),
            done=isinstance(event.get("generated_text"), str),
        )
