"""What a dialect is: a way to ask, and a way to read what comes.

Knows: what differs from dialect to dialect. Must not know: any one of them, sockets, HTTP framing, stamps.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from loadband.load.says import Chunk, ProtocolError, Sampling
from loadband.load.server_json import text_in

Messages = Sequence[Mapping[str, Any]]


class Dialect(ABC):
    """One dialect, with what is fixed for a run."""

    name: ClassVar[str]
    usual_path: ClassVar[str]
    json_lines: ClassVar[bool] = False
    """Events are JSON objects parted by line ends or NUL, not server-sent events."""
    last_word: ClassVar[bool] = True
    """The server says when an answer is whole; else the end of the HTTP message says so."""
    takes_ignore_eos: ClassVar[bool] = False
    takes_one_piece: ClassVar[bool] = False
    """Can answer without streaming."""
    needs_model: ClassVar[bool] = True

    def __init__(self, *, stream: bool = True, path: str | None = None) -> None:
        self.stream = stream
        self._path = path or self.usual_path

    def path(self, model: str) -> str:  # noqa: ARG002  Triton's path names the model
        """Where requests for the model go."""
        return self._path

    @abstractmethod
    def body(self, sampling: Sampling, messages: Messages, max_tokens: int) -> bytes:
        """The request's JSON."""

    @abstractmethod
    def read(self, name: bytes, data: bytes) -> Chunk:
        """What one event says. Raises ProtocolError when it is not of this dialect."""

    def whole(self, body: bytes) -> Chunk:
        """What an answer in one piece says. Raises ProtocolError when it is none of this dialect."""
        raise ProtocolError(f"{self.name} answers in streams alone: {body[:60].decode(errors='replace')}")

    def echo(self, messages: Messages) -> str:  # noqa: ARG002  vLLM's demo server repeats them
        """What the server says before its answer: the prompt again, or nothing."""
        return ""


def openai_body(sampling: Sampling, max_tokens: int, *, stream: bool) -> dict[str, Any]:
    """The fields that both of OpenAI's dialects share."""
    asked: dict[str, Any] = {"model": sampling.model, "max_tokens": max_tokens, "stream": stream}
    if stream and sampling.include_usage:
        asked["stream_options"] = {"include_usage": True}
    if sampling.temperature is not None:
        asked["temperature"] = sampling.temperature
    if sampling.ignore_eos:
        asked["ignore_eos"] = True
    return asked | dict(sampling.extra_body or {})


def as_prompt(messages: Messages) -> str:
    """A conversation for servers that take one text: a single message as it is, several as a script."""
    if len(messages) == 1:
        return text_in(messages[0].get("content"))
    lines = [f"{message['role'].capitalize()}: {text_in(message.get('content'))}" for message in messages]
    return "\n\n".join([*lines, "Assistant:"])
