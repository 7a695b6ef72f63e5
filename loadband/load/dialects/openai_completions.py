"""OpenAI's older completions: one text in, its continuation out.

Knows: this dialect's JSON. Must not know: sockets, HTTP framing, stamps.
"""

from loadband.load.dialects.dialect import Dialect, Messages, as_prompt, openai_body
from loadband.load.says import Chunk, Sampling
from loadband.load.server_json import event_object, json_bytes, list_in, model_in, text_in, usage_of


class OpenAICompletions(Dialect):
    """`/v1/completions`, streaming or in one piece."""

    name = "openai-completions"
    usual_path = "/v1/completions"
    takes_ignore_eos = True
    takes_one_piece = True

    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON."""
        asked = openai_body(sampling, max_tokens, stream=self.stream)
        return json_bytes({"model": sampling.model, "prompt": as_prompt(messages)} | asked)

    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""
        data = data.strip()
        if data == b"[DONE]":
            return Chunk(done=True)
        event = event_object(name, data)
        if isinstance(event, Chunk):
            return event
        choices = [choice for choice in list_in(event.get("choices")) if isinstance(choice, dict)]
        reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
        return Chunk(
            text="".join(text_in(choice.get("text")) for choice in choices),
            finish_reason=str(reasons[-1]) if reasons else None,
            usage=usage_of(event.get("usage")),
            model=model_in(event),
        )

    def whole(self, body: bytes) -> Chunk:
        """What an answer in one piece says: its choices have the same fields. Raises ProtocolError."""
        return self.read(b"", body)
