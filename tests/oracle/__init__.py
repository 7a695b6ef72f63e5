r"""A server for tests that does exactly what it is told and records when it really did it.

    oracle.script(answer(at(200, role()), at(300, content("Yes")), at(600, finish(), usage(5, 1), done())))
    oracle.script(rule(no_stream_options(), has="stream_options"), rule(tokens(usage="never")))
    oracle.script(tokens(ttft_ms=50, itl_ms=20, n=100), slots=8)
    ...
    truth = oracle.log().of("nonce-17")   # .read_at, .sent, .end, .tokens, ... on CLOCK_MONOTONIC

It is a process of its own, so it shares neither interpreter lock nor event loop with the client under test.
"""

from tests.oracle.answers import (
    AUTHORIZATION,
    Answer,
    Step,
    answer,
    at,
    close,
    cut,
    glued,
    hang,
    raw,
    recut,
    reset,
    whole_wire,
)
from tests.oracle.handle import Oracle
from tests.oracle.log import Log, Request
from tests.oracle.ports import deaf_port, refused_port
from tests.oracle.script import Outage, Rule, Script, rule
from tests.oracle.tokens import Tokens, tokens
from tests.oracle.wire import (
    chunk,
    comment,
    completion_piece,
    content,
    data,
    delta,
    done,
    finish,
    reasoning,
    role,
    tool_call,
    usage,
)

__all__ = [
    "AUTHORIZATION", "Answer", "Log", "Oracle", "Outage", "Request", "Rule", "Script", "Step", "Tokens", "answer", "at",
    "chunk", "close", "comment", "completion_piece", "content", "cut", "data", "deaf_port", "delta", "done", "finish",
    "glued", "hang", "raw", "reasoning", "recut", "refused_port", "reset", "role", "rule", "tokens", "tool_call",
    "usage", "whole_wire",
]  # fmt: skip
