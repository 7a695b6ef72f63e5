"""What the way to the target means for a run: names, addresses, TLS, and the floor that the link puts under TTFT.

Pure. Knows: what `ask_link` and `ask_pages` saw. Must not know: sockets.
"""

from statistics import median

from loadband.tuning.doctor.check import Check, bad, good, warn
from loadband.tuning.doctor.seen import Link, Names, Secured, middle
from loadband.tuning.doctor.words import milliseconds

SLOW_LINK_S = 0.020
"""A round trip above this is a visible part of any TTFT."""

UNSTEADY = 3.0
"""A median of so many floors is a link that swings ..."""

UNSTEADY_S = 0.005
"""... if it swings by more than this."""

SLOW_LOOKUP_S = 0.5
DAYS_LEFT = 7.0


def judge_names(names: Names, url: str) -> Check:
    """DNS, and which of several addresses is used."""
    if names.fault:
        return bad("address", f"the name {names.host} is not known ({names.fault})", "is it spelt right?")
    tried = [f"{each.address}: {each.fault}" for each in names.addresses if each.connect_s is None]
    values = {"lookup_s": names.lookup_s if names.is_name else None, "addresses": [a.address for a in names.addresses]}
    used = next((each for each in names.addresses if each.connect_s is not None), None)
    if used is None:
        return bad(
            "address", f"cannot reach {url} ({'; '.join(tried)})",
            "is the server running, and are host and port right?", **values,
        )  # fmt: skip
    where = f"{names.host} is {used.address}" if names.is_name else used.address
    said = f"{where} ({used.family})"
    if used is not names.addresses[0]:
        literal = f"[{used.address}]" if used.family == "IPv6" else used.address
        return warn(
            "address", f"{said}, but first {tried[0]}, at each new connection",
            f"write {literal} in place of {names.host}", used=used.address, **values,
        )  # fmt: skip
    if (others := len(names.addresses) - 1) > 0:
        answer = sum(each.connect_s is not None for each in names.addresses[1:])
        said += f", {answer} of {others} other address{'es' if others > 1 else ''} answer{'s' if answer == 1 else ''}"
        said += "; the run uses the first alone"
    if names.is_name and (names.lookup_s or 0) > SLOW_LOOKUP_S:
        return warn(
            "address", f"{said}; its lookup took {milliseconds(names.lookup_s)}",
            "the run looks it up once; mend the resolver all the same", used=used.address, **values,
        )  # fmt: skip
    return good("address", said, used=used.address, **values)


def judge_tls(secured: Secured) -> Check:
    """The handshake and how long the certificate lasts."""
    if secured.fault:
        return bad("tls", secured.fault, "mend the certificate, or write http:// if the server speaks no TLS")
    values = {"handshake_s": secured.handshake_s, "version": secured.version, "days_left": secured.days_left}
    said = f"{secured.version}, connect and handshake {milliseconds(secured.handshake_s)}"
    if secured.days_left is not None and secured.days_left < DAYS_LEFT:
        return warn("tls", f"{said}; the certificate ends in {secured.days_left:.1f} days", "renew it", **values)
    return good("tls", said, **values)


def judge_link(link: Link) -> Check:
    """The floor that the link puts under every TTFT, so that a slow link is not blamed on the model."""
    floor, usual = link.floor_s, middle(link.trips)
    if floor is None or usual is None:
        return bad("link", "no HTTP round trip came to its end", "look at what stands between here and the server")
    said = f"HTTP round trip {milliseconds(floor)} at least, median {milliseconds(usual)}"
    if link.connects:
        said = f"TCP connect {milliseconds(min(link.connects))}, median {milliseconds(median(link.connects))}; {said}"
    if floor > SLOW_LINK_S:
        step = f"every TTFT holds these {milliseconds(floor)}: load from nearer by, or take them off when you read it"
        return warn("link", said, step, **link.values)
    if usual > UNSTEADY * floor and usual - floor > UNSTEADY_S:
        return warn("link", f"{said}: it swings", "use a steadier link, or a quieter machine", **link.values)
    return good("link", said, **link.values)
