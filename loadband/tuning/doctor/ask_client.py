"""Asks this machine what it may have.

Knows: where the system keeps its limits. Must not know: what is enough.
"""

import contextlib
import re
import resource
from pathlib import Path

from loadband.tuning.doctor.seen import Limits

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def ask_limits() -> Limits:
    """Limits of this process and of this machine."""
    soft, hard = (None if limit == resource.RLIM_INFINITY else limit
                  for limit in resource.getrlimit(resource.RLIMIT_NOFILE))  # fmt: skip
    return Limits(soft, hard, _ports())


def _ports() -> int | None:
    with contextlib.suppress(OSError):
        if found := re.fullmatch(r"\s*(\d+)\s+(\d+)\s*", PORT_RANGE.read_text(encoding="ascii")):
            return int(found[2]) - int(found[1]) + 1
    return None


def announced_keep_alive_s(header: str) -> float | None:
    """Seconds of `Keep-Alive: timeout=5, max=100`."""
    found = re.search(r"\btimeout\s*=\s*([0-9]{1,9})\b", header)
    return None if found is None else float(found[1])
