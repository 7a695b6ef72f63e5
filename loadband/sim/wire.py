"""The bytes of the simulated server: OpenAI's chat objects as vLLM spells them, made before they are needed.

Knows: HTTP/1.1 answers, chunked framing, the JSON of events. Must not know: the engine, sockets, time.

A stream's token events differ only in their identity and their word, so an event is three joined pieces: the chunk's
length and the event's beginning, the identity, and the word with the end.
"""

import json
from typing import Any

SENTENCE = (
    "the river runs past old stone walls and a quiet mill where people meet at noon to talk about grain prices"
    " weather roads letters from distant towns while children count boats under the bridge until evening comes slowly"
)
WORDS = SENTENCE.split(" ")
"""What the simulated model says, a word a token, over and over."""

LAST = b"data: [DONE]\n\n"
END = b"0\r\n\r\n"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: loadband-simulator\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
REASONS = {
    200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 411: "Length Required",
    413: "Content Too Large", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip
KINDS = {400: "BadRequestError", 404: "NotFoundError", 500: "InternalServerError", 503: "Service Unavailable"}


def dumped(value: object) -> bytes:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def answer(status: int, body: bytes, kind: str = "application/json") -> bytes:
    """A whole answer of known length."""
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\nserver: loadband-simulator\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def error_body(status: int, message: str) -> bytes:
    """An error as vLLM tells it."""
    kind = KINDS.get(status, REASONS[status])
    return dumped({"error": {"message": message, "type": kind, "param": None, "code": status}})


def error(status: int, message: str) -> bytes:
    """An answer that is an error."""
    return answer(status, error_body(status, message))


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(data: bytes) -> bytes:
    """One event of a stream, framed."""
    return chunk(b"data: " + data + b"\n\n")


def error_end(status: int, message: str) -> bytes:
    """The end of a stream that fails after its 200."""
    return event(error_body(status, message)) + chunk(LAST) + END


def text_of(tokens: int) -> str:
    """All words of an answer."""
    whole, rest = divmod(tokens, len(WORDS))
    return " ".join(WORDS * whole + WORDS[:rest])


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    """The `usage` object."""
    return {
        "prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens": completion_tokens,
    }  # fmt: skip


def whole(identity: str, created: int, model: str, *, tokens: int, prompt_tokens: int, reason: str) -> bytes:
    """An answer in one piece."""
    message = {"role": "assistant", "content": text_of(tokens)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    body = {"id": identity, "object": "chat.completion", "created": created, "model": model, "choices": [choice]}
    return answer(200, dumped(body | {"usage": usage(prompt_tokens, tokens)}))


class Pieces:
    """Prepared pieces of the events of one model's streams."""

    def __init__(self, model: str, created: int) -> None:
        self._tail = b',"object":"chat.completion.chunk","created":%d,"model":%b,"choices":' % (created, dumped(model))
        width = len(self.identity(0))
        spaced = [WORDS[0], *(f" {word}" for word in WORDS)]
        ends = [self._choice({"content": word}, None) for word in spaced]
        self._words = [(b"%x\r\n" % (width + len(end) - 2), end) for end in ends]

    @staticmethod
    def _choice(delta: dict[str, str], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return dumped([choice]) + b"}\n\n\r\n"

    def identity(self, number: int) -> bytes:
        """What all events of one stream share."""
        return b'data: {"id":"chatcmpl-%016x"' % number + self._tail

    def role(self, identity: bytes) -> bytes:
        """The event before the first token."""
        return chunk(identity + self._choice({"role": "assistant", "content": ""}, None)[:-2])

    def token(self, identity: bytes, number: int) -> bytes:
        """The event of the n-th token, from 1."""
        size, end = self._words[0 if number == 1 else 1 + (number - 1) % len(WORDS)]
        return size + identity + end

    def end(self, identity: bytes, number: int, reason: str, counts: dict[str, Any] | None) -> bytes:
        """The event of the last token, usage where it was asked for, and the end of the stream."""
        word = WORDS[0] if number == 1 else f" {WORDS[(number - 1) % len(WORDS)]}"
        parts = chunk(identity + self._choice({"content": word}, reason)[:-2])
        if counts is not None:
            parts += chunk(identity + b'[],"usage":' + dumped(counts) + b"}\n\n")
        return parts + chunk(LAST) + END
