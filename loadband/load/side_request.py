"""A plain request beside the load: JSON there and back, read whole.

Knows: HTTP by its library. Must not know: what is asked, or why. Nothing here is timed.
"""

import json
from http.client import HTTPException
from typing import Any

from geventhttpclient.response import HTTPSocketResponse

from loadband.load.connection import Address, ConnectError, Connection
from loadband.load.request import request_head, whole_request


def post(address: Address, path: str, key: str | None, body: object, timeout_s: float) -> tuple[int | None, Any]:
    """Status and JSON of the answer; no status where there is no answer of HTTP, no JSON where it is none."""
    connection = Connection(address, timeout_s)
    head = request_head(path, address, key)
    try:
        sock, _ = connection.open()
        try:
            sock.settimeout(timeout_s)
            sock.sendall(whole_request(head, json.dumps(body, ensure_ascii=False).encode()))
            response = HTTPSocketResponse(sock)
            text = response.read()
        finally:
            connection.drop(sock)
    except (ConnectError, OSError, HTTPException):
        return None, None
    try:
        return response.get_code(), json.loads(text)
    except ValueError:
        return response.get_code(), None
