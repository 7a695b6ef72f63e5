"""Asks the way to the target: its names, each address, the TLS handshake, the shortest connect.

Knows: sockets. Must not know: HTTP, models, what is good.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent
import gevent.socket

from loadband.load.connection import Address, ConnectError, Connection, resolve
from loadband.load.tls_socket import TlsSocket
from loadband.tuning.doctor.seen import Names, Reached, Secured

SAMPLES = 5
"""Connects and round trips that the link's floor is taken from."""

ENOUGH_S = 1.0
"""A slow link is known after fewer."""

Infos = Sequence[tuple[Any, ...]]
"""What `getaddrinfo` returns."""


def ask_names(address: Address, timeout_s: float, look_up: Callable[[str, int], Infos] = resolve) -> Names:
    """Look the name up and try each of its addresses once."""
    before = time.perf_counter()
    named = not _is_address(address.host)
    try:
        infos = look_up(address.host, address.port)
    except (OSError, UnicodeError) as error:
        fault = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Names(address.host, named, None, (), fault.lower())
    lookup_s = time.perf_counter() - before
    places = list(dict.fromkeys((info[0], info[-1]) for info in infos))
    tries = [gevent.spawn(connect_s, family, place, timeout_s) for family, place in places]
    gevent.joinall(tries)
    reached = tuple(Reached(str(place[0]), *each.get()) for (_, place), each in zip(places, tries, strict=True))
    return Names(address.host, named, lookup_s, reached)


def connect_s(family: int, place: Any, timeout_s: float) -> tuple[float | None, str]:
    """Seconds of a TCP connect, or None and why there is none."""
    before = time.perf_counter()
    try:
        with gevent.socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(timeout_s)
            sock.connect(place)
            return time.perf_counter() - before, ""
    except TimeoutError:
        return None, f"no connection within {timeout_s:g} s"
    except OSError as error:
        return None, (error.strerror or str(error)).lower()


def ask_connects(names: Names, port: int, timeout_s: float) -> tuple[float, ...]:
    """Seconds of some TCP connects in a row to the first address that answers."""
    used = next((each for each in names.addresses if each.connect_s is not None), None)
    if used is None:
        return ()
    family = socket.AF_INET6 if used.family == "IPv6" else socket.AF_INET
    times: list[float] = []
    while len(times) < SAMPLES and sum(times) < ENOUGH_S:
        seconds, _ = connect_s(family, (used.address, port), timeout_s)
        if seconds is None:
            break
        times.append(seconds)
    return tuple(times)


def ask_tls(address: Address, timeout_s: float) -> Secured:
    """One handshake, verified as the run's connections are."""
    connection = Connection(address, timeout_s)
    try:
        sock, seconds = connection.open()
    except ConnectError as error:
        return Secured(None, fault=str(error))
    assert isinstance(sock, TlsSocket)
    ends, version = sock.getpeercert().get("notAfter"), str(sock.version())
    connection.drop(sock)
    days = None if ends is None else (gevent.ssl.cert_time_to_seconds(ends) - time.time()) / 86_400
    return Secured(seconds, version, days)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
