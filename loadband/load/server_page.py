"""What servers and exporters tell of their memory, on pages in Prometheus' text format.

Knows: the names of the values that guards watch, how such a page is read. Must not know: guards, levels, files.

A page is read once a second on the master alone, in a greenlet of its own with a time limit; only the lines of these
names are looked at. Of several samples (engines, processes, devices) the fullest counts: averages and sums hide it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException

import gevent
from geventhttpclient.response import HTTPSocketResponse

from loadband.load.connection import Address, ConnectError, Connection
from loadband.load.request import get_request

EVERY_S = 1.0
LARGEST = 4 * 1024 * 1024
"""Bytes of a page that are read."""

WITHIN_S = 5.0
"""A page that takes longer is not read this time."""

SHARES = {
    "kv_cache": (
        "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "llamacpp:kv_cache_usage_ratio",
    ),
}  # fmt: skip
"""Value -> what servers call it: a share of 1. vLLM renamed its own in 0.10, llama.cpp dropped its."""

COUNTS = {
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"),
}
"""Value -> what servers call it: a number that adds up over engines."""

PARTS = {
    "device_memory": (
        ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"),
        ("npu_chip_info_hbm_used_memory", None, "npu_chip_info_hbm_total_memory"),
    ),
}
"""Value -> names of what is used, of what is free, or of the whole, of one device each: NVIDIA's and Ascend's exporter.
"""

_SAMPLE = re.compile(
    r"^((?:vllm|sglang|llamacpp):\w+|DCGM_FI_DEV_FB_\w+|npu_chip_info_hbm_\w+)(\{[^\n]*\})?[ \t]+([-+.\w]+)",
    re.MULTILINE,
)


def values_of(page: str) -> dict[str, float]:
    """What a page tells of each value, most of them shares of 1; what it does not tell is absent."""
    told: dict[str, list[tuple[str, float]]] = {}
    for name, labels, number in _SAMPLE.findall(page):
        try:
            value = float(number)
        except ValueError:
            continue
        if 0 <= value < float("inf"):
            told.setdefault(name, []).append((labels, value))
    found = {}
    for value_name, names in SHARES.items():
        if shares := [value for name in names for _, value in told.get(name, ())]:
            found[value_name] = max(shares)
    for value_name, called in COUNTS.items():
        if counts := [value for name in called for _, value in told.get(name, ())]:
            found[value_name] = sum(counts)
    for value_name, layouts in PARTS.items():
        if shares := [share for layout in layouts for share in _shares(told, *layout)]:
            found[value_name] = max(shares)
    return found


def _shares(
    told: Mapping[str, Sequence[tuple[str, float]]], used: str, free: str | None, whole: str | None = None
) -> list[float]:
    """Used ÷ whole of each device, matched by their labels."""
    wholes = dict(told.get(whole or "", ()))
    if free is not None:
        taken = dict(told.get(used, ()))
        wholes = {labels: taken[labels] + value for labels, value in told.get(free, ()) if labels in taken}
    return [value / wholes[labels] for labels, value in told.get(used, ()) if wholes.get(labels)]


@dataclass(slots=True)
class ServerPage:
    """One page, read again and again from `begin` to `end`."""

    address: Address
    path: str
    key: str | None
    """Goes to the target alone."""
    status: int | None = None
    """Of the last answer; None: there was none."""
    _values: Mapping[str, float] | None = None
    _reader: "gevent.Greenlet[[], None] | None" = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{self.address.url}{self.path}"

    def begin(self) -> None:
        """Read it each second from now on."""
        self._reader = gevent.spawn(self._read_each_second)

    def end(self) -> None:
        """Read it no more."""
        if self._reader is not None:
            self._reader.kill()

    def take(self) -> Mapping[str, float] | None:
        """What was read since the last take; None when nothing was."""
        values, self._values = self._values, None
        return values

    def read(self) -> Mapping[str, float]:
        """What it tells now; nothing where it does not answer."""
        page = self._text()
        return values_of(page) if page is not None else {}

    def _read_each_second(self) -> None:
        while True:
            page = self._text()
            if page is not None:
                self._values = values_of(page)
            gevent.sleep(EVERY_S)

    def _text(self) -> str | None:
        """The page; None without a 200 within the time."""
        self.status = None
        timer = gevent.Timeout(WITHIN_S)
        timer.start()
        try:
            self.status, text = self._asked()
        except gevent.Timeout as timeout:
            if timeout is not timer:
                raise
            return None
        except (ConnectError, OSError, HTTPException):
            return None
        finally:
            timer.close()
        return text if self.status == 200 else None

    def _asked(self) -> tuple[int, str]:
        connection = Connection(self.address, WITHIN_S)
        sock, _ = connection.open()
        try:
            sock.sendall(get_request(self.path, self.address, self.key))
            response = HTTPSocketResponse(sock)
            body = response.read(LARGEST)
        finally:
            connection.drop(sock)
        return response.get_code(), body.decode("utf-8", errors="replace")
