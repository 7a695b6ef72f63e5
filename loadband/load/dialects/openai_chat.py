"""OpenAI's chat completions, as vLLM, SGLang, llama.cpp and most others speak them.

Knows: this dialect's JSON. Must not know: sockets, HTTP framing, stamps.
"""

from typing import Any

from loadband.load.dialects.dialect import Dialect, Messages, openai_body
from loadband.load.says import Chunk, Sampling
from loadband.load.server_json import event_object, json_bytes, list_in, model_in, text_in, usage_of


class OpenAIChat(Dialect):
    """`/v1/chat/completions`, streaming or in one piece."""

    name = "openai-chat"
    usual_path = "/v1/chat/completions"
    takes_ignore_eos = True
    takes_one_piece = True

    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON."""
        asked = openai_body(sampling, max_tokens, stream=self.stream)
        return json_bytes({"model": sampling.model, "messages": list(messages)} | asked)

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""
        data = data.strip()
        if data == b"[DONE]":
            return Chunk(done=True)
        event = event_object(name, data)
        return event if isinstance(event, Chunk) else _chunk(event, "delta")

    def whole(self, body: bytes) -> Chunk:
        """What an answer in one piece says. Raises ProtocolError."""
        event = event_object(b"", body.strip())
        return event if isinstance(event, Chunk) else _chunk(event, "message")


def _chunk(event: dict[str, Any], said_in: str) -> Chunk:
    """`said_in`: `delta` of a stream's choices, `message` of a whole answer's."""
    text = reasoning = ""
    tool_piece, tool_calls, finish_reason = False, 0, None
    for choice in list_in(event.get("choices")):
        if not isinstance(choice, dict):
            continue
        finish_reason = choice.get("finish_reason") or finish_reason
        said = choice.get(said_in)
        if not isinstance(said, dict):
            continue
        text += text_in(said.get("content"))
        reasoning += (
            text_in(said.get("reasoning_content"))
            or text_in(said.get("reasoning"))
            or text_in(said.get("reasoning_details"))
        )
        for call in list_in(said.get("tool_calls")):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and (function.get("name") or function.get("arguments")):
                tool_piece = True
                tool_calls += bool(function.get("name"))
    return Chunk(
        text=text,
        reasoning=reasoning,
        tool_piece=tool_piece,
        tool_calls=tool_calls,
        finish_reason=str(finish_reason) if finish_reason else None,
        usage=usage_of(event.get("usage")),
        model=model_in(event),
    )
