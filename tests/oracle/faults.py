"""Answers that go wrong, ready to use.

Knows: how servers and the things between refuse, break off and babble. Must not know: how they are sent.
"""

from collections.abc import Sequence

from tests.oracle import wire
from tests.oracle.answers import AUTHORIZATION, JSON, Answer, answer, at, close, hang, raw, reset
from tests.oracle.tokens import Tokens, tokens


def error(status: int, sentence: str, headers: Sequence[tuple[str, str]] = (), after_ms: float = 0.0) -> Answer:
    """An OpenAI-style error body with an honest status."""
    body = wire.dumps({"error": {"message": sentence, "type": "error", "param": None, "code": status}})
    return json_body({}, status=status, headers=headers, after_ms=after_ms, text=body)


def json_body(
    payload: object,
    status: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    after_ms: float = 0.0,
    text: bytes | None = None,
) -> Answer:
    """Any JSON (or `text` in its place) with any status, Content-Length framed."""
    body = wire.dumps(payload) if text is None else text
    return answer(
        at(after_ms, body), status=status, headers=headers, content_type=JSON, framing="length", head_ms=after_ms
    )


def unauthorised() -> Answer:
    """401 whose sentence repeats the key it was given, as some gateways do."""
    sentence = b'{"error":{"message":"Incorrect API key provided: ' + AUTHORIZATION + b'.","code":401}}'
    return answer(at(0, sentence), status=401, content_type=JSON, framing="length", echo=True)


def throttled(retry_after_s: int = 1) -> Answer:
    """429 with Retry-After."""
    return error(429, "Rate limit", [("Retry-After", str(retry_after_s))])


def no_such_model(name: str = "x") -> Answer:
    """404 with the sentence of vLLM."""
    return error(404, f"The model `{name}` does not exist.")


def no_stream_options() -> Answer:
    """422 from a server that refuses unknown fields; use with `rule(..., has="stream_options")`."""
    detail = [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]
    return json_body({"detail": detail}, status=422)


def html(status: int = 200) -> Answer:
    """A login page where a stream should be."""
    page = b"<!doctype html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
    return answer(at(0, page), status=status, content_type="text/html; charset=utf-8", framing="length")


def not_http(banner: bytes = b"SSH-2.0-OpenSSH_9.2p1\r\n") -> Answer:
    """Something else listens here and answers in its own language."""
    return answer(raw(0, banner), close(1), framing="raw")


def silent() -> Answer:
    """The connection is accepted, the request read, and no byte ever comes."""
    return answer(hang(0), framing="raw")


def stalls(after_tokens: int = 1, itl_ms: float = 20.0) -> Answer:
    """Some tokens, then silence."""
    steps = [at(k * itl_ms, wire.content(" tok")) for k in range(after_tokens)]
    return answer(*steps, hang(after_tokens * itl_ms))


def breaks_off(after_tokens: int = 6, itl_ms: float = 50.0, *, how: str = "reset") -> Answer:
    """Some tokens, then the connection ends: `reset` (RST) or `close` (FIN without the last chunk)."""
    steps = [at(k * itl_ms, wire.content(" tok")) for k in range(after_tokens)]
    end = after_tokens * itl_ms
    return answer(*steps, reset(end) if how == "reset" else close(end))


def fails_inside(after_tokens: int = 30, itl_ms: float = 10.0, event: bytes | None = None) -> Answer:
    """200, some tokens, an error event, `[DONE]`: overload and engine faults that look like success."""
    failure = {"message": "EngineCore encountered an issue", "type": "InternalServerError", "param": None, "code": 500}
    steps = [at(k * itl_ms, wire.content(" tok")) for k in range(after_tokens)]
    return answer(*steps, at(after_tokens * itl_ms, event or wire.data({"error": failure}), wire.done()))


def like_llamacpp(ttft_ms: float = 5.0, itl_ms: float = 1.0, n: int | None = None) -> Tokens:
    """A whole stream, then FIN in the same instant, although the head promises to keep the connection.

    The head ends in the bytes that end a chunked body (`0`, empty line), as llama.cpp's does.
    """
    promise = (("Keep-Alive", "timeout=5, max=100"),)
    return tokens(ttft_ms=ttft_ms, itl_ms=itl_ms, n=n, headers=promise, end="quiet", role_ms=ttft_ms)


def hangs_up_before_answering() -> Answer:
    """The connection closes before the first byte: what a reused connection may meet; see `rule(reused=True)`."""
    return answer(close(0), framing="raw")
