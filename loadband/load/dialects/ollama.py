"""Ollama's own dialect: lines of JSON, the last one `done` with counts.

Knows: this dialect's JSON. Must not know: sockets, HTTP framing, stamps.

Its durations are the server's own and not used: one token in a microsecond is no speed.
"""

from typing import Any

from loadband.load.dialects.dialect import Dialect, Messages, as_prompt
from loadband.load.says import Chunk, Sampling, Usage
from loadband.load.server_json import dict_in, event_object, json_bytes, list_in, model_in, text_in, token_count


class Ollama(Dialect):
    """`/api/chat`, or `/api/generate` when the path says so."""

    name = "ollama"
    usual_path = "/api/chat"
    json_lines = True

    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON."""
        options: dict[str, Any] = {"num_predict": max_tokens}
        if sampling.temperature is not None:
            options["temperature"] = sampling.temperature
        extra = dict(sampling.extra_body or {})
        options |= dict_in(extra.pop("options", None))
        asked: dict[str, Any] = {"model": sampling.model, "stream": True, "options": options}
        if self._path.endswith("/generate"):
            asked["prompt"] = as_prompt(messages)
        else:
            asked["messages"] = list(messages)
        return json_bytes(asked | extra)

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one line says. Raises ProtocolError when it is not of this dialect."""
        event = event_object(name, data.strip())
        if isinstance(event, Chunk):
            return event
        message = dict_in(event.get("message"))
        calls = [call for call in list_in(message.get("tool_calls")) if isinstance(call, dict)]
        done = event.get("done") is True
        output, prompt = token_count(event.get("eval_count")), token_count(event.get("prompt_eval_count"))
        reason = event.get("done_reason")
        return Chunk(
            text=text_in(message.get("content")) or text_in(event.get("response")),
            reasoning=text_in(message.get("thinking")) or text_in(event.get("thinking")),
            tool_piece=bool(calls),
            tool_calls=len(calls),
            finish_reason=str(reason) if done and reason else None,
            usage=Usage(output_tokens=output, prompt_tokens=prompt) if done and (output or prompt) else None,
            model=model_in(event),
            done=done,
        )
