"""Asks the server's plain pages with GET, over one kept connection, each timed.

Knows: HTTP, how long a page may take. Must not know: what a page says.

A page is asked with the load half's own connection, so over TLS and with the base path of the run.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import gevent
import gevent.socket

from loadband.load.connection import Address, ConnectError, Connection, is_alive
from loadband.load.framing import Response
from loadband.load.request import get_request
from loadband.tuning.doctor.ask_link import ENOUGH_S, SAMPLES

SMALLEST = "/health"
"""The page with the shortest way through any server; also where there is none, a refusal is a round trip."""

PAGE_BYTES = 1_000_000
"""What is beyond of a longer page is not read."""

READ_BYTES = 65_536
HEADERS = ("server", "keep-alive", "connection", "location", "content-type", "via")


@dataclass(frozen=True, slots=True)
class Page:
    """What came back; without an answer `status` is None and `fault` says why."""

    status: int | None = None
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    first_byte_s: float | None = None
    """From the request to the answer's first byte, connect apart."""
    fault: str = ""


class Pages:
    """Asks one page after the other."""

    def __init__(self, address: Address, key: str | None, connect_timeout_s: float, answer_timeout_s: float) -> None:
        self._address = address
        self._key = key
        self._timeout_s = answer_timeout_s
        self._connection = Connection(address, connect_timeout_s)
        self._sock: gevent.socket.socket | None = None

    def get(self, path: str) -> Page:
        """One page. Never raises for what the server does; a kept connection found closed is replaced once."""
        if self._sock is not None and not is_alive(self._sock):
            self.close()
        reused = self._sock is not None
        page = self._try(path)
        return self._try(path) if reused and page.status is None and self._sock is None else page

    def _try(self, path: str) -> Page:
        timer = gevent.Timeout(self._timeout_s)
        timer.start()
        try:
            if self._sock is None:
                self._sock, _ = self._connection.open()
            return self._ask(self._sock, get_request(path, self._address, self._key))
        except gevent.Timeout as timeout:
            if timeout is not timer:
                raise
            self.close()
            return Page(fault=f"it takes connections but gave no answer within {self._timeout_s:g} s")
        except ConnectError as error:
            return Page(fault=str(error))
        except OSError as error:
            self.close()
            return Page(fault=(error.strerror or str(error)).lower())
        finally:
            timer.close()

    def _ask(self, sock: gevent.socket.socket, request: bytes) -> Page:
        sock.settimeout(None)
        sent, first = time.perf_counter(), None
        sock.sendall(request)
        response, pieces, size = Response(), list[bytes](), 0
        while not response.over:
            data = sock.recv(READ_BYTES)
            first = first or time.perf_counter()
            if not data:
                response.end()
                break
            if (broken := response.parse(data)) is not None:
                self.close()
                shown = data[:60].decode("utf-8", errors="replace")
                return Page(fault=f"it does not speak HTTP ({broken}): {shown}")
            pieces += response.take()
            size += len(data)
            if size > PAGE_BYTES:
                break
        if response.status is None:
            self.close()
            return Page(fault="the connection was closed before a whole header came")
        if not response.over or response.should_close():
            self.close()
        body = b"".join(pieces).decode("utf-8", errors="replace")
        headers = {name: told for name in HEADERS if (told := response.header(name))}
        return Page(response.status, body, headers, None if first is None else first - sent)

    def kept(self) -> bool:
        """Whether the connection of the last page is still open, at both ends."""
        return self._sock is not None and is_alive(self._sock)

    def close(self) -> None:
        """Close the connection."""
        if self._sock is not None:
            self._connection.drop(self._sock)
            self._sock = None


def ask_trips(pages: Pages) -> tuple[tuple[float, ...], Page]:
    """Seconds of some round trips of the smallest page, and the last page; the first one is left out as warm-up."""
    times: list[float] = []
    page = pages.get(SMALLEST)
    while page.first_byte_s is not None and len(times) < SAMPLES and sum(times) < ENOUGH_S:
        page = pages.get(SMALLEST)
        if page.first_byte_s is not None:
            times.append(page.first_byte_s)
    return tuple(times), page


def ask_pages(
    paths: Iterable[str], address: Address, key: str | None, connect_timeout_s: float, answer_timeout_s: float
) -> dict[str, Page]:
    """Several pages at once, each over a connection of its own: some servers let unknown ones hang."""

    def ask(path: str) -> Page:
        pages = Pages(address, key, connect_timeout_s, answer_timeout_s)
        try:
            return pages.get(path)
        finally:
            pages.close()

    asked = {path: gevent.spawn(ask, path) for path in paths}
    gevent.joinall(list(asked.values()))
    return {path: each.get() for path, each in asked.items()}
