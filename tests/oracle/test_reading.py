"""Requests out of bytes, however they were cut."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.reading import last_prompt, take_request

BODY = json.dumps({"messages": [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "x"}]}).encode()
POST = b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
GET = b"GET /health HTTP/1.1\r\nX-Key:  v \r\n\r\n"


@given(st.lists(st.integers(0, len(POST + GET)), max_size=6))
def test_two_requests_come_out_the_same_however_they_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(POST + GET)]
    buffer, taken = bytearray(), []
    for i in range(len(edges) - 1):
        buffer += (POST + GET)[edges[i] : edges[i + 1]]
        while (request := take_request(buffer)) is not None:
            taken.append(request)
    assert [(r.method, r.path) for r in taken] == [("POST", "/v1/chat/completions"), ("GET", "/health")]
    assert last_prompt(taken[0].body) == "你好"
    assert taken[1].headers == {"x-key": "v"}
    assert not buffer


def test_a_client_that_asks_leave_is_told_so_until_its_body_comes() -> None:
    head = POST.replace(b"Host: a", b"Expect: 100-continue")[: -len(BODY)]
    buffer = bytearray(head)
    waiting = take_request(buffer)
    assert waiting is not None
    assert waiting.waits
    buffer += BODY
    whole = take_request(buffer)
    assert whole is not None
    assert not whole.waits


def test_what_is_not_json_stays_text() -> None:
    request = take_request(bytearray(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{x}"))
    assert request is not None
    assert request.body == "{x}"
